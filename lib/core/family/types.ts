// Types that TypeScript infers from a definition: from references, `with` and `creates` to the rules.
import type { Static, TArray, TNull, TObject, TProperties, TSchema, TUnion } from '@sinclair/typebox'
import type { Id } from '../storage/storage.js'
import type { Members } from '../values/json.js'

/** A family with any fields and operations. */
export interface AnyFamily {
  readonly definition: { readonly name: string }
}

/** What the type of a family has besides its fields and operations: names, from which other types are computed. */
export interface FamilyTypes {
  /** The fields of a creation, and `id` if the client chooses it. */
  readonly created: unknown
  /** The fields of an edit. */
  readonly edited: unknown
  /** The families of reference fields. */
  readonly references: unknown
  /** `with` in `create`: the field, or the family, of each item. */
  readonly with: unknown
  /** `params` in `create`. */
  readonly sent: unknown
}

/** Those of any family. */
export interface AnyTypes extends FamilyTypes {
  readonly created: any
  readonly edited: any
  readonly references: any
  readonly with: any
  readonly sent: any
}

/** The members that the service adds to every item of a family that can be written. */
// Not an interface, which would not be assignable to a type with any fields.
export type ServiceMembers = {
  /** 1 at creation, one more with every change. */
  readonly revision: number
  readonly createdAt: string
  readonly updatedAt: string
}

/** An item of a family with these fields. */
export type ItemOf<Fields extends TProperties> = Static<TObject<Fields>> & ServiceMembers

export type MemberName<Fields extends TProperties> = (keyof Fields & string) | keyof ServiceMembers

/** The field of a condition must be a known one, unless it is only known at run time. */
export type KnownField<Name extends string, Known extends string> = string extends Name ? Name : Known

/** The id of an item with these fields. */
export type IdOf<Fields> = string extends keyof Fields
  ? Id
  : Fields extends { readonly id: infer IdSchema extends TSchema } ? Static<IdSchema> : Id

/** The fields of a family, by its type: `FieldsOf<typeof deals>`. Of any family, any fields. */
export type FieldsOf<Family> =
  Family extends { readonly definition: { readonly fields: TObject<infer P extends TProperties> } } ? P : TProperties

/** An item of a family, by the type of the family; of any family, any members. */
export type ItemIn<Family> = string extends keyof FieldsOf<Family> ? Members : ItemOf<FieldsOf<Family>>

/** The names of the members of items of a family, or of any of several. */
export type MemberIn<Family> = Family extends unknown ? MemberName<FieldsOf<Family>> : never

/** The members of a new item of a family: those of its `create`, and any other fields. */
type NewItemIn<Family> =
  Family extends { service (...args: never): { create (fields: infer Created, ...args: never): unknown } }
    ? Created & Partial<Omit<Static<TObject<FieldsOf<Family>>>, 'id'>>
    : Members

/**
 * Delays a type until TypeScript has inferred `Known`. Only then do the literals that a rule returns, such as
 * `status: 'sent'`, keep their types.
 */
export type Inferred<Known, Rule> = Known extends unknown ? Rule : never

// Conditional types, since from these TypeScript infers `Given`, which a constraint would not let it. From a
// template it infers only a text, not `{ family, id }`.
type OneFamily<Given> = Given extends string | AnyFamily ? Given : AnyFamily
type FieldReferringTo<Given, Referred> = IsAny<Given> extends true
  ? string
  : Given extends string ? Given extends keyof Referred ? `${Given}` : keyof NoInfer<Referred> & string : string

export type IsAny<T> = 0 extends T & 1 ? true : false

/** Another item that an operation on an item needs, which has the id `OwnId`. */
export interface OtherItem<ParamValues = unknown, Item = unknown, Family = string | AnyFamily, OwnId = Id> {
  /** The name of the family that has the operation, or another family, as `defineFamily` made it. */
  readonly family: OneFamily<Family>
  /** Its id, from the parameters and the item; undefined if none is needed this time. Pure. */
  id (params: ParamValues, item: Item): OtherId<Family, OwnId> | undefined
  readonly path?: undefined
}

/** A list of other items, each once, in the order in which they are first named; at most 100. */
export interface OtherItemList<ParamValues = any, Item = any, Family = string | AnyFamily> {
  /** As of a single item. */
  readonly family: OneFamily<Family>
  /**
   * Where their ids are, through lists: in the parameters or, if none has the name of the first part, in the item.
   *
   * @example
   * with: { products: { family: products, path: 'goods.product' } }
   */
  readonly path: PathFrom<NoInfer<keyof ParamValues | keyof Item>>
  readonly id?: undefined
}

type PathFrom<Name> = Name extends string ? `${Name}${'' | `.${string}`}` : never

type OtherId<Family, OwnId> = Family extends string
  ? OwnId
  : Family extends { readonly family: unknown } ? never : IdOf<FieldsOf<Family>>

/**
 * `with`: `With` has the field or the family of each item by its name, and the whole entry of each list; `Referred` has
 * the family of each reference.
 */
export type OtherItems<ParamValues, Item, With, Referred, OwnId> = {
  readonly [N in keyof With]: FieldReferringTo<With[N], Referred> | OtherItem<ParamValues, Item, With[N], OwnId> |
    OtherItemList<ParamValues, Item, With[N]> | ListEntry<With[N], ParamValues, Item>
}

// From it, TypeScript infers the whole entry, also of a single item.
type ListEntry<Given, ParamValues, Item> = IsAny<Given> extends true
  ? never
  : Given extends OtherItemList<ParamValues, Item> ? Given : never

type OneEntry<Given> = Extract<Given, string | AnyFamily>

interface AnyList {
  readonly family: unknown
  readonly path: string
}

