import { errorCodes } from '../errors.js'
import type { Family } from '../family/family.js'
import { findFlawInConditions } from '../query/conditions.js'
import type { Condition, Id, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { findTextFlaw } from '../values/json.js'
import type { Makers } from './makers.js'
import type { GuardedStorage } from './storage-access.js'
import type { WaitingLimits } from './write-lines.js'

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
  /** Where nothing is about to be done: it is asked whether to offer it, and `params` are not known yet. */
  readonly tentative?: true
}

/** What `authorize` may give back. */
export interface Grant {
  /** Who asks: replays of commands are bound to this name. */
  readonly principal?: string
  /** Conditions that every read and write of this request obeys: what does not meet them is not there. */
  readonly where?: readonly Condition[]
  /**
   * Of `read` and `list`: the actions that a page, or `…/operations`, offers to the caller. Where it is left out, each
   * is asked for by itself, tentatively.
   */
  readonly offers?: readonly string[]
}

/** What a function `authorize` gives back: nothing, where the caller may do all. */
export type Granted = Grant | undefined | void

/** A change that was made to an item `I`, for `onCommitted`. */
export interface Committed<I = Stored> {
  /** The name of the family, as `deals`. */
  readonly family: string
  /** What was done, as `HoldDeal`, `CreateDeal` or `DeleteDeal`. */
  readonly action: string
  /** The id of the item. */
  readonly id: Id
  /** The id of the command. */
  readonly command: string
  /** What was sent along. */
  readonly params: Readonly<Record<string, unknown>>
  /** Who asked, as `authorize` said. */
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

/** On whose behalf something is read or written: a request, or a call of the service. */
export interface Caller {
  /** What the caller may do; a refusal is thrown. */
  authorize (intent: Intent): Grant | Promise<Grant>
  /** The same caller where another family is, which this one needs or refers to; undefined where that is not here. */
  other (family: Family): { readonly family: Family, readonly caller: Caller } | undefined
  /** Where the items are, prepared for the family. */
  storage (): GuardedStorage | Promise<GuardedStorage>
  /** Ends reads, and waiting to write: a deadline has passed, or nobody is there any more. */
  readonly signal?: AbortSignal | undefined
  /** How many may wait before its writes. */
  readonly waiting: WaitingLimits
  /** Where the time and the ids of its writes come from. */
  readonly makers: Makers
  /** Runs a step within the host's tracing, where there is one. */
  readonly trace?: (<T>(step: string, work: () => Promise<T>) => Promise<T>) | undefined
  /** Hears of every change once it is durable. */
  readonly committed?: ((change: Committed) => void) | undefined
}

/** The intent to read an item, its log, or a command whose item is not yet known. */
export function intendToRead ({ name }: Family, id: Id | undefined, params: Members = {}): Intent {
  return { family: name, action: 'read', id, params }
}

const members = ['principal', 'where', 'offers']

/** What `authorize` gave back. A mistake in it must not show anybody too much, so it is an error and not a guess. */
export function checkGrant (family: Family, granted: unknown): Grant {
  if (granted === undefined || granted === null) return {}
  const flaw = findFlawInGrant(family, granted)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_GRANT(family.name, flaw)
  return granted as Grant
}

function findFlawInGrant (family: Family, granted: {}): string | undefined {
  // What has no members of its own, as a list, a Map or an error, would be a grant without limits.
  if (![Object.prototype, null].includes(Object.getPrototypeOf(granted))) {
    return 'must give back nothing, or { principal, where, offers }'
  }
  const { principal, where, offers } = granted as Grant
  const unknown = Object.keys(granted).find(name => !members.includes(name))
  if (unknown !== undefined) return `gave back "${unknown}"; it may give back "principal", "where" and "offers"`
  if (offers !== undefined && !(Array.isArray(offers) && offers.every(action => typeof action === 'string'))) {
    return 'gave back offers that are no actions: "offers" must be a list of strings'
  }
  if (principal !== undefined && typeof principal !== 'string') {
    return 'gave back a principal that is no text: "principal" must be a string'
  }
  const flawOfName = principal === undefined ? undefined : findTextFlaw(principal)
  if (flawOfName !== undefined) return `gave back a principal that ${flawOfName}`
  // As a rule that was looked up and is not there; to show all is to leave it out, or to give no conditions.
  if (where === undefined && !Object.hasOwn(granted, 'where')) return undefined
  if (!Array.isArray(where)) return 'gave back conditions that are no list: "where" must be a list of conditions'
  const flaw = findFlawInConditions(family.shape.fields, where)
  return flaw === undefined ? undefined : `gave back ${flaw}`
}
