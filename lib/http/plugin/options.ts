import type { TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest, RegisterOptions } from 'fastify'
import { errorCodes } from '../../core/errors.js'
import type { Family } from '../../core/family/family.js'
import type { Committed, Granted, Intent } from '../../core/service/caller.js'
import { isStorage } from '../../core/service/storage-access.js'
import type { Id, Storage, Stored } from '../../core/storage/storage.js'
import { findFlaw, membersOf, oneOf, rules } from '../../core/values/rules.js'
import type { Representation } from '../../representations/representation.js'
import type { FormName } from '../forms/forms.js'
import { forms } from '../forms/forms.js'
import { findFlawInPrefix } from './check-prefix.js'
import { findRepresentationsFlaw } from './default-representations.js'

/** How a host mounts a family with items `I`. */
export interface FamilyOptions<I = Stored> {
  /**
   * Where the items live; a function chooses one by request, for one storage per tenant, or throws a problem where
   * there is none.
   */
  readonly storage: Storage | ((request: FastifyRequest) => Storage | Promise<Storage>)
  /** Fastify's own: the path that everything stands under. */
  readonly prefix?: string
  /** With it the family lives at `/rest/{version}/{name}`, without it at `/{name}`. */
  readonly version?: string
  /** Whether `{prefix}/` lists the families, where the host has no route. Default: where the prefix is not empty. */
  readonly home?: boolean
  /** The forms in which operations can be said. Default: all. */
  readonly forms?: readonly FormName[]
  /** Items on a page where the client does not say. Default 50. */
  readonly pageSize?: number
  /** Items on a page at most. Default 1000. */
  readonly maxPageSize?: number
  /** Items that `page` may pass over; beyond, 400. Default 50,000, so that page 1000 of 50 is given. */
  readonly maxSkipped?: number
  /**
   * Milliseconds that a read, or a write, may take; then 503. Each part of an export may take so long. Default 10,000.
   * What `authorize` takes counts, but is not ended by it.
   */
  readonly timeout?: number
  /** Milliseconds that an export, or a large answer, waits for a client that does not read. Default 30,000. */
  readonly exportTimeout?: number
  /** What an empty list is: a page without items, or 404. Default `page`. */
  readonly emptyList?: 'page' | 'not-found'
  /** Whether a write must say, by If-Match, what it was decided on; without it 428. Default `optional`. */
  readonly preconditions?: 'optional' | 'required'
  /** Origins, such as `https://example.org`, whose pages may send form posts here. Default: none. */
  readonly trustedOrigins?: readonly string[]
  /**
   * Whether `/rest/commands`, `/command` and `/query` are for this mount. Default: of several mounts of one family at
   * one prefix, for the first.
   */
  readonly unversioned?: boolean
  /**
   * Called before anything is read or written; what it throws is the answer. Where only the item shows what is meant
   * (the attribute form, a command that is read by its own id), it is called to read, and again when that is known. A
   * path such as `…/a.json` may name an item `a.json` or `a`: it is asked for each. It is asked to read before a write
   * shows the item, and tentatively for each operation that is offered.
   */
  readonly authorize?: (request: FastifyRequest, intent: Intent) => Granted | Promise<Granted>
  /** Called after every change, when it is durable; what it throws is logged and fails nothing. */
  onCommitted? (change: Committed<I>, request: FastifyRequest): void | Promise<void>
  /** Writers that may wait for one item; one more is answered 503. Default 100. */
  readonly maxWaitingPerItem?: number
  /** Writers that may wait in all, whoever shares the storage. Default 1000. */
  readonly maxWaiting?: number
  /** The time of what is decided, and for `sunset`, for tests. Default: that of the machine. */
  readonly clock?: () => Date
  /** Makes the id of a new item, in place of the definition's `makeId`. */
  readonly makeId?: () => Id
  /** Makes the id of a command that the client gave none, and the key of a form. Default: a UUID of version 7. */
  readonly makeCommandId?: () => string
  /** How often one query parameter may be repeated. Default 100. */
  readonly maxValues?: number
  /** `.regex` patterns and `.has` texts in one query at most, over all fields. Default 5. */
  readonly maxPatterns?: number
  /** The length of a `.regex` pattern, or a `.has` text, at most. Default 200. */
  readonly maxPatternLength?: number
  /**
   * The size of a `.regex` pattern: its characters, with its repetitions written out; a class of Unicode (`\pL`) counts
   * for several. Default 200.
   */
  readonly maxPatternSize?: number
  /** The size of a body in bytes at most. Default 1 MiB, whatever the host's own limit is. */
  readonly bodyLimit?: number
  /** Members and elements in a body at most, those of all levels together. Default 1000. */
  readonly maxMembers?: number
  /** How deep a body may be nested. Default 20. */
  readonly maxDepth?: number
  /** How many flaws a problem names; of the others, the number. Default 20. */
  readonly maxFlaws?: number
  /** Since when this version is deprecated: a date, or its text. Said in every answer. */
  readonly deprecation?: Date | string
  /** When this version ends: from then on, 410. */
  readonly sunset?: Date | string
  /** The URL of what takes its place. */
  readonly successor?: string
  /** How items can be shown; the first is shown where the client does not care. */
  readonly representations?: readonly Representation[]
  /**
   * An origin such as `https://example.org` that makes Location and links absolute; with a path, such as
   * `https://example.org/api`, where a proxy strips it.
   */
  readonly publicUrl?: string
}