/** `creates`, by name: a family, or a list of one. */
export type NewFamilies<Creates> = { readonly [K in keyof Creates]: NewFamily<Creates[K]> }

type NewFamily<Given> = Given extends AnyFamily | readonly AnyFamily[] ? Given : AnyFamily

/** `references` of these fields. */
export type References<Fields, Referred> = { readonly [K in Exclude<keyof Fields, 'id'>]?: string | AnyFamily } & {
  readonly [K in keyof Referred]: K extends Exclude<keyof Fields, 'id'>
    ? OneFamily<Referred[K]>
    : K extends `${infer Field}.${infer Rest}`
      ? HasPath<Fields, Field, Rest> extends true ? OneFamily<Referred[K]> : `${K} is not a path of the family`
      : 'is not a field of the family'
}

/** Whether a path, such as `lines.product`, leads through lists and objects of these fields. */
export type HasPath<Fields, Field extends string, Rest extends string> = Field extends keyof Fields
  ? MembersIn<Fields[Field]> extends infer Inner
    ? Rest extends `${infer Next}.${infer After}`
      ? HasPath<Inner, Next, After>
      : Rest extends keyof Inner ? true : false
    : false
  : false

/** The members of an object, or of the objects in a list; each may be null. */
type MembersIn<Schema> = Schema extends TObject<infer Properties>
  ? Properties
  : Schema extends TArray<infer Element>
    ? MembersIn<Element>
    : Schema extends TUnion<infer Options> ? MembersIn<Exclude<Options[number], TNull>> : {}

/** `context.items`: undefined if the field may be absent, or if `id` may return undefined. */
export type ContextItems<ParamValues, Item, With, Referred> = {
  readonly [N in keyof With]: IsAny<With[N]> extends true
    ? any
    : [Extract<With[N], AnyList>] extends [never]
        ? SingleItem<Item, OneEntry<With[N]>, Referred> | IfWithoutId<ParamValues, N, With[N], Referred>
        : readonly ItemAt<Item, Extract<With[N], AnyList>['family']>[]
}

type SingleItem<Item, Entry, Referred> = Entry extends keyof Referred
  ? IsPath<Item, Entry> extends true
    ? readonly ItemAt<Item, Referred[Entry]>[]
    : ItemAt<Item, Referred[Entry]> | IfAbsent<Item, Entry>
  : ItemAt<Item, Entry>

// TypeScript infers the entry, and so what `id` returns, only if it has no parameters, or gives them their types.
// Otherwise the item may be missing if the parameter with its name may be, or if there is a list: it may be empty.
type IfWithoutId<ParamValues, Name, Given, Referred> = [OneEntry<Given>] extends [keyof Referred]
  ? never
  : Extract<Given, AnyEntry> extends { id (...args: never): infer Id }
    ? unknown extends Id ? IfParamAbsent<ParamValues, Name> : undefined extends Id ? undefined : never
    : never

type IfParamAbsent<ParamValues, Name> =
  Name extends keyof ParamValues ? IfAbsent<ParamValues, Name> : IfList<ParamValues[keyof ParamValues]>

type IfList<Value> = Value extends readonly unknown[] ? undefined : never

// Without the family, which TypeScript 5.9 does not find in it.
interface AnyEntry {
  id (...args: never): unknown
}

type IsPath<Item, Entry> = Entry extends `${string}.${string}`
  ? true
  : Entry extends keyof Item ? NonNullable<Item[Entry]> extends readonly unknown[] ? true : false : false

/** The same for `initial` of a family with these fields; `With` is that of `create`. */
export type ItemsAtCreation<Fields extends TProperties, With, Referred, Sent extends TProperties = {}> =
  ContextItems<Static<TObject<Fields & Sent>>, Static<TObject<Fields>>, With, Referred>

/** The same for `allowed`, which is also called without parameters: only items that fields name are there then. */
export type OfferedItems<Items, With, Referred, ParamValues = {}> = {
  readonly [N in keyof Items]: IsOfItem<With[N & keyof With], Referred, ParamValues> extends true
    ? Items[N]
    : Items[N] | undefined
}

type IsOfItem<Entry, Referred, ParamValues> = [Extract<Entry, AnyList>] extends [never]
  ? OneEntry<Entry> extends keyof Referred ? true : false
  : Extract<Entry, AnyList>['path'] extends PathFrom<keyof ParamValues> ? false : true

// A name is that of the family that has the operation. Of a reference whose family is unknown, it is any item.
type ItemAt<Item, Family> = IsAny<Family> extends true ? any : Family extends string ? Item : ItemIn<Family>

type IfAbsent<Owner, Name> = Name extends keyof Owner ? Owner[Name] extends {} ? never : undefined : never

/** `context.newIds`; items of lists get their ids later. */
export type NewIds<Creates> = {
  readonly [K in keyof Creates as Creates[K] extends readonly unknown[] ? never : K]: IdOf<FieldsOf<Creates[K]>>
}

/** `created` in the result of `apply`. */
export type NewItems<Creates> = {
  readonly [K in keyof Creates]?:
    (Creates[K] extends readonly (infer Family)[] ? readonly NewItemIn<Family>[] : NewItemIn<Creates[K]>) | undefined
}

/** `others` in the results of `apply` and `initial`. */
export type ChangedItems<Items> = { readonly [N in keyof Items]?: Items[N] | undefined }

/** Items, or lists of them, by their names in `with` or `creates`; others stay unchanged, or are not created. */
export type MadeItems = Readonly<Record<string, object | undefined>>

/** The result of `apply` and `initial` if they change others (by names in `with`) or create some (`creates`). */
export type ItemAndOthers<Item, Others = MadeItems, Made = MadeItems> =
  | { readonly item: Item, readonly others: Others, readonly created?: Made }
  | { readonly item: Item, readonly created: Made, readonly others?: Others }
