import type { ItemAndOthers, Operation } from './operation.js'

/**
 * What operations must also be, for TypeScript to notice what it lets pass otherwise: fields of the object that `apply`
 * gives back which the items `I` do not have, and members which no operation has. In the place of each stands a type
 * that nothing fits, and whose name says what is wrong.
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

// Of what may have any members, as `any` may, nothing is known.
type UnknownKeys<A, I> =
  A extends unknown ? string extends keyof A ? never : Exclude<keyof A, keyof I | AbsentKeys<A>> : never

// Of two literals TypeScript gives to each what the other has, as optional and never there.
type AbsentKeys<A> = A extends { item?: undefined, others?: undefined } ? keyof ItemAndOthers<unknown> : never
