import type { Static, TObject, TProperties } from '@sinclair/typebox'
import type {
  FastifyBaseLogger, FastifyInstance, FastifyPluginAsync, FastifyRequest, FastifyTypeProvider, RawServerBase,
  RawServerDefault, RegisterOptions
} from 'fastify'
import fp from 'fastify-plugin'
import type { Book } from '../../core/book/book.js'
import type { Definitions } from '../../core/definitions/definitions.js'
import type { AnyExtension, FamilyExtension } from '../../core/definitions/extension.js'
import { errorCodes } from '../../core/errors.js'
import { compileFamily } from '../../core/family/compile.js'
import type {
  FamilyDefinition, FieldName, OperationParams
} from '../../core/family/definition.js'
import {
  type AnyFamily, type Family, hasFieldsOf, keepFamily, listNeeded, listShapes, type Renaming
} from '../../core/family/family.js'
import type { KnownFields, KnownResult } from '../../core/family/known-fields.js'
import type { NewNames, Renamed, RenamedName, RenamedReferences } from '../../core/family/renamed-types.js'
import type {
  AnyTypes, FamilyTypes, FieldsOf, ItemOf, KnownField, MemberIn, MemberName
} from '../../core/family/types.js'
import { readMakers } from '../../core/service/caller.js'
import type { ServiceOptions } from '../../core/service/service.js'
import { checkMappedFamilies, makeStorageAccess } from '../../core/service/storage-access.js'
import type { Representation } from '../../representations/representation.js'
import type { FamilyMount } from '../../representations/target.js'
import { isolateScope, parseForms, parseJson } from '../body.js'
import { documentActions } from '../forms/commands.js'
import { forms, writeEndpoints } from '../forms/forms.js'
import { findNeighbours, keepMount, type Mount, type MountParts, type Neighbours, Streams } from '../mount.js'
import { makeChooser } from '../negotiate.js'
import { collectionEndpoints, queryEndpoints } from '../reads/collection.js'
import { mountHome } from '../reads/home.js'
import { itemEndpoints, operationsEndpoints } from '../reads/item.js'
import { logEndpoints } from '../reads/log.js'
import { readSeen } from '../reads/read.js'
import { sendProblem } from '../reply.js'
import { makeUrls } from '../request.js'
import { announceRetirement, type Endpoint, mountEndpoints, namePlugin, type RouteSettings } from '../routes.js'
import { makeCallers } from './callers.js'
import { showMount } from './mounts.js'
import { compileGrammars, makeNarrowing } from './narrowed.js'
import { checkOptions, type FamilyOptions } from './options.js'
import { answerUnknown, mountUnknown } from './unknown.js'

/** A family as a Fastify plugin; you can register it any number of times. */
// Of two call signatures, `register` of Fastify takes the last, which knows the fields; the first fits any options.
export interface FamilyPlugin<
  Fields extends TProperties = TProperties,
  Params extends OperationParams = OperationParams,
  Types extends FamilyTypes = AnyTypes
> extends
  FastifyPluginAsync<FamilyOptions<ItemOf<Fields>>>,
  FastifyPluginAsync<FamilyOptions<ItemOf<Fields>, MemberName<Fields>>> {
  readonly definition: FamilyDefinition<Fields, Params> & MountHook
  /**
   * A new family with more fields, operations, edits and queries.
   *
   * @example
   * const ourDeals = deals.extend({
   *   fields: Type.Object({ region: Type.String() }),
   *   create: ['region']
   * })
   */
  extend<
    More extends TProperties = {}, MoreParams extends OperationParams = {},
    Edited extends FieldName<Fields & NoInfer<More>> = never,
    Created extends FieldName<Fields & NoInfer<More>> | 'id' = never,
    Referred = {}, With = {}, Creates = {}, Derived extends FieldName<Fields & NoInfer<More>> = never, Given = {},
    GivenInitial = {}
  > (
    extension: FamilyExtension<Fields, More, MoreParams, Edited, Created, Referred, With, Creates, Types, Derived> & {
      readonly operations?: Given &
        KnownFields<Given, Fields & More, MoreParams, With, Creates, Types['references'] & Referred>
      readonly initial?: GivenInitial & KnownResult<GivenInitial, Static<TObject<Fields & More>>, {}>
    }
  ): FamilyPlugin<Fields & More, Params & MoreParams, {
    created: Types['created'] | Created
    edited: Types['edited'] | Edited
    references: Types['references'] & Referred
    with: Types['with']
    sent: Types['sent']
  }>
  /**
   * The same items with different names, for another version: in bodies, queries, pointers, logs, pages and documents.
   * Rules and the storage have the names of this family. To extend it too, extend it first.
   *
   * @example
   * app.register(deals.rename({ name: 'title' }), { storage, version: 'v2' })
   * app.register(orders.rename({ 'lines.price': 'unitPrice' }), { storage, version: 'v2' })
   */
  rename<const Names> (
    names: NewNames<Fields, Names>
  ): FamilyPlugin<Renamed<Fields, Names>, Params, {
    created: RenamedName<Types['created'], Names>
    edited: RenamedName<Types['edited'], Names>
    references: RenamedReferences<Types['references'], Names>
    with: { [K in keyof Types['with']]: RenamedName<Types['with'][K], Names> }
    sent: Types['sent']
  }>
  /**
   * The family without HTTP, for jobs, scripts, tests and other protocols. It needs no Fastify.
   *
   * @example
   * const book = deals.service({ storage })
   * const { item } = await book.create({ name: 'Tea', price: 100 }, { principal: 'ann', key: 'order-17' })
   * await book.run('hold', item.id, { reason: 'Papers' }, { principal: 'ann', command: 'c-1', revision: 1 })
   */
  service<Name extends string> (
    options: ServiceOptions<KnownField<Name, MemberName<Fields>>>
  ): Book<Fields, Params, Types>
}

