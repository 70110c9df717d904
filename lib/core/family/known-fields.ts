import type { ItemAndOthers, Operation } from './operation.js'

/**
 * Lets TypeScript refuse what it would accept otherwise: fields that `apply` returns and the items `I` do not have, and
 * members that no operation has. Each gets a type that nothing fits, and whose name says what is wrong.
 */
export type KnownFields<R, I> = { readonly [K in keyof R]: CheckMembers<R[K]> & CheckResult<R[K], I> }

type CheckMembers<R> = { readonly [K in Exclude<keyof R, keyof Operation>]: IsNoMemberOfAnOperation }

declare const mark: unique symbol

interface IsNoMemberOfAnOperation {
  readonly [mark]: never
}

type CheckResult<R, I> =
  R extends { apply (...args: never): infer A } ? CheckFields<UnknownKeys<ItemIn<A>, I>> : unknown

type CheckFields<K extends PropertyKey> = [K] extends [never]
  ? unknown
  : { apply (...args: never): { readonly [F in K]: 'is no field of the family' } }

type ItemIn<A> = A extends ItemAndOthers<infer I> ? I : A

// Types with any members, such as `any`, tell nothing.
type UnknownKeys<A, I> =
  A extends unknown ? string extends keyof A ? never : Exclude<keyof A, keyof I | AbsentKeys<A>> : never

// TypeScript gives each of two literals the members of the other, as optional and undefined.
type AbsentKeys<A> = A extends { item?: undefined, others?: undefined } ? keyof ItemAndOthers<unknown> : never
