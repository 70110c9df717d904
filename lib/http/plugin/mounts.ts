import type { TObject, TProperties } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Book } from '../../core/book/book.js'
import { describeFamily, type FamilyModel } from '../../core/book/describe.js'
import { makeBook } from '../../core/book/make-book.js'
import { listActions } from '../../core/book/offers.js'
import { errorCodes } from '../../core/errors.js'
import type { AnyFamily } from '../../core/family/family.js'
import { checkOptions, optionRules } from '../../core/service/arguments.js'
import type { ServiceOptions } from '../../core/service/service.js'
import type { Id, Storage } from '../../core/storage/storage.js'
import type { MemberFlaw } from '../../core/values/json.js'
import { listMounts, logOutcome, type Mount } from '../mount.js'
import { explainEnd, hasEnded } from '../routes.js'
import type { FamilyOptions } from './options.js'

/** A family that is registered in an application, for other front ends and protocols. */
export interface FamilyMount {
  /** The family, such as for `consume`, or for a service of what acts without a request. */
  readonly family: AnyFamily & { service (options: ServiceOptions): Book }
  readonly model: FamilyModel
  /** Those with which it was registered. */
  readonly options: FamilyOptions
  readonly prefix: string
  readonly version?: string
  /** Whether it is the version of its family that has the paths without a version; if none has, the last. */
  readonly isDefault: boolean
  /** Whether its `sunset` has passed: it refuses everything. */
  readonly hasEnded: boolean
  /** Whether it has `authorize`. */
  readonly isGuarded: boolean
  /** Whether a change of an item needs its revision. */
  readonly needsRevision: boolean
  readonly pageSize: number
  readonly maxPageSize: number
  /** Undefined if it is chosen by request. */
  readonly storage?: Storage
  /**
   * The URL of the list, of an item, or of a part of it such as `commands`.
   *
   * @param request needed if the prefix has parameters, such as `/:tenant`
   */
  url (id?: Id, part?: string, request?: FastifyRequest): string
  /** An id, as it is in a URL; undefined if no item can have it. */
  readId (text: string): Id | undefined
  /** What is wrong with the parameters of an action, such as `HoldDeal`. `book` refuses them too. */
  findFlaws (action: string, params: unknown): readonly MemberFlaw[]
  /** The family as the caller of a request may use it: by `authorize`, the storage and the limits of the mount. */
  book (request: FastifyRequest): Book
}

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
  const mounts = listMounts(app).filter(mount => wanted === undefined || mount.prefix === wanted)
  return mounts.map(showMount)
}

/** Of several versions of a family, the one that has the paths without a version. */
function findDefault ({ neighbours, family: { name } }: Mount): Mount | undefined {
  const versions = neighbours.mounts.filter(({ family }) => family.name === name)
  return versions.find(({ unversioned }) => unversioned === true) ??
    versions.find(({ unversioned }) => unversioned !== false) ?? versions.at(-1)
}

const models = new WeakMap<Mount, FamilyModel>()

export function showMount (mount: Mount): FamilyMount {
  const { family, prefix, version, grammar, isGuarded, preconditions, storage, urls, book } = mount
  const { pageSize, maxPageSize } = grammar.limits
  return {
    family: mount.plugin as FamilyMount['family'],
    options: mount.options as FamilyOptions,
    get model () {
      const model = models.get(mount) ?? describeFamily(family, grammar)
      models.set(mount, model)
      return model
    },
    prefix,
    ...version !== undefined && { version },
    get isDefault () { return findDefault(mount) === mount },
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
    book
  }
}

// Who calls, and until when, is known from the request; a follower outlives its deadline, and needs an end.
const rules = new Map(Object.entries(optionRules).map(([name, rule]) => {
  const { principal, signal, ...own } = rule.properties as TProperties
  if (name !== 'follow') return [name, { ...rule, properties: own } as TObject]
  return [name, { ...rule, properties: { ...own, signal }, required: ['signal'] } as TObject]
}))

/** The caller is that of the request, which has a deadline of its own. */
export function openBook (mount: Mount, request: FastifyRequest): Book {
  const { family, grammar: list, logGrammar: log, preconditions, retirement, caller } = mount
  return makeBook(family, {
    grammars: { list, log },
    needsRevision: preconditions === 'required',
    maxCommands: mount.maxCommands ?? 100,
    note (outcome) { logOutcome({ mount, request }, outcome) },
    open (options, rule) {
      checkOptions(family, options, rules.get(rule) as TObject)
      if (hasEnded(retirement)) throw explainEnd(retirement)
      return caller(request)
    }
  })
}
