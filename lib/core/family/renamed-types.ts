// Types of a version with other names.
import type {
  OptionalKind, TArray, TObject, TOptional, TProperties, TSchema, TUnion
} from '@sinclair/typebox'
import type { FieldName } from './definition.js'
import type { HasPath } from './types.js'

/** The names that `rename` takes: of fields, and of paths such as `lines.price`. A text describes the flaw. */
export type NewNames<Fields extends TProperties, Names> = { readonly [K in FieldName<Fields>]?: string } & {
  readonly [K in keyof Names]: K extends FieldName<Fields>
    ? OneName<Names[K]>
    : K extends `${infer Field}.${infer Rest}`
      ? HasPath<Fields, Field, Rest> extends true ? OneName<Names[K]> : `${K} is not a path of the family`
      : 'is not a field of the family'
}

// From a conditional type, TypeScript infers the literal.
type OneName<Name> = Name extends string ? Name : string

/** The fields of a family under the names that `rename` gives them, and those within. */
export type Renamed<Fields, Names> = {
  [K in keyof Fields as RenamedName<K, Names>]: RenamedSchema<Fields[K], Below<Names, K>>
}

/** Each of several names, as `rename` has it. */
export type RenamedName<Name, Names> = Name extends keyof Names ? Names[Name] extends string ? Names[Name] : Name : Name

/** `references` of the version. */
export type RenamedReferences<References, Names> = {
  [K in keyof References as RenamedPath<K, Names>]: References[K]
}

type RenamedPath<Path, Names> = Path extends `${infer Field}.${infer Rest}`
  ? `${RenamedName<Field, Names> & string}.${RenamedPath<Rest, Below<Names, Field>> & string}`
  : RenamedName<Path, Names>

/** The names of what is within a field, by the rest of their paths. */
type Below<Names, Field> = {
  [P in keyof Names as P extends `${Field & string}.${infer Rest}` ? Rest : never]: Names[P]
}

type RenamedSchema<Schema, Names> = [keyof Names] extends [never]
  ? Schema
  : Schema extends { readonly [OptionalKind]: 'Optional' }
    ? RenamedInside<Schema, Names> extends infer Made extends TSchema ? TOptional<Made> : never
    : RenamedInside<Schema, Names>

// Inferred, since an intersection with a constraint would have all its members.
type RenamedInside<Schema, Names> = Schema extends TArray<infer Element>
  ? RenamedSchema<Element, Names> extends infer Made extends TSchema ? TArray<Made> : never
  : Schema extends TUnion<infer Options>
    ? RenamedOptions<Options, Names> extends infer Made extends TSchema[] ? TUnion<Made> : never
    : Schema extends TObject<infer Properties>
      ? Renamed<Properties, Names> extends infer Made extends TProperties ? TObject<Made> : never
      : Schema

type RenamedOptions<Options extends TSchema[], Names> = { [I in keyof Options]: RenamedSchema<Options[I], Names> }
