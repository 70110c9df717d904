import type { Static, TObject, TProperties } from '@sinclair/typebox'
import type { CreateIn, EditIn, OperationParams } from '../family/definition.js'
import type { CommandMembers } from '../family/fields.js'
import type { AnyTypes, FamilyTypes, IdOf, ItemOf, KnownField, MemberName } from '../family/types.js'
import type { ItemPage, PageOptions } from '../query/grammar.js'
import type { Condition, Id, Storage } from '../storage/storage.js'
import type { Granted, Intent } from './caller.js'

/** Options of a service; conditions are on fields `F`. */
export interface ServiceOptions<F extends string = string> {
  readonly storage: Storage
  /** Like the option of a mount, with the options of the call. A principal that it returns replaces the given one. */
  readonly authorize?: (call: CallOptions, intent: Intent) => Granted<F> | Promise<Granted<F>>
  /** The time of decisions, for tests. Default: the system's. */
  readonly clock?: () => Date
  /** Makes the id of a new item. Default: `makeId` of the definition. */
  readonly makeId?: () => Id
  /** Makes the id of a command without one. Default: a UUID of version 7. */
  readonly makeCommandId?: () => string
}

/** The options of every call. */
export interface CallOptions {
  /** The name of the caller: for the log, operations (`context.principal`) and replays, which are bound to it. */
  readonly principal?: string
  /** Aborts a read, or waiting to write, with nothing changed. A commit that has begun is not aborted. */
  readonly signal?: AbortSignal
}

/** Options of `create`. */
export interface CreateOptions extends CallOptions {
  /** Makes it safe to repeat, like the header Idempotency-Key: the first outcome is returned again. */
  readonly key?: string
  /** The id of the command, which is run once under it. Instead of `key`. */
  readonly command?: string
}

/** Options of `run` and `remove`. */
export interface RunOptions extends CreateOptions {
  /** The revision that the caller knows; a different one is the problem `precondition-failed`. */
  readonly revision?: number
}

/** Options of `runAll`. */
export interface RunAllOptions extends CallOptions {
  /** Whether all are run in one commit, or none. Default: each for itself. */
  readonly atomic?: boolean
}

/** Options of `get`. */
export interface GetOptions extends CallOptions {
  /** Fields whose ids become the items that they refer to, as far as the caller may read them. */
  readonly expand?: readonly string[]
}

/** Options of `find` and `log`. */
export interface FindOptions extends CallOptions, PageOptions {}

/** Options of `follow`. */
export interface FollowOptions extends CallOptions {
  /** Starts after this place: the `cursor` of an entry, or that of `links.follow`. */
  readonly after?: string
  /** Without `after`: from the first entry (default), or with what happens from now on. */
  readonly from?: 'beginning' | 'now'
}

/** A command in the log; the member named like the family's singular has the id of the item. */
export type LoggedCommand = CommandEntry & { readonly [member: string]: unknown }

type CommandEntry = Static<typeof CommandMembers>

/** The result of a command. */
export interface Done<I> {
  /**
   * The item after it. Of a replay: the current one, undefined if deleted; of a creation, as it was created. Undefined
   * too, also of a creation, if `authorize` does not let the caller read it.
   */
  readonly item: I
  /** Its entry. It has no id if it is not in the log: nothing was changed, and no id or key was given. */
  readonly command: Omit<CommandEntry, 'id'> & { readonly id?: string, readonly [member: string]: unknown }
  /** Whether the command changed anything, now or when it first ran. */
  readonly changed: boolean
  /** Whether the command ran before, and nothing was done now. */
  readonly replayed: boolean
}

/** May be omitted if all parameters are optional. */
type ParamsAndOptions<T extends TObject> = {} extends Static<T>
  ? [params?: Static<T>, options?: RunOptions]
  : [params: Static<T>, options?: RunOptions]

type ParamsOf<T> = {} extends T ? { readonly params?: T } : { readonly params: T }

type OnItem<K, P extends TProperties, T> = ParamsOf<T> & Omit<RunOptions, keyof CallOptions> &
  { readonly operation: K, readonly id: IdOf<P> }

/** One of the commands of `runAll`: an operation, `edit`, `create` or `remove`. */
export type BookCommand<
  P extends TProperties = TProperties,
  O extends OperationParams = OperationParams,
  M extends FamilyTypes = AnyTypes
> =
  | { [K in keyof O & string]: OnItem<K, P, Static<O[K]>> }[keyof O & string]
  | OnItem<[M['edited']] extends [never] ? never : 'edit', P, EditIn<P, M>>
  | OnItem<'remove', P, {}>
  | { readonly operation: 'create', readonly params: CreateIn<P, M> } &
    Omit<CreateOptions, keyof CallOptions>

/** A family without HTTP: for jobs, scripts, tests, and other protocols. It refuses with the same problems. */
export interface Service<
  P extends TProperties = TProperties,
  O extends OperationParams = OperationParams,
  M extends FamilyTypes = AnyTypes
> {
  /** Creates an item from the fields in `create` of the definition. */
  create (fields: CreateIn<P, M>, options?: CreateOptions): Promise<Done<ItemOf<P>>>
  run<K extends keyof O & string> (
    operation: K,
    id: IdOf<P>,
    ...rest: ParamsAndOptions<O[K]>
  ): Promise<Done<ItemOf<P> | undefined>>
  /** Edits fields; omitted ones stay unchanged. */
  run (
    operation: [M['edited']] extends [never] ? never : 'edit',
    id: IdOf<P>,
    params?: EditIn<P, M>,
    options?: RunOptions
  ): Promise<Done<ItemOf<P> | undefined>>
  /** Runs many commands, in this order: with `atomic` all in one commit, or none, and then it throws. */
  runAll (
    commands: readonly BookCommand<P, O, M>[],
    options: RunAllOptions & { readonly atomic: true }
  ): Promise<Done<ItemOf<P> | undefined>[]>
  runAll (
    commands: readonly BookCommand<P, O, M>[],
    options?: RunAllOptions
  ): Promise<PromiseSettledResult<Done<ItemOf<P> | undefined>>[]>
  /** Deletes an item; its log stays. */
  remove (id: IdOf<P>, options?: RunOptions): Promise<Omit<Done<never>, 'item'>>
  /** Throws the problem `not-found` if it does not exist. */
  get (id: IdOf<P>, options?: GetOptions): Promise<ItemOf<P>>
  /** Finds items by a query string, or by conditions that all must hold. */
  find<F extends string> (
    query?: string | readonly Condition<KnownField<F, MemberName<P>>>[],
    options?: FindOptions
  ): Promise<ItemPage<ItemOf<P>>>
  /** The commands of an item, in the order of the changes. A log outlives its item. */
  log (id: IdOf<P>, options?: FindOptions): Promise<ItemPage<LoggedCommand>>
  /**
   * The commands of all items, in the order in which they became visible, and then those that happen, until the signal
   * is aborted. Nothing is missed, whichever process wrote it.
   */
  follow (options?: FollowOptions): AsyncIterable<FollowedCommand>
}

/** An entry that a follower or a consumer gets. */
export type FollowedCommand = LoggedCommand & {
  readonly params?: Readonly<Record<string, unknown>>
  /** What it changed of an item that existed, by field. Long values, and those that no client reads, are left out. */
  readonly changes?: Readonly<Record<string, { readonly from?: unknown, readonly to?: unknown }>>
  readonly family: string
  /** Its place in the log: higher than that of every entry before it. */
  readonly position: number
  /** The place after it, for `after`. */
  readonly cursor: string
}