declare module 'fastify' {
  // A fourth overload: of more than three, TypeScript reports only the error of the last, not the same one three times.
  // A merged declaration must repeat all type parameters, used or not.
  /* eslint-disable @typescript-eslint/no-unused-vars */
  interface FastifyRegister<
    T = void,
    RawServer extends RawServerBase = RawServerDefault,
    TypeProviderDefault extends FastifyTypeProvider = FastifyTypeProvider,
    LoggerDefault extends FastifyBaseLogger = FastifyBaseLogger
  > {
    <Plugin extends AnyFamily & FastifyPluginAsync<never>, Name extends string> (
      plugin: Plugin,
      opts: RegisterOptions & FamilyOptions<ItemOf<FieldsOf<Plugin>>, KnownField<Name, MemberIn<Plugin>>>
    ): T
  }
  /* eslint-enable @typescript-eslint/no-unused-vars */
}

/** What a definition may do besides, where its family is registered. */
export interface MountHook {
  /**
   * Called for each registration of the family, to start what belongs to it: a sender, a job, more routes. `app` is a
   * scope beside the family, at the same prefix. Other families are complete in `onReady`, by `findMounts`. End what
   * you start in the hook `preClose`, before the host closes the storage.
   *
   * @example
   * onMount ({ family, storage }, app) {
   *   const ended = new AbortController()
   *   app.addHook('onReady', async () => { start(storage, family, ended.signal) })
   *   app.addHook('preClose', async () => { ended.abort() })
   * }
   */
  onMount? (mount: FamilyMount, app: FastifyInstance): void | Promise<void>
}

/** What a family has besides its definition. */
export interface FamilyParts extends MountParts {
  /** Checks definitions, and makes those of extensions and renamed versions. */
  readonly definitions: Definitions
  /** The book of a program. */
  makeService (family: Family, options: ServiceOptions): Book
  /** The representations of a mount without that option. */
  readonly representations: readonly Representation[]
  /** Describes the routes of a mount, in the scope that has them. */
  document (mount: FamilyMount, scope: FastifyInstance): void
}

export function makeFamily (
  definition: FamilyDefinition & MountHook, parts: FamilyParts, renaming?: Renaming
): AnyFamily {
  const { definitions } = parts
  definitions.check(definition)
  const family = compileFamily(definition, renaming)
  const name = `fastify-dealbook-${family.name}`
  // Called in the host's scope, by which families registered there find each other.
  const mountIn: FastifyPluginAsync<FamilyOptions> = async (scope, options) => {
    const { representations = parts.representations } = options
    let mounted: Mount | undefined
    const mount = namePlugin(name, async app => {
      mounted = await mountFamily(family, plugin, { ...options, representations }, parts, scope, app)
      parts.document(mounted.shown, app)
    })
    await scope.register(mount, options as RegisterOptions)
    if (definition.onMount === undefined) return
    await scope.register(namePlugin(`${name}-on-mount`, async app => {
      await definition.onMount?.((mounted as Mount).shown, app)
    }), options as RegisterOptions)
  }
  const plugin = Object.assign(fp(mountIn, { fastify: '5.x || 6.x', name }), {
    definition,
    extend (extension: AnyExtension) {
      if (renaming === undefined) return makeFamily(definitions.extend(definition, extension), parts)
      throw new errorCodes.FST_DEALBOOK_INVALID_EXTENSION(family.name, 'extend the family before you rename it')
    },
    rename (names: Readonly<Record<string, string>>) {
      const renamed = definitions.rename(definition, family, names)
      return makeFamily(renamed.definition, parts, renamed.renaming)
    },
    service: (options: ServiceOptions) => parts.makeService(family, options)
  })
  keepFamily(plugin, family)
  return plugin
}

