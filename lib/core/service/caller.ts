import { types } from 'node:util'
import { errorCodes } from '../errors.js'
import type { Family } from '../family/family.js'
import { Problem } from '../problems.js'
import { findFlawInConditions } from '../query/filters.js'
import type { DeadlineEnd, DeadlineSettings } from '../storage/deadline.js'
import type { Condition, Id, Stored } from '../storage/storage.js'
import { isTextId, textIdRule, uuidv7 } from '../values/ids.js'
import { findTextFlaw, type Members } from '../values/json.js'
import type { GuardedStorage } from './storage-access.js'
import type { WaitingLimits } from './write-queue.js'

/** What is about to be done, for `authorize`. */
export interface Intent {
  readonly family: string
  /** `list`, `read` (an item or its log), or the action of a command. */
  readonly action: string
  /** The item; undefined for a list, a creation, and a command that is read by its own id until its item is known. */
  readonly id: Id | undefined
  /**
   * The parameters of a command; of a list under `/query/`, its parameter; of a command that is read by its own id,
   * `command`.
   */
  readonly params: Readonly<Record<string, unknown>>
  /** Whether it is only about offering the action: nothing is done, and `params` are not known yet. */
  readonly tentative?: true
}

/** What `authorize` may return. */
export interface Grant {
  /** Who asks: replays of commands are bound to this name. */
  readonly principal?: string
  /** Conditions for every read and write of this request: items that do not meet them do not exist for it. */
  readonly where?: readonly Condition[]
  /**
   * Of `read` and `list`: the actions that a page, or `…/operations`, offers to the caller. Where it is left out, each
   * is asked for by itself, tentatively.
   */
  readonly offers?: readonly string[]
}

/** What a function `authorize` returns: nothing, where the caller may do everything. */
export type Granted = Grant | undefined | void

/** A change that was made to an item `I`, for `onCommitted`. */
export interface Committed<I = Stored> {
  /** The name of the family, such as `deals`. */
  readonly family: string
  /** What was done, such as `HoldDeal`, `CreateDeal` or `DeleteDeal`. */
  readonly action: string
  readonly id: Id
  readonly command: string
  readonly params: Readonly<Record<string, unknown>>
  /** As `authorize` returned it. */
  readonly principal: string | undefined
  /** Of the item after it. */
  readonly revision: number
  /** The moment of the decision, `YYYY-MM-DDTHH:mm:ss.sssZ`. */
  readonly at: string
  /** Undefined where it was created. */
  readonly before: I | undefined
  /** Undefined where it was deleted. */
  readonly after: I | undefined
}

/** On whose behalf items are read and written: a request, or a call of the service. */
export interface Caller {
  /** What the caller may do; a refusal is thrown. */
  authorize (intent: Intent): Grant | Promise<Grant>
  /** The same caller at a family that this one needs or refers to; undefined where that family is not mounted. */
  other (family: Family): { readonly family: Family, readonly caller: Caller } | undefined
  storage (): GuardedStorage | Promise<GuardedStorage>
  /** Ends reads, and waiting to write: a deadline has passed, or the client has disconnected. */
  readonly signal?: AbortSignal | undefined
  readonly waiting: WaitingLimits
  readonly makers: Makers
  /** Runs a step within the host's tracing, where there is one. */
  readonly trace?: (<T>(step: string, work: () => Promise<T>) => Promise<T>) | undefined
  /** Called with every change once it is durable. */
  readonly committed?: ((change: Committed) => void) | undefined
}

export function intendToRead ({ name }: Family, id: Id | undefined, params: Members = {}): Intent {
  return { family: name, action: 'read', id, params }
}

/** The intent to read a list. */
export function intendToList ({ name }: Family, params: Members = {}): Intent {
  return { family: name, action: 'list', id: undefined, params }
}

const members = ['principal', 'where', 'offers']

/** Checks what `authorize` returned. A mistake in it must not show too much, so it is an error and not a guess. */
export function checkGrant (family: Family, granted: unknown): Grant {
  if (granted === undefined || granted === null) return {}
  const flaw = findFlawInGrant(family, granted)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_GRANT(family.name, flaw)
  return granted as Grant
}

function findFlawInGrant (family: Family, granted: {}): string | undefined {
  // A list, a Map or an error has no such members, and would be a grant without limits.
  if (![Object.prototype, null].includes(Object.getPrototypeOf(granted))) {
    return 'must return nothing, or { principal, where, offers }'
  }
  const { principal, where, offers } = granted as Grant
  const unknown = Object.keys(granted).find(name => !members.includes(name))
  if (unknown !== undefined) return `returned "${unknown}"; it may return "principal", "where" and "offers"`
  if (offers !== undefined && !(Array.isArray(offers) && offers.every(action => typeof action === 'string'))) {
    return 'returned offers that are not actions: "offers" must be a list of strings'
  }
  if (principal !== undefined && typeof principal !== 'string') {
    return 'returned a principal that is not a text: "principal" must be a string'
  }
  const flawOfName = principal === undefined ? undefined : findTextFlaw(principal)
  if (flawOfName !== undefined) return `returned a principal that ${flawOfName}`
  // Such as a rule that was looked up and not found; to show everything, leave it out or return an empty list.
  if (where === undefined && !Object.hasOwn(granted, 'where')) return undefined
  if (!Array.isArray(where)) return 'returned conditions that are not a list: "where" must be a list of conditions'
  const flaw = findFlawInConditions(family.shape.fields, where)
  return flaw === undefined ? undefined : `returned ${flaw}`
}

export interface Makers {
  /** The time, for decisions and for the end of a version. */
  clock (): Date
  /** The id of a new item; undefined where it is the next integer, or a UUID. */
  readonly makeId: (() => Id) | undefined
  /** The id of a command without one. */
  makeCommandId (): string
}

interface MakerOptions {
  readonly clock?: (() => Date) | undefined
  readonly makeId?: (() => Id) | undefined
  readonly makeCommandId?: (() => string) | undefined
}

export function readMakers (family: Family, { clock, makeId = family.makeId, makeCommandId }: MakerOptions): Makers {
  return {
    clock: clock === undefined ? () => new Date() : () => checkMoment(family, clock()),
    makeId,
    makeCommandId: makeCommandId === undefined ? () => uuidv7() : () => checkCommandId(family, makeCommandId())
  }
}

function checkMoment ({ name }: Family, moment: unknown): Date {
  if (types.isDate(moment) && !Number.isNaN(moment.getTime())) return moment
  const flaw = 'the option "clock" did not return a valid Date'
  throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(name, flaw)
}

function checkCommandId ({ name }: Family, id: unknown): string {
  if (typeof id === 'string' && isTextId(id)) return id
  const flaw = `the option "makeCommandId" returned ${JSON.stringify(id)}; a command id ${textIdRule}`
  throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(name, flaw)
}

export function makeDeadlines (timeout: number): DeadlineSettings {
  return { timeout, explain: why => explainEnd(timeout, why) }
}

function explainEnd (timeout: number, why: DeadlineEnd): Problem {
  // No client reads this response; the status, which proxies use for it, is for the host's log.
  if (why === 'gone') return new Problem('timeout', 'The client has disconnected', { status: 499 })
  const detail = why === 'late'
    ? `It took longer than ${timeout} ms; nothing was changed`
    : `It took longer than ${timeout} ms. The change may have been made: send it again with the same id to find out`
  return new Problem('timeout', detail, { headers: { 'retry-after': '1' } })
}
