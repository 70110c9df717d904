import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifyRequest, RegisterOptions } from 'fastify'
import { errorCodes } from '../../core/errors.js'
import type { Family } from '../../core/family/family.js'
import type { Committed, Granted, Intent } from '../../core/service/caller.js'
import { isStorage } from '../../core/service/storage-access.js'
import type { Storage, Stored } from '../../core/storage/storage.js'
import { findFlaw, membersOf, oneOf, rules } from '../../core/values/rules.js'
import type { Representation } from '../../representations/representation.js'
import { type FormName, forms } from '../forms/forms.js'

/** Options to register a family with these items; conditions are on its fields. */
export interface FamilyOptions<Item = Stored, Field extends string = string> {
  /** The storage, or a function that chooses one by request, such as one per tenant, or throws a problem. */
  readonly storage: Storage | ((request: FastifyRequest) => Storage | Promise<Storage>)
  /** Fastify's prefix, before all paths. */
  readonly prefix?: string
  /** With a version, the family is at `/rest/{version}/{name}`, without it at `/{name}`. */
  readonly version?: string
  /** Whether `{prefix}/` lists the families, unless the host has that route. Default: if the prefix is not empty. */
  readonly home?: boolean
  /** The forms of operations to mount. Default: all. */
  readonly forms?: readonly FormName[]
  /** Items per page unless the client asks for a number. Default 50. */
  readonly pageSize?: number
  /** Maximum of items per page; `page` may skip fifty times as many, at least 50,000. Default 1000. */
  readonly maxPageSize?: number
  /**
   * Milliseconds for a read or a write, then 503. Each part of an export may take that long, and its client three times
   * as long to receive it. Default 10,000. The time of `authorize` counts, but it is not interrupted.
   */
  readonly timeout?: number
  /** Whether an empty list is a page without items, or 404. Default `page`. */
  readonly emptyList?: 'page' | 'not-found'
  /** Whether a write must send If-Match; without it 428. Default `optional`. */
  readonly preconditions?: 'optional' | 'required'
  /** Maximum of commands in one `POST /rest/commands`; of several families there, the least counts. Default 100. */
  readonly maxCommands?: number
  /** Origins, such as `https://example.org`, whose pages may send form posts here. Default: none. */
  readonly trustedOrigins?: readonly string[]
  /** Whether `/rest/commands`, `/command` and `/query` use this mount. Default: the first of the family at a prefix. */
  readonly unversioned?: boolean
  /**
   * Called before anything is read or written; the error it throws becomes the response. If the operation depends on
   * the item (the attribute form, a command read by its id), it is called to read and then for the operation. A path
   * such as `…/a.json` may name the item `a.json` or `a`: it is called for each. It is also called to read before a
   * write shows the item, and tentatively for each operation on offer.
   */
  readonly authorize?: (request: FastifyRequest, intent: Intent) => Granted<Field> | Promise<Granted<Field>>
  /** Called after every change, when it is durable; an error it throws is only logged. */
  onCommitted? (change: Committed<Item>, request: FastifyRequest): void | Promise<void>
  /** The current time, for decisions and `sunset`; for tests. Default: the time of the machine. */
  readonly clock?: () => Date
  /** Makes the id of a command that has none, and the key of a form. Default: a UUID of version 7. */
  readonly makeCommandId?: () => string
  /** Maximum bytes of a body, whatever the host's limit; allows 1000 members in all per full MiB. Default 1 MiB. */
  readonly bodyLimit?: number
  /** Since when this version is deprecated; announced in every response. */
  readonly deprecation?: Date | string
  /** When this version ends; from then on 410. */
  readonly sunset?: Date | string
  /** The URL of the next version. */
  readonly successor?: string
  /** The representations on offer; the first is the default. */
  readonly representations?: readonly Representation[]
  /** Makes Location and links absolute, such as `https://example.org`; include a path that a proxy strips. */
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
  timeout: time,
  emptyList: oneOf('page', 'not-found'),
  preconditions: oneOf('optional', 'required'),
  maxCommands: size,
  trustedOrigins: Type.Array(Type.String({ pattern: '^https?://[^/?#\\s]+$' }), {
    description: 'a list of origins, such as "https://example.org"'
  }),
  unversioned: flag,
  home: flag,
  authorize: callback,
  onCommitted: callback,
  clock: callback,
  makeCommandId: callback,
  bodyLimit: size,
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

export function checkOptions (family: Family, prefix: string, options: FamilyOptions): void {
  // Options of Fastify.
  const { logLevel, logSerializers, ...ours } = options as FamilyOptions & RegisterOptions
  const { pageSize = 1, maxPageSize = 1000, version, representations } = ours
  const flaw = findFlaw(optionsRule, ours, 'option') ??
    (representations === undefined ? undefined : findFlawInRepresentations(representations)) ??
    (family.versioned && version === undefined ? 'the option "version" is required, such as "v1"' : undefined) ??
    (pageSize > maxPageSize ? 'the option "pageSize" must not be above "maxPageSize"' : undefined) ??
    findFlawInPrefix(prefix)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(family.name, flaw)
}

// Of two parameters with the same name, the last one wins: a storage would be chosen by the id of an item.
const ownParameters = ['id', 'command', 'extension', 'parameter', 'word']

function findFlawInPrefix (prefix: string): string | undefined {
  // Two colons are an escaped colon.
  const names = Array.from(prefix.replaceAll('::', '').matchAll(/:(\w+)/g), ([, name]) => name as string)
  const taken = names.find(name => ownParameters.includes(name))
  if (taken === undefined) return undefined
  return `the prefix "${prefix}" has a parameter "${taken}", which is reserved; use a name other than ` +
    ownParameters.join(', ')
}

function findFlawInRepresentations (list: readonly Representation[]): string | undefined {
  const option = 'the option "representations"'
  if (!Array.isArray(list) || !list.some(each => each?.problem !== undefined)) {
    return `${option} must be a list of representations, one of which shows problems`
  }
  for (const [index, { name, extension, mediaTypes, one, page, rows }] of list.entries()) {
    for (const [member, word] of [['name', name], ['extension', extension]] as const) {
      const isTaken = list.slice(0, index).some(each => each[member] === word)
      if (isTaken) return `${option} must not have duplicates: two of them have the ${member} "${word}"`
      if (/^[A-Za-z0-9_-]+$/.test(word)) continue
      return `${option} has the ${member} "${word}", which must be letters, digits, hyphens and underscores`
    }
    if (!Array.isArray(mediaTypes) || mediaTypes.length === 0) return `${option} is wrong: "${name}" needs a media type`
    const odd = mediaTypes.find(type => !/^[\w.+-]+\/[\w.+-]+$/.test(type))
    if (odd !== undefined) {
      return `${option} is wrong: "${name}" has the media type "${odd}", which must have a form such as application/xml`
    }
    if ((one ?? page ?? rows) === undefined) return `${option} is wrong: "${name}" shows nothing`
  }
  return undefined
}
