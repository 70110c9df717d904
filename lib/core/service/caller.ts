import { inspect, types } from 'node:util'
import { Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import type { Family } from '../family/family.js'
import { findFlawInHide, holdsWhole } from '../family/narrow.js'
import { findFlawInConditions, numberDecimals } from '../query/filters.js'
import { now } from '../runtime.js'
import { uuidv7 } from '../runtime.js'
import type { Condition, Id, Stored } from '../storage/storage.js'
import { isNewId, isTextId, newIdRule, textIdRule } from '../values/ids.js'
import { findJsonFlaw, findTextFlaw, isObject, type Members } from '../values/json.js'
import { findFlaw, membersOf, rules } from '../values/rules.js'
import type { GuardedStorage } from './storage-access.js'

/** The action to be authorized. */
export interface Intent {
  readonly family: string
  /** `list`, `read` (an item or its log), or the action of a command. */
  readonly action: string
  /** Undefined for a list, a feed, a creation, and a command that is read by its id until its item is known. */
  readonly id: Id | undefined
  /** The parameters of a command; of a list under `/query/`, its parameter; of a command read by its id, `command`. */
  readonly params: Readonly<Record<string, unknown>>
  /** Whether the action is only offered: nothing is done, and `params` are not known yet. */
  readonly tentative?: true
}

/** A name that a grant may hide: a field, a path in it such as `lines.price`, or `principal`. */
export type Hidable<Field extends string = string> = Field | `${Field}.${string}` | 'principal'

/** The value that `authorize` may return. */
export interface Grant<Field extends string = string> {
  /** The name of the caller. Replays of commands are bound to it. */
  readonly principal?: string
  /** Conditions for every read and write of this request: for it, items that do not meet them do not exist. */
  readonly where?: readonly Condition<Field>[]
  /**
   * Fields, paths in them such as `lines.price`, and `principal`, which do not exist for this request; `principal` is
   * who sent the commands of a log.
   */
  readonly hide?: readonly Hidable<Field>[]
  /** Facts about the caller for rules, as JSON: `context.claims`. Never logged or shown. */
  readonly claims?: Readonly<Record<string, unknown>>
  /** For `read` and `list`: the actions to offer. Default: `authorize` is called for each, with `tentative`. */
  readonly offers?: readonly string[]
}

/** The result of `authorize`: nothing if the caller may do everything. */
export type Granted<Field extends string = string> = Grant<Field> | undefined | void

/** A change that was made to an item, for `onCommitted`. */
export interface Committed<Item = Stored> {
  readonly family: string
  /** Such as `HoldDeal`, `CreateDeal` or `DeleteDeal`. */
  readonly action: string
  readonly id: Id
  readonly command: string
  readonly params: Readonly<Record<string, unknown>>
  readonly principal: string | undefined
  /** The revision of the item after it. */
  readonly revision: number
  /** When it was decided, `YYYY-MM-DDTHH:mm:ss.sssZ`. */
  readonly at: string
  /** Undefined for a creation. */
  readonly before: Item | undefined
  /** Undefined for a deletion. */
  readonly after: Item | undefined
}

/** A request, or a call of the service, for which items are read and written. */
export interface Caller {
  authorize (intent: Intent): Grant | Promise<Grant>
  /** The same caller for another family; undefined if that family is not mounted. */
  other (family: Family | string): { readonly family: Family, readonly caller: Caller } | undefined
  storage (): GuardedStorage | Promise<GuardedStorage>
  /** What the client has seen, if the request only shows something. Otherwise, and by default, undefined. */
  shows? (): { readonly seen: string | undefined } | undefined
  /** Aborts reads, and waiting to write. */
  readonly signal?: AbortSignal | undefined
  readonly makers: Makers
  /** Whether `authorize` decides what it may do. */
  readonly isGuarded: boolean
  /** Whether it is a program: if it is not guarded, it also sees commands of families that are not known here. */
  readonly isProgram?: boolean
  /** Logs an error that does not end the request. */
  report? (error: unknown, message: string, details?: object): void
  /** Runs a step, such as the commit, and may measure it. */
  readonly trace?: (<T>(step: string, work: () => Promise<T>) => Promise<T>) | undefined
  readonly committed?: ((change: Committed) => void) | undefined
}

export function intendToRead ({ name }: Family, id: Id | undefined, params: Members = {}): Intent {
  return { family: name, action: 'read', id, params }
}

export function intendToList ({ name }: Family, params: Members = {}): Intent {
  return { family: name, action: 'list', id: undefined, params }
}

/** Whether an item exists for a caller. */
export function canSee ({ where }: Grant, item: Stored | undefined): item is Stored {
  return item !== undefined && (where === undefined || holdsWhole(where)(item))
}

const grantRule = membersOf({
  principal: rules.word,
  where: Type.Array(rules.any, { description: 'a list of conditions' }),
  hide: Type.Array(Type.String(), { description: 'a list of fields, and paths in them' }),
  claims: Type.Unsafe({
    holds: (claims: unknown) => isObject(claims) && findJsonFlaw(claims) === undefined,
    description: 'an object, as JSON'
  }),
  offers: Type.Array(Type.String(), { description: 'a list of actions' })
})

/** A mistake in a grant could reveal too much, so it is an error. */
export function checkGrant (family: Family, granted: unknown): Grant {
  if (granted === undefined) return {}
  const flaw = findFlawInGrant(family, granted)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_GRANT(family.name, flaw)
  const { where } = granted as Grant
  if (!family.hasDecimals || where === undefined) return granted as Grant
  return { ...granted as Grant, where: numberDecimals(family.shape.fields, where) }
}

export function findFlawInPrincipal (name: string): string | undefined {
  return name === '' ? 'must not be empty' : findTextFlaw(name)
}

function findFlawInGrant (family: Family, granted: unknown): string | undefined {
  // Probably of a lookup that found nothing.
  if (granted === null) return 'returned null; to allow everything, it must return nothing'
  // A list, a Map or an error has none of these members, and would be a grant without limits.
  if (![Object.prototype, null].includes(Object.getPrototypeOf(granted))) {
    return 'must return nothing, or { principal, where, hide, claims, offers }'
  }
  const { principal, where, hide } = granted as Grant
  const unknown = Object.keys(granted as Grant).filter(name => !Object.hasOwn(grantRule.properties, name))
  // It may be a misspelt `where`, even if it is undefined.
  const wrong = findFlaw(grantRule, granted) ?? unknown.map(name => `unknown member "${name}"`)[0]
  if (wrong !== undefined) return `returned an invalid grant: ${wrong}`
  const flawOfName = principal === undefined ? undefined : findFlawInPrincipal(principal)
  if (flawOfName !== undefined) return `returned a principal that ${flawOfName}`
  const unhidable = hide && findFlawInHide(family, hide)
  if (unhidable !== undefined) return `returned "hide" with a wrong name: ${unhidable}`
  // It may be a rule that was not found, like conditions.
  if (hide === undefined && 'hide' in (granted as Grant)) return 'returned no names: "hide" must be a list of names'
  if (where === undefined) {
    // It may be a rule that was not found; to show everything, omit it or return an empty list.
    return 'where' in (granted as Grant) ? 'returned no conditions: "where" must be a list of conditions' : undefined
  }
  const flaw = findFlawInConditions(family.shape.fields, where)
  return flaw === undefined ? undefined : `returned ${flaw}`
}

export interface Makers {
  clock (): Date
  /** Undefined for the next integer, or a UUID. */
  readonly makeId: (() => Id) | undefined
  makeCommandId (): string
}

type MakerOptions = { readonly [K in keyof Makers]?: Makers[K] | undefined }

export function readMakers (family: Family, { clock, makeId = family.makeId, makeCommandId }: MakerOptions): Makers {
  const refuse = (flaw: string): Error => new errorCodes.FST_DEALBOOK_INVALID_OPTION(family.name, `the option ${flaw}`)
  return {
    clock () {
      if (clock === undefined) return new Date(now())
      const moment: unknown = clock()
      if (types.isDate(moment) && !Number.isNaN(moment.getTime())) return moment
      throw refuse('"clock" did not return a valid Date')
    },
    makeId: makeId && (() => {
      const id: unknown = makeId()
      if (id !== undefined && family.readId(String(id)) === id && isNewId(id as Id)) return id as Id
      const rule = family.idKind === 'integer' ? 'is a safe integer' : newIdRule
      throw refuse(`"makeId" returned ${inspect(id)}; an id ${rule}`)
    }),
    makeCommandId () {
      if (makeCommandId === undefined) return uuidv7()
      const id: unknown = makeCommandId()
      if (typeof id === 'string' && isTextId(id)) return id
      throw refuse(`"makeCommandId" returned ${JSON.stringify(id)}; a command id ${textIdRule}`)
    }
  }
}
