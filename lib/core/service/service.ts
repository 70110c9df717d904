import type { Static, TProperties } from '@sinclair/typebox'
import type { CreateIn, SentOf } from '../family/creation.js'
import type { EditIn, OperationParams } from '../family/definition.js'
import type { CommandMembers } from '../family/fields.js'
import type { AnyTypes, FamilyTypes, IdOf, ItemOf, KnownField, MemberName } from '../family/types.js'
import type { ItemPage, PageOptions } from '../query/grammar.js'
import type { Condition, Id, Storage } from '../storage/storage.js'
import type { Granted, Intent } from './caller.js'

/** Options of a service; conditions are on its fields. */
export interface ServiceOptions<Field extends string = string> {
  readonly storage: Storage
  /** Like the option of a mount, with the options of the call. A principal that it returns replaces the given one. */
  readonly authorize?: (call: CallOptions, intent: Intent) => Granted<Field> | Promise<Granted<Field>>
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
  /** The item as it was after this change. The problem `pruned` says that the log does not reach back to it. */
  readonly revision?: number
  /** The item as it was at this time; instead of `revision`. Text is as in RFC 3339. */
  readonly at?: Date | string
}

/** Options of `find` and `log`. */
export interface FindOptions extends CallOptions, PageOptions {}

/** Options of `findDeleted`. */
export interface FindDeletedOptions extends CallOptions, Omit<PageOptions, 'page' | 'count'> {}

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
export interface Done<Item> {
  /**
   * The item after it. Of a replay: the current one, undefined if deleted; of a creation, as it was created. Undefined
   * too, also of a creation, if `authorize` does not let the caller read it.
   */
  readonly item: Item
  /** Its entry. It has no id if it is not in the log: nothing was changed, and no id or key was given. */
  readonly command: Omit<CommandEntry, 'id'> & { readonly id?: string, readonly [member: string]: unknown }
  /** Whether the command changed anything, now or when it first ran. */
  readonly changed: boolean
  /** Whether the command ran before, and nothing was done now. */
  readonly replayed: boolean
}

type RunParams<Name, Fields extends TProperties, Params extends OperationParams, Types extends FamilyTypes> =
  Name extends keyof Params ? SentOf<Params[Name]['properties']> : EditIn<Fields, Types>

/** May be omitted if all parameters are optional. */
type ParamsAndOptions<Values> = {} extends Values
  ? [params?: Values, options?: RunOptions]
  : [params: Values, options?: RunOptions]

type ParamsOf<Values> = {} extends Values ? { readonly params?: Values } : { readonly params: Values }

type OnItem<Name, Fields extends TProperties, Values> = ParamsOf<Values> & Omit<RunOptions, keyof CallOptions> &
  { readonly operation: Name, readonly id: IdOf<Fields> }

/** One of the commands of `runAll`: an operation, `edit`, `create`, `remove`, `restore` or `revert`. */
export type BookCommand<
  Fields extends TProperties = TProperties,
  Params extends OperationParams = OperationParams,
  Types extends FamilyTypes = AnyTypes
> =
  | { [K in keyof Params & string]: OnItem<K, Fields, SentOf<Params[K]['properties']>> }[keyof Params & string]
  | OnItem<[Types['edited']] extends [never] ? never : 'edit', Fields, EditIn<Fields, Types>>
  | OnItem<'remove' | 'restore', Fields, {}>
  | OnItem<'revert', Fields, { readonly to: number }>
  | { readonly operation: 'create', readonly params: CreateIn<Fields, Types> } &
    Omit<CreateOptions, keyof CallOptions>

/** A family without HTTP: for jobs, scripts, tests, and other protocols. It refuses with the same problems. */
export interface Service<
  Fields extends TProperties = TProperties,
  Params extends OperationParams = OperationParams,
  Types extends FamilyTypes = AnyTypes
> {
  /** Creates an item from the fields in `create` of the definition. */
  create (fields: CreateIn<Fields, Types>, options?: CreateOptions): Promise<Done<ItemOf<Fields>>>
  /** Runs an operation, or `edit`: omitted fields stay unchanged. */
  // Not an alias, so that an error lists the names.
  run<Name extends (keyof Params & string) | ([Types['edited']] extends [never] ? never : 'edit')> (
    operation: Name,
    id: IdOf<Fields>,
    ...rest: ParamsAndOptions<RunParams<Name, Fields, Params, Types>>
  ): Promise<Done<ItemOf<Fields> | undefined>>
  /**
   * Runs many commands as if one came after the other, side by side where they have nothing in common: with `atomic`
   * all in one commit, or none, and then it throws.
   */
  runAll (
    commands: readonly BookCommand<Fields, Params, Types>[],
    options: RunAllOptions & { readonly atomic: true }
  ): Promise<Done<ItemOf<Fields> | undefined>[]>
  runAll (
    commands: readonly BookCommand<Fields, Params, Types>[],
    options?: RunAllOptions
  ): Promise<PromiseSettledResult<Done<ItemOf<Fields> | undefined>>[]>
  /** Deletes an item; its log stays. */
  remove (id: IdOf<Fields>, options?: RunOptions): Promise<Omit<Done<never>, 'item'>>
  /** Brings a deleted item back as it was, from its log. Does nothing if it exists. */
  restore (id: IdOf<Fields>, options?: RunOptions): Promise<Done<ItemOf<Fields> | undefined>>
  /** Gives an item the values of an earlier revision, if the family has `revert`. */
  revert (
    id: IdOf<Fields>, params: { readonly to: number }, options?: RunOptions
  ): Promise<Done<ItemOf<Fields> | undefined>>
  /** Throws the problem `not-found` if it does not exist. */
  get (id: IdOf<Fields>, options?: GetOptions): Promise<ItemOf<Fields>>
  /** Finds items by a query string, or by conditions that all must hold. */
  find<Field extends string> (
    query?: string | readonly Condition<KnownField<Field, MemberName<Fields>>>[],
    options?: FindOptions
  ): Promise<ItemPage<ItemOf<Fields>>>
  /** The commands of an item, in the order of the changes. A log outlives its item. */
  log (id: IdOf<Fields>, options?: FindOptions): Promise<ItemPage<LoggedCommand>>
  /**
   * What is deleted now: the deletions of items that have not been restored since, newest first. The `changes` of each
   * have the item.
   *
   * @example
   * const { items: [last] } = await book.findDeleted({ limit: 1 })
   * if (last !== undefined) await book.restore(last.deal as string)
   */
  findDeleted (options?: FindDeletedOptions): Promise<ItemPage<LoggedCommand>>
  /**
   * The commands of all items, in the order in which they became visible, and then those that happen, until the signal
   * is aborted. Nothing is missed, whichever process wrote it.
   */
  follow (options?: FollowOptions): AsyncIterable<FollowedCommand>
}

/** An entry that a follower or a consumer gets. */
export type FollowedCommand = LoggedCommand & {
  readonly params?: Readonly<Record<string, unknown>>
  readonly family: string
  /** Its place in the log: higher than that of every entry before it. */
  readonly position: number
  /** The place after it, for `after`. */
  readonly cursor: string
}
