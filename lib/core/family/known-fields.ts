// TypeScript accepts an object with members that are not declared, unless it is a literal in place. These types refuse
// them in the results of rules, and in operations; the text of the error describes the flaw.
import type { Static, TObject, TProperties } from '@sinclair/typebox'
import type { Operation } from './definition.js'
import type { ContextItems, ItemOf, NewItems } from './types.js'

/** `R` are operations as a host wrote them; the others are those of `Operations`. */
export type KnownFields<R, P extends TProperties, O, W, N, V> = {
  readonly [K in keyof R]: KnownMembers<R[K]> &
    KnownApply<R[K], ItemOf<P>, ItemsOf<ItemOf<P>, O[K & keyof O], W[K & keyof W], V>, NewItems<N[K & keyof N]>>
}

type ItemsOf<I, T, W, V> = T extends TObject ? ContextItems<Static<T>, I, W, V> : unknown

type KnownMembers<R> = { readonly [K in Exclude<keyof R, keyof Operation>]: IsNoMemberOfAnOperation }

declare const flawMark: unique symbol

interface IsNoMemberOfAnOperation {
  readonly [flawMark]: never
}

type KnownApply<R, I, X, C> =
  R extends { readonly apply: infer A } ? { readonly apply: KnownResult<A, I, X, C> } : unknown

/** `R` is a rule as a host wrote it, for items `I`, others `X` and new ones `C`. */
export type KnownResult<R, I, X, C = {}> = R extends (...args: never) => infer A
  ? [Flaws<A, I, X, C>] extends [never] ? unknown : (...args: never) => Flaws<A, I, X, C>
  : unknown

/** Never, if the result `A` has no unknown fields or names. */
type Flaws<A, I, X, C> = A extends { readonly item: infer J }
  ? Within<'item', FlawsOfItem<J, I>> | FlawsOfMade<'others', A, X> | FlawsOfMade<'created', A, C>
  : FlawsOfItem<A, I>

type FlawsOfItem<A, I> = Flaw<UnknownKeys<A, I>, 'is not a field of the family'>

type FlawsOfMade<M extends string, A, X> = A extends { readonly [K in M]: infer G }
  ? Within<M, Flaw<UnknownKeys<G, X>, 'is not the name of another item'> | FlawsOfEach<G, X>>
  : never

type FlawsOfEach<G, X, K extends keyof G & keyof X = keyof G & keyof X> =
  { [N in K]: Within<N, FlawsOfItem<G[N], NonNullable<X[N]>>> }[K]

type Flaw<K extends PropertyKey, T> = [K] extends [never] ? never : { readonly [F in K]: T }

type Within<K extends PropertyKey, F> = [F] extends [never] ? never : { readonly [N in K]: F }

// Types with any members, such as `any`, have no unknown keys.
type UnknownKeys<A, I> =
  A extends object ? string extends keyof A ? never : Exclude<keyof A, keyof I | AbsentKeys<A>> : never

// TypeScript gives each of two literals the members of the other, as optional and undefined.
type AbsentKeys<A> = A extends { item?: undefined } ? 'item' | 'others' | 'created' : never
