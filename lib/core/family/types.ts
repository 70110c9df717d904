// Types that TypeScript infers from a definition: from references, `with` and `creates` to the rules.
import type { Static, TObject, TProperties, TSchema } from '@sinclair/typebox'
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
}

/** Those of any family. */
export interface AnyTypes extends FamilyTypes {
  readonly created: any
  readonly edited: any
  readonly references: any
  readonly with: any
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
type OtherFamily<Given> = Given extends AnyFamily ? Given : AnyFamily
type ReferenceField<Given, Referred> = IsAny<Given> extends true
  ? string
  : Given extends string ? Given extends keyof Referred ? `${Given}` : keyof NoInfer<Referred> & string : string

export type IsAny<T> = 0 extends T & 1 ? true : false

/** Another item that an operation on an item needs, which has the id `OwnId`. */
export interface OtherItem<ParamValues = unknown, Item = unknown, Family = string | AnyFamily, OwnId = Id> {
  /** The name of the family that has the operation, or another family, as `defineFamily` made it. */
  readonly family: OneFamily<Family>
  /** Its id, from the parameters and the item; undefined if none is needed this time. Pure. */
  id (params: ParamValues, item: Item): OtherId<Family, OwnId> | undefined
}

type OtherId<Family, OwnId> = Family extends string ? OwnId : IdOf<FieldsOf<Family>>

/** `with`: `With` has the field or the family of each item by its name, `Referred` the family of each reference. */
export type OtherItems<ParamValues, Item, With, Referred, OwnId> = {
  readonly [N in keyof With]: ReferenceField<With[N], Referred> | OtherItem<ParamValues, Item, With[N], OwnId>
}

/** `creates`, by name. */
export type NewFamilies<Creates> = { readonly [K in keyof Creates]: OtherFamily<Creates[K]> }

/** `references` of these fields. */
export type References<Fields, Referred> = { readonly [K in Exclude<keyof Fields, 'id'>]?: string | AnyFamily } & {
  readonly [K in keyof Referred]: K extends Exclude<keyof Fields, 'id'>
    ? OneFamily<Referred[K]>
    : 'is not a field of the family'
}

/** `context.items`: undefined if the field, or the parameter with the name of the item, may be absent. */
export type ContextItems<ParamValues, Item, With, Referred> = {
  readonly [N in keyof With]: With[N] extends keyof Referred
    ? ItemAt<Item, Referred[With[N]]> | IfAbsent<Item, With[N]>
    : ItemAt<Item, With[N]> | IfAbsent<ParamValues, N>
}

/** The same for `initial` of a family with these fields; `With` is that of `create`. */
export type ItemsAtCreation<Fields extends TProperties, With, Referred> =
  ContextItems<Static<TObject<Fields>>, Static<TObject<Fields>>, With, Referred>

/** The same for `allowed`, which is also called without parameters: only items that fields name are there then. */
export type OfferedItems<Items, With, Referred> = {
  readonly [N in keyof Items]: With[N & keyof With] extends keyof Referred ? Items[N] : Items[N] | undefined
}

// A name is that of the family that has the operation. Of a reference whose family is unknown, it is any item.
type ItemAt<Item, Family> = IsAny<Family> extends true ? any : Family extends string ? Item : ItemIn<Family>

type IfAbsent<Owner, Name> = Name extends keyof Owner ? Owner[Name] extends {} ? never : undefined : never

/** `context.newIds`. */
export type NewIds<Creates> = { readonly [K in keyof Creates]: IdOf<FieldsOf<Creates[K]>> }

/** `created` in the result of `apply`. */
export type NewItems<Creates> = { readonly [K in keyof Creates]?: NewItemIn<Creates[K]> | undefined }

/** `others` in the results of `apply` and `initial`. */
export type ChangedItems<Items> = { readonly [N in keyof Items]?: Items[N] | undefined }
