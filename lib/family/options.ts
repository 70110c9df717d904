import type { FastifyRequest } from 'fastify'
import { nearest } from '../values/nearest.js'
import type { Representation } from '../representations/representation.js'
import type { Condition, Id, Storage } from '../storage/storage.js'

/** What a request is about to do, for `authorize`. */
export interface Intent {
  readonly family: string
  /** `list`, `read`, or the action of a command. */
  readonly action: string
  readonly id: Id | undefined
  readonly params: Readonly<Record<string, unknown>>
}

/** What `authorize` may give back. */
export interface Grant {
  /** Who asks: replays of commands are bound to this name. */
  readonly principal?: string
  /** Conditions that every read and write of this request obeys: what does not meet them is not there. */
  readonly where?: readonly Condition[]
}

/** How a host mounts a family. */
export interface FamilyOptions {
  /** Where the items live; a function chooses one by request, for one storage per tenant. */
  readonly storage: Storage | ((request: FastifyRequest) => Storage)
  /** Fastify's own: the path that everything stands under. */
  readonly prefix?: string
  /** With it the family lives at `/rest/{version}/{name}`, without it at `/{name}`. */
  readonly version?: string
  /** Items on a page where the client does not say. Default 50. */
  readonly pageSize?: number
  /** Items on a page at most. Default 1000. */
  readonly maxPageSize?: number
  /** What an empty list is: a page without items, or 404. Default `page`. */
  readonly emptyList?: 'page' | 'not-found'
  /** Called before anything is read or written; what it throws is the answer. */
  readonly authorize?: (request: FastifyRequest, intent: Intent) => Grant | undefined | void | Promise<Grant | undefined | void>
  /** How items can be shown; the first is shown where the client does not care. */
  readonly representations?: readonly Representation[]
  /** An origin such as `https://example.org` that makes Location and links absolute. */
  readonly publicUrl?: string
}

type Check = (value: unknown) => string | undefined

const size: Check = value => Number.isSafeInteger(value) && (value as number) >= 1 ? undefined : 'must be an integer from 1'

const checks: Record<keyof FamilyOptions, Check> = {
  storage: value => typeof value === 'function' || isStorage(value) ? undefined : 'must be a storage, such as memoryStorage(), or a function that gives one',
  prefix: value => typeof value === 'string' ? undefined : 'must be a string',
  version: value => typeof value === 'string' && /^[A-Za-z0-9._~-]+$/.test(value) ? undefined : 'must be a URL-safe word, such as "v1"',
  pageSize: size,
  maxPageSize: size,
  emptyList: value => value === 'page' || value === 'not-found' ? undefined : 'must be "page" or "not-found"',
  authorize: value => typeof value === 'function' ? undefined : 'must be a function',
  representations: value => Array.isArray(value) && value.some(each => each?.problem !== undefined) ? undefined : 'must be a list of representations, one of which shows problems',
  publicUrl: value => typeof value === 'string' && /^https?:\/\/[^/?#\s]+$/.test(value) ? undefined : 'must be an http or https origin, such as "https://example.org"'
}

// Fastify's own options of register.
const fastifyOptions = ['logLevel', 'logSerializers']

/** Checks a mount's options; an unknown or wrong one is an error that names it. */
export function checkOptions (family: string, options: FamilyOptions): void {
  const fail = (what: string): never => { throw new TypeError(`fastify-dealbook, ${family}: ${what}`) }
  for (const [name, value] of Object.entries(options)) {
    if (fastifyOptions.includes(name) || value === undefined) continue
    if (!Object.hasOwn(checks, name)) {
      const meant = nearest(name, Object.keys(checks))
      fail(`unknown option "${name}"${meant === undefined ? '' : `, did you mean "${meant}"?`}`)
    }
    const flaw = checks[name as keyof FamilyOptions](value)
    if (flaw !== undefined) fail(`the option "${name}" ${flaw}`)
  }
  if (options.storage === undefined) fail('the option "storage" is required')
  if ((options.pageSize ?? 1) > (options.maxPageSize ?? 1000)) fail('the option "pageSize" must not be above "maxPageSize"')
}

function isStorage (value: unknown): boolean {
  const methods = ['prepare', 'find', 'get', 'commit', 'close'] as const
  return typeof value === 'object' && value !== null && methods.every(name => typeof (value as Storage)[name] === 'function')
}
