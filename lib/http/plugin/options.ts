import type { FastifyRequest } from 'fastify'
import { errorCodes } from '../../core/errors.js'
import type { Family } from '../../core/family/family.js'
import type { Committed, Granted, Intent } from '../../core/service/caller.js'
import { isStorage } from '../../core/service/storage-access.js'
import type { Storage, Stored } from '../../core/storage/storage.js'
import type { Check } from '../../core/values/checks.js'
import { checkBoolean, checkDate, checkFunction, checkSize, checkTime } from '../../core/values/checks.js'
import { didYouMean } from '../../core/values/nearest.js'
import type { Representation } from '../../representations/representation.js'
import type { FormName } from '../forms/forms.js'
import { forms } from '../forms/forms.js'
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
  /** Items on a page at most; `page` may pass over fifty times as many, or 50,000. Default 1000. */
  readonly maxPageSize?: number
  /**
   * Milliseconds that a read, or a write, may take; then 503. Each part of an export may take so long, and a client
   * three times as long to take it. Default 10,000. What `authorize` takes counts, but is not ended by it.
   */
  readonly timeout?: number
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
  /** The time of what is decided, and for `sunset`, for tests. Default: that of the machine. */
  readonly clock?: () => Date
  /** Makes the id of a command that the client gave none, and the key of a form. Default: a UUID of version 7. */
  readonly makeCommandId?: () => string
  /**
   * The size of a body in bytes at most, whatever the host's own limit is. Default 1 MiB. A body has at most 1000
   * members and elements, those of all levels together; where this is more than a MiB, as many for each.
   */
  readonly bodyLimit?: number
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

const formNames: readonly unknown[] = forms.map(({ name }) => name)

const checks: Record<keyof FamilyOptions, Check> = {
  storage: value => typeof value === 'function' || isStorage(value)
    ? undefined
    : 'must be a storage, such as memoryStorage(), or a function that gives one',
  prefix: value => typeof value === 'string' ? undefined : 'must be a string',
  version: value => typeof value === 'string' && /^(?!\.+$)[A-Za-z0-9._~-]+$/.test(value) && value !== 'commands'
    ? undefined
    : 'must be a URL-safe word, such as "v1", and not "commands"',
  forms: value => Array.isArray(value) && value.every(name => formNames.includes(name))
    ? undefined
    : `must be a list of these: ${formNames.join(', ')}`,
  pageSize: checkSize,
  maxPageSize: checkSize,
  timeout: checkTime,
  emptyList: value => value === 'page' || value === 'not-found' ? undefined : 'must be "page" or "not-found"',
  preconditions: value => value === 'optional' || value === 'required' ? undefined : 'must be "optional" or "required"',
  trustedOrigins: value => Array.isArray(value) && value.every(isOrigin)
    ? undefined
    : 'must be a list of origins, such as "https://example.org"',
  unversioned: checkBoolean,
  home: checkBoolean,
  authorize: checkFunction,
  onCommitted: checkFunction,
  clock: checkFunction,
  makeCommandId: checkFunction,
  bodyLimit: checkSize,
  deprecation: checkDate,
  sunset: checkDate,
  successor: value => typeof value === 'string' && value !== '' ? undefined : 'must be a URL',
  representations: findRepresentationsFlaw,
  publicUrl: value => typeof value === 'string' && /^https?:\/\/[^/?#\s]+(?:\/[^?#\s]*)?$/.test(value)
    ? undefined
    : 'must be an http or https URL without a query, such as "https://example.org" or "https://example.org/api"'
}

// Fastify's own options of register.
const fastifyOptions = ['logLevel', 'logSerializers']

/** Checks a mount's options; an unknown or wrong one is an error that names it. */
export function checkOptions (family: Family, prefix: string, options: FamilyOptions): void {
  const flaw = findFlaw(family, options) ?? findFlawInPrefix(prefix)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(family.name, flaw)
}

function findFlaw (family: Family, options: FamilyOptions): string | undefined {
  for (const [name, value] of Object.entries(options)) {
    if (fastifyOptions.includes(name) || value === undefined) continue
    if (!Object.hasOwn(checks, name)) return `unknown option "${name}".${didYouMean(name, Object.keys(checks))}`
    const flaw = checks[name as keyof FamilyOptions](value)
    if (flaw !== undefined) return `the option "${name}" ${flaw}`
  }
  if (options.storage === undefined) return 'the option "storage" is required'
  if (family.versioned && options.version === undefined) return 'the option "version" is required, such as "v1"'
  const { pageSize = 1, maxPageSize = 1000 } = options
  return pageSize > maxPageSize ? 'the option "pageSize" must not be above "maxPageSize"' : undefined
}

function isOrigin (value: unknown): boolean {
  return typeof value === 'string' && /^https?:\/\/[^/?#\s]+$/.test(value)
}

// Of two parameters with one name the last counts, and a storage would be chosen by the id of an item.
const ownParameters = ['id', 'command', 'extension', 'parameter']

function findFlawInPrefix (prefix: string): string | undefined {
  // Two colons are one that begins no parameter.
  const names = Array.from(prefix.replaceAll('::', '').matchAll(/:(\w+)/g), ([, name]) => name as string)
  const taken = names.find(name => ownParameters.includes(name))
  if (taken === undefined) return undefined
  return `the prefix "${prefix}" has a parameter "${taken}", which is ours; name it otherwise than ` +
    ownParameters.join(', ')
}
