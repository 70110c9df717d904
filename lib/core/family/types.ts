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
export type ItemOf<P extends TProperties> = Static<TObject<P>> & ServiceMembers

export type MemberName<P extends TProperties> = (keyof P & string) | keyof ServiceMembers

/** The field `F` of a condition must be one of `K`, unless it is only known at run time. */
export type KnownField<F extends string, K extends string> = string extends F ? F : K

/** The id of an item with these fields. */
export type IdOf<P> = string extends keyof P ? Id : P extends { readonly id: infer T extends TSchema } ? Static<T> : Id

/** The fields of a family, by its type: `FieldsOf<typeof deals>`. Of any family, any fields. */
export type FieldsOf<F> =
  F extends { readonly definition: { readonly fields: TObject<infer P extends TProperties> } } ? P : TProperties

/** An item of a family, by the type of the family; of any family, any members. */
export type ItemIn<F> = string extends keyof FieldsOf<F> ? Members : ItemOf<FieldsOf<F>>

/** The names of the members of items of a family, or of any of several. */
export type MemberIn<F> = F extends unknown ? MemberName<FieldsOf<F>> : never

/** The members of a new item of a family: those of its `create`, and any other fields. */
type NewItemIn<F> = F extends { service (...args: never): { create (fields: infer C, ...args: never): unknown } }
  ? C & Partial<Omit<Static<TObject<FieldsOf<F>>>, 'id'>>
  : Members

/**
 * Delays a type until TypeScript has inferred `T`. Only then do the literals that a rule returns, such as
 * `status: 'sent'`, keep their types.
 */
export type Inferred<T, R> = T extends unknown ? R : never

// Conditional types, since from these TypeScript infers `F`, which a constraint would not let it. From a template it
// infers only a text, not `{ family, id }`.
type OneFamily<F> = F extends string | AnyFamily ? F : AnyFamily
type OtherFamily<F> = F extends AnyFamily ? F : AnyFamily
type ReferenceField<F, V> = IsAny<F> extends true
  ? string
  : F extends string ? F extends keyof V ? `${F}` : keyof NoInfer<V> & string : string

export type IsAny<T> = 0 extends T & 1 ? true : false

/** Another item that an operation on an item `I` with parameters `Q` needs, of a family `F`; `D` is the id of `I`. */
export interface OtherItem<Q = unknown, I = unknown, F = string | AnyFamily, D = Id> {
  /** The name of the family that has the operation, or another family, as `defineFamily` made it. */
  readonly family: OneFamily<F>
  /** Its id, from the parameters and the item; undefined if none is needed this time. Pure. */
  id (params: Q, item: I): OtherId<F, D> | undefined
}

type OtherId<F, D> = F extends string ? D : IdOf<FieldsOf<F>>

/** `with`: `W` has the field, or the family, of each item by its name, and `V` the family of each reference field. */
export type OtherItems<Q, I, W, V, D> = {
  readonly [N in keyof W]: ReferenceField<W[N], V> | OtherItem<Q, I, W[N], D>
}

/** `creates`, by name. */
export type NewFamilies<N> = { readonly [K in keyof N]: OtherFamily<N[K]> }

/** `references` of fields `P`. */
export type References<P, V> = { readonly [K in Exclude<keyof P, 'id'>]?: string | AnyFamily } & {
  readonly [K in keyof V]: K extends Exclude<keyof P, 'id'> ? OneFamily<V[K]> : 'is not a field of the family'
}

/** `context.items`: undefined if the field, or the parameter with the name of the item, may be absent. */
export type ContextItems<Q, I, W, V> = {
  readonly [N in keyof W]: W[N] extends keyof V
    ? ItemAt<I, V[W[N]]> | IfAbsent<I, W[N]>
    : ItemAt<I, W[N]> | IfAbsent<Q, N>
}

/** The same for `initial` of a family with fields `P`; `W` is `with` of `create`. */
export type ItemsAtCreation<P extends TProperties, W, V> = ContextItems<Static<TObject<P>>, Static<TObject<P>>, W, V>

/** The same for `allowed`, which is also called without parameters: only items that fields name are there then. */
export type OfferedItems<X, W, V> = {
  readonly [N in keyof X]: W[N & keyof W] extends keyof V ? X[N] : X[N] | undefined
}

// A name is that of the family that has the operation. Of a reference whose family is unknown, it is any item.
type ItemAt<I, F> = IsAny<F> extends true ? any : F extends string ? I : ItemIn<F>

type IfAbsent<T, K> = K extends keyof T ? T[K] extends {} ? never : undefined : never

/** `context.newIds`. */
export type NewIds<N> = { readonly [K in keyof N]: IdOf<FieldsOf<N[K]>> }

/** `created` in the result of `apply`. */
export type NewItems<N> = { readonly [K in keyof N]?: NewItemIn<N[K]> | undefined }

/** `others` in the results of `apply` and `initial`. */
export type ChangedItems<X> = { readonly [N in keyof X]?: X[N] | undefined }
