import type { Family } from '../family/family.js'
import { canSee } from '../service/caller.js'
import { findDeleted } from '../service/past.js'
import { readErrorStatus } from '../service/reader.js'
import { asBase } from '../service/renamed.js'
import type { CallOptions, RunOptions } from '../service/service.js'
import type { Id } from '../storage/storage.js'
import type { Book } from './book.js'
import { findDeletedOf } from './find-deleted.js'
import { followLog } from './follow-log.js'
import { askForAny, findOffers, findTargets } from './offers.js'
import { findItem, findLogged, readLog, readOne, readPage } from './reads.js'
import { type AnyCommand, runAll } from './run-all.js'
import { BookParts, type BookSource, changes } from './source.js'
import { previewChange, runAction } from './writes.js'

export function makeBook (family: Family, source: BookSource): Book {
  const book = new BookParts(family, source)
  return {
    async create (fields, options = {}) {
      return await runAction(book, book.findOwn('create'), undefined, fields, options, 'create')
    },
    async run (name: string, id: Id, params: object = {}, options: RunOptions = {}) {
      return await runAction(book, book.find(name, changes), id, params, options)
    },
    async remove (id, options = {}) {
      const { item, ...done } = await runAction(book, book.findOwn('remove'), id, {}, options)
      return done
    },
    restore: async (id, options = {}) =>
      await runAction(book, book.findOwn('restore'), id, {}, options),
    revert: async (id, params, options = {}) =>
      await runAction(book, book.findOwn('revert'), id, params, options),
    runAll: async (commands: readonly AnyCommand[], options = {}) =>
      await runAll(book, commands, options) as never,
    get: async (id, options = {}) => await readOne(book, id, options) as never,
    find: async (query = '', options = {}) => await readPage(book, query, options),
    log: async (id, options = {}) => await readLog(book, id, options),
    findDeleted: async (options = {}) => await findDeletedOf(book, options),
    entry: async (id, command, options = {}) => await findLogged(book, id, command, options),
    follow: (options = {}) => followLog(book, options),
    offers: async (id, options = {}) => await listOffers(book, id, options),
    can: async (name, id, options = {}) => await can(book, name, id, options),
    preview: async (name, id, params = {}, options = {}) =>
      await previewChange(book, name, id, params, options)
  }
}

async function listOffers (book: BookParts, id: Id | undefined, options: CallOptions) {
  if (id === undefined) {
    const granted = await askForAny(book.open(options, 'call'), book.actions)
    return granted.map(({ name, action }) => ({ name, action, allowed: true }))
  }
  const { item, reader } = await findItem(book, id, options)
  return await findOffers(reader.called, reader.grant, item)
}

async function can (book: BookParts, name: string, id: Id | undefined, options: CallOptions): Promise<boolean> {
  const asked = book.find(name)
  try {
    if (id !== undefined && asked.kind === 'restore') return await canRestore(book, asked.action, id, options)
    if (id === undefined || asked.target === undefined) {
      if (id === undefined || asked.kind !== 'get') {
        return (await askForAny(book.open(options, 'call'), [asked])).length > 0
      }
      await findItem(book, id, options)
      return true
    }
    const { item, reader } = await findItem(book, id, options)
    const [open] = await findTargets(reader.called, reader.grant, item, [asked.target])
    return open !== undefined && open.reason === undefined
  } catch (error) {
    if ([401, 403, 404].includes(readErrorStatus(error))) return false
    throw error
  }
}

async function canRestore (book: BookParts, action: string, id: Id, options: CallOptions): Promise<boolean> {
  const { family, caller } = asBase(book.open(options, 'call'))
  const target = book.checkId(id)
  const grant = await caller.authorize({ family: family.name, action, id: target, params: {}, tentative: true })
  const storage = await caller.storage()
  if (await storage.get(family.name, target, caller.signal) !== undefined) return false
  return canSee(grant, await findDeleted({ family, storage, signal: caller.signal }, target))
}
