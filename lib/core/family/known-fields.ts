// TypeScript accepts an object with members that are not declared, unless it is a literal in place. These types refuse
// them in the results of rules, and in operations; the text of the error describes the flaw.
import type { Static, TObject, TProperties } from '@sinclair/typebox'
import type { Operation } from './definition.js'
import type { ContextItems, IsAny, ItemOf, NewItems } from './types.js'

/** `Given` are operations as a host wrote them; the others are those of `Operations`. */
export type KnownFields<Given, Fields extends TProperties, Params, With, Creates, Referred> = {
  readonly [K in keyof Given]: KnownMembers<Given[K]> &
    KnownApply<
      Given[K],
      ItemOf<Fields>,
      ItemsOf<ItemOf<Fields>, Params[K & keyof Params], With[K & keyof With], Referred>,
      NewItems<Creates[K & keyof Creates]>
    > &
    // Not without `with`, which most have not.
    (K extends keyof With
      ? KnownIds<Given[K], ItemsOf<ItemOf<Fields>, Params[K & keyof Params], With[K], Referred>>
      : unknown)
}

type ItemsOf<Item, ParamSchema, With, Referred> =
  ParamSchema extends TObject ? ContextItems<Static<ParamSchema>, Item, With, Referred> : unknown

type KnownMembers<Given> = { readonly [K in Exclude<keyof Given, keyof Operation>]: IsNoMemberOfAnOperation }

declare const flawMark: unique symbol

interface IsNoMemberOfAnOperation {
  readonly [flawMark]: never
}

type KnownApply<Given, Item, Items, Made> =
  Given extends { readonly apply: infer A } ? { readonly apply: KnownResult<A, Item, Items, Made> } : unknown

// What `id` returns is known too late for `Items`, unless its parameters have types.
type KnownIds<Given, Items> = Given extends { readonly with: infer W }
  ? { readonly with: { readonly [N in keyof W]: KnownId<W[N], Items[N & keyof Items]> } }
  : unknown

type KnownId<Given, Item> = Given extends { id (...args: never): infer Id }
  ? IsAny<Id> extends true
    ? unknown
    : undefined extends Id ? undefined extends Item ? unknown : { readonly id: MayReturnUndefined } : unknown
  : unknown

type MayReturnUndefined = 'may return undefined: give its parameters their types, so that context.items knows'

/** `Given` is a rule as a host wrote it, for an item, others and new ones. */
export type KnownResult<Given, Item, Items, Made = {}> = Given extends (...args: never) => infer A
  ? [Flaws<A, Item, Items, Made>] extends [never] ? unknown : (...args: never) => Flaws<A, Item, Items, Made>
  : unknown

/** Never, if the result has no unknown fields or names. */
type Flaws<Result, Item, Items, Made> = Result extends { readonly item: infer J }
  ? Within<'item', FlawsOfItem<J, Item>> | FlawsOfMade<'others', Result, Items> | FlawsOfMade<'created', Result, Made>
  : FlawsOfItem<Result, Item>

type FlawsOfItem<Result, Item> = FlawsNamed<UnknownKeys<Result, Item>, 'is not a field of the family'>

type FlawsOfMade<Name extends string, Result, Items> = Result extends { readonly [K in Name]: infer G }
  ? Within<Name, FlawsNamed<UnknownKeys<G, Items>, 'is not the name of another item'> | FlawsOfEach<G, Items>>
  : never

type FlawsOfEach<Given, Items, Name extends keyof Given & keyof Items = keyof Given & keyof Items> =
  { [N in Name]: Within<N, FlawsOfItem<ElementOf<Given[N]>, ElementOf<NonNullable<Items[N]>>>> }[Name]

type ElementOf<Made> = Made extends readonly (infer Each)[] ? Each : Made

type FlawsNamed<Name extends PropertyKey, Text> = [Name] extends [never] ? never : { readonly [F in Name]: Text }

type Within<Name extends PropertyKey, Found> = [Found] extends [never] ? never : { readonly [N in Name]: Found }

// Types with any members, such as `any`, have no unknown keys.
type UnknownKeys<Result, Item> =
  Result extends object
    ? string extends keyof Result ? never : Exclude<keyof Result, keyof Item | AbsentKeys<Result>>
    : never

// TypeScript gives each of two literals the members of the other, as optional and undefined.
type AbsentKeys<Result> = Result extends { item?: undefined } ? 'item' | 'others' | 'created' : never