type MountedOptions = FamilyOptions & Required<Pick<FamilyOptions, 'representations'>>

const mebibyte = 1_048_576

async function mountFamily (
  family: Family,
  plugin: AnyFamily,
  options: MountedOptions,
  parts: MountParts,
  scope: FastifyInstance,
  app: FastifyInstance
): Promise<Mount> {
  // /crm and /crm/ are the same prefix.
  const prefix = app.prefix.replace(/\/+$/, '')
  const neighbours = findNeighbours(scope, prefix)
  const mount = await makeMount(family, plugin, prefix, neighbours, options, parts)
  if (neighbours.mounts.some(({ home, family: { name } }) => home === mount.home && name === family.name)) {
    throw new errorCodes.FST_DEALBOOK_MOUNTED_TWICE(family.name, prefix + mount.home)
  }
  neighbours.mounts.push(mount)
  const { storage } = options
  // Only now are all families known; those of a storage chosen by request never are.
  app.addHook('onReady', async () => {
    if (typeof storage !== 'function') checkMappedFamilies(storage)
    const needed = checkNeighbours(mount)
    if (typeof storage !== 'function') await makeStorageAccess(needed.flatMap(listShapes))(storage)
  })
  // Before the server waits for its connections to end.
  app.addHook('preClose', async () => { mount.streams.close() })
  const { bodyLimit = mebibyte, maxCommands = 100 } = options
  const maxMembers = Math.max(1000 * Math.floor(bodyLimit / mebibyte), 10 * maxCommands, 1000)
  const limits = { maxMembers, maxDepth: 20 }
  isolateScope(app)
  parseJson(app, ['application/json', 'application/merge-patch+json'], limits)
  parseForms(app, limits)
  app.setErrorHandler((error, request, reply) => sendProblem(mount, error, request, reply))
  const isFirst = neighbours.actions.size === 0
  const endpoints = listEndpoints(mount, app)
  neighbours.endpoints.push(...endpoints.map(endpoint => ({ mount, endpoint })))
  const { shown, routes } = mount
  const unknown: Endpoint['handler'] = (request, reply) => answerUnknown(mount, request, reply)
  const settings: RouteSettings = { mount: shown, routes, bodyLimit, unknown }
  app.addHook('onRoute', route => { settings.declared = route })
  mountEndpoints(app, endpoints, settings)
  if (isFirst && neighbours.actions.size > 0) documentActions(app, settings, mount)
  mountHome(app, mount, settings, options.home)
  mountUnknown(app, mount)
  return mount
}

/** Those that this mount serves itself, also for others at its prefix. */
function listEndpoints (mount: Mount, app: FastifyInstance): Endpoint[] {
  const { feed } = mount.parts
  const all = [
    ...collectionEndpoints(mount),
    ...itemEndpoints(mount),
    ...writeEndpoints(mount),
    ...(mount.family.writable
      ? [feed.familyEndpoints, feed.deletedEndpoints, logEndpoints, operationsEndpoints, feed.sharedEndpoints]
      : []).flatMap(list => list(mount)),
    ...(mount.unversioned === false ? [] : queryEndpoints(mount))
  ]
  const paths = all.map(({ path }) => path)
  // Documents keep the routes of one path together.
  const sorted = all.sort((one, other) => paths.indexOf(one.path) - paths.indexOf(other.path))
  return sorted.flatMap(endpoint => {
    const { method, path } = endpoint
    // The host, or families in another scope, may have the feed or take many commands.
    const isShared = path.replace(/\.:extension$/, '') === '/rest/commands'
    if (isShared && app.hasRoute({ method, url: `${mount.prefix}/rest/commands` })) return []
    if (endpoint.sharedBy === 'families') return [endpoint]
    if (endpoint.sharedBy === 'versions') return mount.neighbours.addUnversioned(mount, endpoint)
    return [announceRetirement(endpoint, mount.retirement)]
  })
}

