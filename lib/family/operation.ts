import type { Static, TObject } from '@sinclair/typebox'

/** What an operation may know besides the item and its parameters. */
export interface Context {
  /** The moment of the decision, `YYYY-MM-DDTHH:mm:ss.sssZ`. */
  readonly now: string
  /** The id of the command. */
  readonly command: string
  /** Who asks, as `authorize` or the caller of the service said. */
  readonly principal: string | undefined
}

/**
 * A business operation: its words in the URL forms, its parameters, and two pure functions. Whatever form says it, the
 * item after it is worked out by `apply`; if nothing would change, that is a success; else `allowed` decides.
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
  readonly params: T
  /** Whether a page asks first, because it does harm where it is not meant. */
  readonly danger?: boolean
  /** Whether nothing takes it back; a page says so, and asks first. */
  readonly final?: boolean
  /** The fields that it changes: the attribute form names the operation where one of them differs. */
  readonly changes?: readonly string[]
  /** Whether the state of the item allows it, or why it does not; always, where left out. It may throw a problem. */
  allowed? (item: I): boolean | string
  /** The item after it. Pure: no I/O, no clock, and the item itself is not changed. It may throw a problem. */
  apply (item: I, params: Static<T>, context: Context): I
}

/** line-item -> CreateLineItem */
export function nameAction (verb: string, singular: string): string {
  return verb + singular.replace(/(^|-)([a-z0-9])/g, (_, _hyphen, letter: string) => letter.toUpperCase())
}

/** What the noun form needs to know: an operation, or the deletion, which has no other words. */
export type NounOperation = Pick<Operation, 'name' | 'noun' | 'action' | 'summary' | 'danger' | 'final'>
