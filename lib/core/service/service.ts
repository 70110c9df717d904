import type { Static, TObject, TProperties } from '@sinclair/typebox'
import type { ItemOf, OperationParams } from '../family/definition.js'
import type { CommandMembers } from '../family/fields.js'
import type { Condition, Id, Storage } from '../storage/storage.js'
import type { Granted, Intent } from './caller.js'

/** The storage of a service, and what its callers may do. */
export interface ServiceOptions {
  readonly storage: Storage
  /**
   * Like the option of a mount, with the options of the call instead of the request: called before anything is read or
   * written; what it throws is the refusal. A principal that it returns replaces that of the call.
   */
  readonly authorize?: (call: CallOptions, intent: Intent) => Granted | Promise<Granted>
  /** Writers that may wait for one item; one more is refused. Default 100. */
  readonly maxWaitingPerItem?: number
  /** Writers that may wait in all, over everything that shares the storage. Default 1000. */
  readonly maxWaiting?: number
  /** The time of what is decided, for tests. Default: that of the machine. */
  readonly clock?: () => Date
  /** Makes the id of a new item, in place of the definition's `makeId`. */
  readonly makeId?: () => Id
  /** Makes the id of a command that is given none. Default: a UUID of version 7. */
  readonly makeCommandId?: () => string
}

/** The options of every call. */
export interface CallOptions {
  /** Who calls: for the log, for operations (`context.principal`), and for replays, which are bound to this name. */
  readonly principal?: string
  /**
   * Ends the call: a read, or waiting to write. It is then rejected with the signal's reason, and nothing was changed.
   * A commit that has begun is waited for.
   */
  readonly signal?: AbortSignal
}

/** How a creation is made safe to repeat. */
export interface CreateOptions extends CallOptions {
  /** Makes it safe to repeat, as the header Idempotency-Key does: the first outcome is returned again. */
  readonly key?: string
}

/** How a command is made safe to repeat, and what it was decided on. */
export interface RunOptions extends CreateOptions {
  /** The id of the command: under it, the command is done once. In place of `key`. */
  readonly command?: string
  /** The revision that the caller knows; a different one is the problem `precondition-failed`. */
  readonly revision?: number
}

/** Which part of a list is wanted. */
export interface FindOptions extends CallOptions {
  /** Items at most. Default 50. */
  readonly limit?: number
  /** Counted from 1. */
  readonly page?: number
  /** As in a query string: `-age,id`. */
  readonly sort?: string
  /** Whether `total` is wanted. */
  readonly count?: boolean
  /** Begins at this place, which is the `next` of another page in the same order; in place of `page`. */
  readonly after?: string
  /** Ends at this place, which is the `prev` of another page in the same order; in place of `page`. */
  readonly before?: string
}

/** A command as it is in the log; the member named like the family's singular holds the id of the item. */
export type LoggedCommand = CommandEntry & { readonly [member: string]: unknown }

type CommandEntry = Static<typeof CommandMembers>

/** What became of a command. */
export interface Done<I> {
  /**
   * The item after it. Where the command was done before: as it is now, undefined if it is gone; of a creation, as it
   * was created.
   */
  readonly item: I
  /** Its entry; without an id where nothing was changed and no id or key was given, so that it is not in the log. */
  readonly command: Omit<CommandEntry, 'id'> & { readonly id?: string, readonly [member: string]: unknown }
  /** Whether the command changed anything, now or when it was first done. */
  readonly changed: boolean
  /** Whether the command was done before, and nothing now. */
  readonly replayed: boolean
}

/** Part of a list. */
export interface ItemPage<T> {
  readonly items: readonly T[]
  /** Whether there are more after these. */
  readonly hasNext: boolean
  readonly total?: number
  /** Where the next page begins, for `after`: it costs the same however many there are before it. */
  readonly next?: string
  /** Where the page before this one ends, for `before`. */
  readonly prev?: string
}

/** The parameters of an operation, which may be left out where all of them are optional. */
type ParamsAndOptions<T extends TObject> = {} extends Static<T>
  ? [params?: Static<T>, options?: RunOptions]
  : [params: Static<T>, options?: RunOptions]

/** A family without HTTP: for jobs, scripts, tests, and other protocols. It refuses with the same problems. */
export interface Service<
  P extends TProperties = TProperties,
  O extends OperationParams = OperationParams,
  E = object
> {
  /** Creates an item from the fields that a client sends at creation. */
  create (fields: Partial<Omit<Static<TObject<P>>, 'id'>>, options?: CreateOptions): Promise<Done<ItemOf<P>>>
  /** Runs an operation on an item. */
  run<K extends keyof O & string> (
    operation: K,
    id: Id,
    ...rest: ParamsAndOptions<O[K]>
  ): Promise<Done<ItemOf<P> | undefined>>
  /** Changes those of its fields that can be edited; what is left out stays as it is. */
  run (
    operation: [keyof E] extends [never] ? never : 'edit',
    id: Id,
    params?: E,
    options?: RunOptions
  ): Promise<Done<ItemOf<P> | undefined>>
  /** Deletes an item; its log stays. */
  remove (id: Id, options?: RunOptions): Promise<Omit<Done<never>, 'item'>>
  /** The item, or the problem `not-found`. */
  get (id: Id, options?: CallOptions): Promise<ItemOf<P>>
  /** Items by the grammar of the query string, or by conditions, of which all must hold. */
  find (query?: string | readonly Condition[], options?: FindOptions): Promise<ItemPage<ItemOf<P>>>
  /** What was done with an item, in the order of the changes; the log outlives its item. */
  log (id: Id, options?: FindOptions): Promise<ItemPage<LoggedCommand>>
}