// Limits of one query: values of a parameter, patterns, their length, and their size.
const queryLimits = { maxValues: 100, maxPatterns: 5, maxPatternLength: 200, maxPatternSize: 200 }

/** Fails at boot rather than at a request. */
async function makeMount (
  family: Family,
  plugin: AnyFamily,
  prefix: string,
  neighbours: Neighbours,
  options: MountedOptions,
  parts: MountParts
): Promise<Mount> {
  checkOptions(family, prefix, options)
  const { version, representations } = options
  const home = version === undefined ? `/${family.name}` : `/rest/${version}/${family.name}`
  const { timeout = 10_000, maxPageSize = 1000, pageSize = Math.min(50, maxPageSize) } = options
  const limits = { ...queryLimits, pageSize, maxPageSize, maxSkipped: Math.max(50_000, 50 * maxPageSize) }
  const makers = readMakers(family, options)
  const caller = await makeCallers(family, options, makers, timeout, {
    other (other, request: FastifyRequest) {
      const found = neighbours.find(typeof other === 'string' ? other : other.name, mount)
      const needed = typeof other === 'string' ? undefined : other
      return found && { family: found.family, caller: found.caller(request, needed) }
    },
    shows: readSeen
  })
  const mounted = new Set(options.forms ?? forms.map(({ name }) => name))
  let shown: FamilyMount | undefined
  let as: Mount['as'] | undefined
  const mount: Mount = {
    family,
    plugin,
    options,
    parts,
    prefix,
    neighbours,
    storage: options.storage,
    version,
    home,
    urls: makeUrls(prefix, home, options.publicUrl),
    ...compileGrammars(family, limits),
    streams: new Streams(),
    representations,
    chooser: makeChooser(representations),
    emptyList: options.emptyList ?? 'page',
    exportTimeout: 3 * timeout,
    preconditions: options.preconditions ?? 'optional',
    maxCommands: options.maxCommands,
    forms: mounted,
    recommendedForm: forms.find(({ name }) => mounted.has(name))?.name,
    routes: [],
    trustedOrigins: options.trustedOrigins ?? [],
    unversioned: options.unversioned,
    retirement: readRetirement(options, makers.clock),
    isGuarded: options.authorize !== undefined,
    makers,
    caller,
    get as () {
      as ??= makeNarrowing(mount)
      return as
    },
    book: request => parts.openBook(mount, request),
    get shown () {
      shown ??= keepMount(showMount(mount), mount)
      return shown
    }
  }
  return mount
}

function readRetirement (
  { deprecation, sunset, successor }: MountedOptions, clock: Mount['makers']['clock']
): Mount['retirement'] {
  return {
    deprecation: deprecation === undefined ? undefined : new Date(deprecation),
    sunset: sunset === undefined ? undefined : new Date(sunset),
    successor,
    clock
  }
}

/**
 * Throws if an operation needs a family that is not mounted at the same prefix, or is in a different storage. Returns
 * those of which only a version with fewer fields is mounted.
 */
function checkNeighbours (mount: Mount): Family[] {
  const { family, neighbours, storage } = mount
  const narrowed = new Set<Family>()
  for (const { name, families } of listNeeded(family)) {
    for (const needed of families) {
      if (needed.name === family.name) continue
      const found = neighbours.find(needed.name, mount)
      if (found === undefined) throw new errorCodes.FST_DEALBOOK_NO_NEIGHBOUR(family.name, needed.name)
      if (found.storage !== storage) throw new errorCodes.FST_DEALBOOK_OTHER_STORAGE(family.name, name, needed.name)
      if (!hasFieldsOf(found.family, needed)) narrowed.add(needed)
    }
  }
  for (const [field, { name }] of [...family.references, ...family.pathReferences]) {
    const found = neighbours.find(name, mount)
    if (found === undefined) continue
    if (found.storage !== storage) throw new errorCodes.FST_DEALBOOK_REFERENCE_STORAGE(family.name, field, name)
    if (!mount.isGuarded || found.isGuarded) continue
    process.emitWarning(`fastify-dealbook: ${family.name} has authorize, but ${name}, which its field "${field}" ` +
      `refers to, has none: all clients may read and change ${name}`, { code: 'DEALBOOK_UNGUARDED' })
  }
  return [...narrowed]
}