const { callback, date, flag, size, text, time } = rules
const formNames: readonly string[] = forms.map(({ name }) => name)

const optionsRule = membersOf({
  storage: Type.Unsafe({
    holds: (value: unknown) => typeof value === 'function' || isStorage(value),
    description: 'a storage, such as memoryStorage(), or a function that returns one'
  }),
  prefix: Type.String({ description: 'a string' }),
  version: Type.String({
    pattern: '^(?!\\.+$|commands$)[A-Za-z0-9._~-]+$',
    description: 'a URL-safe word, such as "v1", and not "commands"'
  }),
  forms: Type.Array(oneOf(...formNames), { description: `a list of these: ${formNames.join(', ')}` }),
  pageSize: size,
  maxPageSize: size,
  maxSkipped: size,
  timeout: time,
  exportTimeout: time,
  emptyList: oneOf('page', 'not-found'),
  preconditions: oneOf('optional', 'required'),
  trustedOrigins: Type.Array(Type.String({ pattern: '^https?://[^/?#\\s]+$' }), {
    description: 'a list of origins, such as "https://example.org"'
  }),
  unversioned: flag,
  home: flag,
  authorize: callback,
  onCommitted: callback,
  clock: callback,
  makeId: callback,
  makeCommandId: callback,
  maxWaitingPerItem: size,
  maxWaiting: size,
  maxValues: size,
  maxPatterns: size,
  maxPatternLength: size,
  maxPatternSize: size,
  bodyLimit: size,
  maxMembers: size,
  maxDepth: size,
  maxFlaws: size,
  deprecation: date,
  sunset: date,
  successor: text,
  // Checked below.
  representations: rules.any,
  publicUrl: Type.String({
    pattern: '^https?://[^/?#\\s]+(?:/[^?#\\s]*)?$',
    description: 'an http or https URL without a query, such as "https://example.org" or "https://example.org/api"'
  })
} satisfies Record<keyof FamilyOptions, TSchema>, ['storage'])

/** Checks a mount's options; an unknown or wrong one is an error that names it. */
export function checkOptions (family: Family, prefix: string, options: FamilyOptions): void {
  const flaw = findFlawInOptions(family, options) ?? findFlawInPrefix(prefix)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(family.name, flaw)
}

function findFlawInOptions (family: Family, options: FamilyOptions & RegisterOptions): string | undefined {
  // These are Fastify's own.
  const { logLevel, logSerializers, ...ours } = options
  const { pageSize = 1, maxPageSize = 1000, version, representations } = ours
  const flaw = findFlaw(optionsRule, ours, 'option')
  if (flaw !== undefined) return flaw
  const wrong = representations === undefined ? undefined : findRepresentationsFlaw(representations)
  if (wrong !== undefined) return `the option "representations" ${wrong}`
  if (family.versioned && version === undefined) return 'the option "version" is required, such as "v1"'
  return pageSize > maxPageSize ? 'the option "pageSize" must not be above "maxPageSize"' : undefined
}
