import type { Static, TObject } from '@sinclair/typebox'
import type { Id } from '../storage/storage.js'
import type { Members } from '../values/json.js'

/** A family, whatever its fields and operations are. */
export interface AnyFamily {
  readonly definition: { readonly name: string }
}

/** What an operation may know besides the item and its parameters. */
export interface Context {
  /** The moment of the decision, `YYYY-MM-DDTHH:mm:ss.sssZ`. */
  readonly now: string
  /** The id of the command. */
  readonly command: string
  /** Who acts, from `authorize` or the call of the service. */
  readonly principal: string | undefined
  /** The other items that `with` names, as they are; undefined where its `id` named none. */
  readonly items: Readonly<Record<string, Members | undefined>>
}

/** Another item that an operation needs, by parameters `Q`. */
export interface OtherItem<Q = unknown> {
  /** The name of the family that has the operation, or another family, as `defineFamily` made it. */
  readonly family: string | AnyFamily
  /** Its id, from the parameters; undefined where none is needed this time. Pure. */
  id (params: Q): Id | undefined
}

/** What `apply` returns where it changes other items too. */
export interface ItemAndOthers<I> {
  /** The item of the operation after it. */
  readonly item: I
  /** By their names in `with`; those that are left out, or undefined, stay as they are. */
  readonly others: Readonly<Record<string, object | undefined>>
}

/**
 * A business operation: its words in the URL forms, its parameters, and two pure functions. In every form,
 * `apply` works out the item after it; if nothing would change, it succeeds; otherwise `allowed` decides.
 */
export interface Operation<I = unknown, T extends TObject = TObject> {
  /** In problems: what is allowed now. */
  readonly name: string
  /** `PUT …/{id}/hold` */
  readonly verb: string
  /** `PUT …/{id}/holded` */
  readonly participle: string
  /** `POST …/{id}/holds` */
  readonly noun: string
  /** `{ "action": "HoldDeal" }` and `POST /command/HoldDeal/` */
  readonly action: string
  /** One line for the documentation. */
  readonly summary?: string
  /** The parameters; an unknown one is refused. */
  readonly params: T
  /** Whether a page asks for confirmation, because it does harm by mistake. */
  readonly danger?: boolean
  /** Whether it cannot be undone; a page says so, and asks for confirmation. */
  readonly final?: boolean
  /** The fields that it changes: the attribute form names the operation where one of them differs. */
  readonly changes?: readonly string[]
  /**
   * Other items that it needs and may change, in one commit with its own. By name, as in `context.items`.
   *
   * @example
   * with: { to: { family: 'accounts', id: params => params.to } }
   */
  readonly with?: Readonly<Record<string, OtherItem<Static<T>>>>
  /**
   * Whether the state of the item allows it, or why it does not; always, where left out. It may throw a problem.
   *
   * @param params undefined, as is the context, where the operation is only offered
   */
  allowed? (item: I, params?: Static<T>, context?: Context): boolean | string
  /**
   * Returns the item after it; where others change too, `{ item, others }`. Pure: no I/O, no clock, and no item is
   * changed in place. It may throw a problem.
   */
  apply (item: I, params: Static<T>, context: Context): I | ItemAndOthers<I>
}

/** Like `Operation`, but `apply` may add fields that the family will have. */
export interface OpenOperation<I, T extends TObject> extends Omit<Operation<I, T>, 'allowed' | 'apply'> {
  allowed? (item: I, params?: Static<T>, context?: Context): boolean | string
  apply (item: I, params: Static<T>, context: Context): Opened<I> | ItemAndOthers<Opened<I>>
}

type Opened<I> = I | (I & { readonly [field: string]: unknown })

/** An operation for every item that has the fields of `I`: it leaves the others as they are. */
export interface DefinedOperation<I, T extends TObject> extends Omit<Operation<I, T>, 'allowed' | 'apply'> {
  allowed? (item: I, params?: Static<T>, context?: Context): boolean | string
  apply<J extends I> (item: J, params: Static<T>, context: Context): J | ItemAndOthers<J>
}

/** line-item -> CreateLineItem */
export function nameAction (verb: string, singular: string): string {
  return verb + singular.replace(/(^|-)([a-z0-9])/g, (_, _hyphen, letter: string) => letter.toUpperCase())
}

/** The part of an operation that the noun form needs; the deletion has only this. */
export type NounOperation = Pick<Operation, 'name' | 'noun' | 'action' | 'summary' | 'danger' | 'final'>
