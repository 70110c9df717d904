import { type Family, getBase } from '../family/family.js'
import { performance } from '../runtime.js'
import type { EntryKey } from '../service/log-reads.js'
import type { Reader } from '../service/reader.js'
import type { GuardedStorage } from '../service/storage-access.js'
import { choosePartSize, findMembers, firstPartSize, maxIds, maxPageLength, selectById } from '../storage/pages.js'
import { mayBeLong } from '../storage/shapes.js'
import type { Id, Stored } from '../storage/storage.js'
import { measureAll } from '../values/json.js'

// Milliseconds. A database can be changed without a commit of ours.
const maxAge = 1000

interface SharedItems {
  readonly readAt: number
  readonly items: Promise<readonly Stored[] | undefined>
}

/** Entries that were read at once. What grants depend on is read once for all followers that have them. */
export class LogPart<E extends EntryKey = EntryKey> {
  readonly #shared = new Map<string, SharedItems>()
  readonly #ids = new Map<string, readonly Id[]>()
  /** In characters. */
  readonly length: number

  /** @param signal of the request that alone has them */
  constructor (readonly storage: GuardedStorage, readonly entries: readonly E[], readonly signal?: AbortSignal) {
    this.length = measureAll(entries)
  }

  get count (): number {
    return this.entries.length
  }

  /** The ids of items that a reader may see, of those that the entries are about. */
  async findVisible (reader: Reader): Promise<ReadonlySet<Id>> {
    const { family } = reader
    const ids = this.#listIds(family)
    if (ids.length === 0) return new Set()
    const items = await this.#share(family, reader.fields)
    if (items === undefined) return await reader.findIds(ids, this.storage)
    return new Set(items.filter(reader.holdsStored).map(({ id }) => id))
  }

  #listIds (family: Family): readonly Id[] {
    let ids = this.#ids.get(family.name)
    if (ids === undefined) {
      const targets = this.entries.flatMap(({ family: its, target, about }) =>
        [...its === family.name ? [target] : [], ...about?.family === family.name ? [String(about.id)] : []])
      ids = [...new Set(targets)].map(target => family.readId(target)).filter(id => id !== undefined)
      this.#ids.set(family.name, ids)
    }
    return ids
  }

  /** The items, with these fields; undefined if they are too long to be kept. */
  #share (family: Family, fields: readonly string[]): SharedItems['items'] {
    const key = [family.name, ...fields].join(' ')
    const shared = this.#shared.get(key)
    const readAt = performance.now()
    if (shared !== undefined && readAt - shared.readAt < maxAge) return shared.items
    const items = this.#findItems(family, fields)
    this.#shared.set(key, { readAt, items })
    items.catch(() => { this.#shared.delete(key) })
    return items
  }

  async #findItems (family: Family, fields: readonly string[]): SharedItems['items'] {
    const ids = this.#listIds(family)
    const items: Stored[] = []
    let length = 0
    const isLong = this.storage.findText === undefined ? family.hasLongItems : hasLong(family, fields)
    for (let start = 0, size = isLong ? firstPartSize : maxIds; start < ids.length;) {
      const values = ids.slice(start, start + size)
      const query = selectById([{ field: 'id', op: 'eq', values }], values.length)
      const found = await findMembers(this.storage, family.name, query, fields, this.signal)
      const part = measureAll(found)
      length += part
      if (length > maxPageLength) return undefined
      items.push(...found)
      start += size
      if (isLong) size = choosePartSize(size, { length: part, count: values.length })
    }
    return items
  }
}

function hasLong (family: Family, fields: readonly string[]): boolean {
  return mayBeLong(getBase(family).fields.filter(({ name }) => fields.includes(name)))
}
