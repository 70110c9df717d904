import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { FamilyModel } from '../../core/book/describe.js'
import { askWhatIsSeen, listActions } from '../../core/book/offers.js'
import { errorCodes } from '../../core/errors.js'
import type { Family } from '../../core/family/family.js'
import { getWhole } from '../../core/family/narrow.js'
import { makeState } from '../../core/family/states.js'
import type { Storage } from '../../core/storage/storage.js'
import type { FamilyMount } from '../../representations/target.js'
import { forms } from '../forms/forms.js'
import { listMounts, type Mount } from '../mount.js'
import { explainEnd, hasEnded } from '../routes.js'

/**
 * The families that are registered in a scope or, if it has none, in the nearest one around it. Complete in `onReady`.
 *
 * @param prefix only those at this prefix; default: all
 * @example
 * app.addHook('onReady', async () => {
 *   for (const { model, book } of findMounts(app, '/crm')) serve(model, book)
 * })
 */
export function findMounts (app: FastifyInstance, prefix?: string): readonly FamilyMount[] {
  const wanted = prefix?.replace(/\/+$/, '')
  return listMounts(app).filter(mount => wanted === undefined || mount.prefix === wanted).map(({ shown }) => shown)
}

/** Of several versions of a family, the one that has the paths without a version. */
function findDefault ({ neighbours: { mounts }, family: { name } }: Mount): Mount | undefined {
  const versions = mounts.filter(({ family }) => family.name === name)
  return versions.find(({ unversioned }) => unversioned === true) ??
    versions.find(({ unversioned }) => unversioned !== false) ?? versions.at(-1)
}

function findNewestFirst ({ family: { lifecycle, order }, makers }: Mount): string | undefined {
  const isGrowing = lifecycle !== undefined && !lifecycle.takesId && makers.makeId === undefined
  return isGrowing && order.length === 0 ? '-id' : undefined
}

function makeStateOf ({ state, presentation: { states } }: Family): FamilyMount['stateOf'] {
  const find = state ?? makeState(states)
  return item => {
    const name: unknown = find(item)
    return typeof name === 'string' && name !== '' ? name : undefined
  }
}

/** The mount, as hosts and representations see it. */
export function showMount (mount: Mount): FamilyMount {
  const { family, prefix, version, grammar, isGuarded, preconditions, storage, urls, book, makers } = mount
  const { pageSize, maxPageSize, maxSkipped } = grammar.limits
  let model: FamilyModel | undefined
  // Beside itself, it is as the caller sees it.
  const see = (found: Mount): FamilyMount => found.urls === urls ? mount.shown : found.shown
  return {
    family: mount.plugin as FamilyMount['family'],
    options: mount.options,
    get model () {
      model ??= mount.parts.describe(family, grammar)
      return model
    },
    prefix,
    ...version !== undefined && { version },
    // Known once all versions are registered.
    get isDefault () { return findDefault(mount) === mount.as(getWhole(family)) },
    get hasEnded () { return hasEnded(mount.retirement) },
    isGuarded,
    needsRevision: preconditions === 'required',
    pageSize,
    maxPageSize,
    ...typeof storage !== 'function' && { storage: storage as Storage },
    url (id, part, request = { params: {} } as FastifyRequest) {
      const url = id === undefined ? urls.collection(request) : urls.item(request, id)
      return part === undefined ? url : `${url}/${part}`
    },
    readId: family.readId,
    findFlaws (name, params) {
      const found = listActions(family).find(({ action }) => action === name)
      if (found?.params === undefined) throw new errorCodes.FST_DEALBOOK_UNKNOWN_OPERATION(family.name, name, '')
      const read = found.params.read(params)
      return 'flaws' in read ? read.flaws : []
    },
    book,
    async seenBy (request) {
      if (hasEnded(mount.retirement)) throw explainEnd(mount.retirement)
      const { granted, seen } = await askWhatIsSeen({ family, caller: mount.caller(request) }, listActions(family))
      const offers = granted.map(({ name, action }) => ({ name, action, allowed: true }))
      return { offers, mount: mount.as(seen).shown }
    },
    forms: forms.map(({ name }) => name).filter(name => mount.forms.has(name)),
    routes: mount.routes,
    beside (name) {
      const found = mount.neighbours.find(name, mount)
      return found && see(found)
    },
    neighbours: () => mount.neighbours.list().map(see),
    homeUrl: request => mount.neighbours.hasHome ? urls.home(request) : undefined,
    selfUrl: request => urls.self(request),
    maxSkipped,
    newestFirst: findNewestFirst(mount),
    stateOf: makeStateOf(family),
    now: () => makers.clock(),
    makeCommandId: () => makers.makeCommandId()
  }
}
