import type { FastifyRequest } from 'fastify'
import { makeChooser } from '../../http/negotiate.js'
import type { Chooser } from '../../http/negotiate.js'
import type { Retirement } from '../../http/retirement.js'
import { compileGrammar } from '../../query/grammar.js'
import type { Grammar } from '../../query/grammar.js'
import { representations as all } from '../../representations/all.js'
import type { Representation } from '../../representations/representation.js'
import type { Storage } from '../../storage/storage.js'
import { guard, makeAccess } from './access.js'
import { CommandMembers, commandsShape } from '../model/command.js'
import { checkGrant } from './grant.js'
import type { Family } from '../model/family.js'
import { checkOptions, formNames, isStorage } from './options.js'
import type { FamilyOptions, FormName, Grant, Intent } from './options.js'
import { fieldsOf } from '../model/shape.js'
import { makeUrls } from './urls.js'
import type { Urls } from './urls.js'

/** One registration of a family in an application: everything that its requests need. */
export interface Mount {
  readonly family: Family
  readonly prefix: string
  readonly version: string | undefined
  /** The path of the collection after the prefix. */
  readonly home: string
  readonly urls: Urls
  readonly grammar: Grammar
  /** Of the log: its default order is that of the changes. */
  readonly logGrammar: Grammar
  readonly representations: readonly Representation[]
  readonly chooser: Chooser
  readonly emptyList: 'page' | 'not-found'
  readonly preconditions: 'optional' | 'required'
  readonly forms: ReadonlySet<FormName>
  readonly trustedOrigins: readonly string[]
  /** Whether it asks for the paths without a version. */
  readonly unversioned: boolean
  readonly bodyLimit: number
  readonly retirement: Retirement
  readonly onCommitted: FamilyOptions['onCommitted']
  storage (request: FastifyRequest): Promise<Storage>
  authorize (request: FastifyRequest, intent: Intent): Promise<Grant>
}

const unlimited: Grant = {}

const logOrder = [{ field: 'revision', descending: false }, { field: 'createdAt', descending: false }]

/** Checks the options and prepares the storage, so that what is wrong stops the boot and not a request. */
export async function makeMount (family: Family, prefix: string, options: FamilyOptions): Promise<Mount> {
  checkOptions(family, options)
  const { storage, version, authorize, emptyList = 'page', representations = all } = options
  const home = version === undefined ? `/${family.name}` : `/rest/${version}/${family.name}`
  const access = makeAccess(family.writable ? [family.shape, commandsShape] : [family.shape])
  const single = typeof storage === 'function' ? undefined : await access(storage)
  const { maxPageSize = 1000, pageSize = Math.min(50, maxPageSize), maxValues = 100, maxPatternLength = 200 } = options
  const limits = { pageSize, maxPageSize, maxValues, maxPatternLength }

  return {
    family,
    prefix,
    version,
    home,
    urls: makeUrls(prefix, home, options.publicUrl?.replace(/\/$/, '')),
    grammar: compileGrammar(family.fields, limits),
    logGrammar: compileGrammar(fieldsOf(CommandMembers), limits, logOrder),
    representations,
    chooser: makeChooser(representations),
    emptyList,
    preconditions: options.preconditions ?? 'optional',
    forms: new Set(options.forms ?? formNames),
    trustedOrigins: options.trustedOrigins ?? [],
    unversioned: options.unversioned ?? false,
    bodyLimit: options.bodyLimit ?? 1_048_576,
    retirement: { deprecation: toDate(options.deprecation), sunset: toDate(options.sunset), successor: options.successor },
    onCommitted: options.onCommitted,
    async storage (request) {
      if (single !== undefined) return single
      const chosen = await (storage as (request: FastifyRequest) => Storage | Promise<Storage>)(request)
      if (!isStorage(chosen)) throw new TypeError(`fastify-dealbook, ${family.name}: the function "storage" gave back no storage; where there is none, it should throw a problem`)
      return await guard(() => access(chosen))
    },
    authorize: async (request, intent) => authorize === undefined ? unlimited : checkGrant(family, await authorize(request, intent))
  }
}

function toDate (value: Date | string | undefined): Date | undefined {
  return value === undefined ? undefined : new Date(value)
}
