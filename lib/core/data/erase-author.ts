import type { FieldChanges } from '../family/changes.js'
import { erasedText } from '../family/neutral.js'
import type { ErasureRule } from '../family/personal.js'
import { nameOtherRow } from '../service/command-ids.js'
import type { FeedEntry } from '../service/log-reads.js'
import type { Condition, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { type ErasedLog, replaceEntry } from './erase-log.js'
import { changeItem } from './erased-item.js'
import {
  eraseChanges, type ErasedFamily, findPaths, markAuthor, markAuthorLogged, replaceParts
} from './erasing.js'

/** Erases a person who has done something: their name in the log, and where rules have taken it from there. */
export class AuthorErasure {
  readonly #where: readonly Condition[]
  /** How much of the log was seen of an item. */
  readonly #seen = new Map<string, number>()

  constructor (
    readonly log: ErasedLog, readonly families: ReadonlyMap<string, ErasedFamily>, readonly name: string
  ) {
    this.#where = [{ field: 'principal', op: 'eq', values: [name] }]
  }

  async run (): Promise<void> {
    const { log, log: { settings: { storage, copies } } } = this
    const ids = new Set<string>()
    let last = 0
    await log.each(this.#where, entries => {
      for (const { id, position } of entries) {
        ids.add(id)
        last = position
      }
      return []
    })
    await log.refuseHeld(last)
    log.parked += await copies.eraseErrors(storage, id => ids.has(id), erasedText)
    await log.each(this.#where, async entries => {
      // Before the entries, which say where the name is.
      for (const entry of entries) await this.#eraseIn(entry)
      return entries.flatMap(entry => replaceEntry(entry, eraseName(entry)))
    })
  }

  async #eraseIn ({ family: name, target, position, outcome }: FeedEntry): Promise<void> {
    const family = this.families.get(name)
    const id = family?.readId(target)
    const key = `${name}/${target}`
    if (family === undefined || id === undefined || outcome !== 'done' || position <= (this.#seen.get(key) ?? 0)) return
    const { log } = this
    const where: Condition[] =
      [{ field: 'family', op: 'eq', values: [name] }, { field: 'target', op: 'eq', values: [target] }]
    const places = new NamePlaces(this.name)
    const end = await log.each(where, entries => {
      for (const entry of entries) places.add(entry)
      return []
    })
    const paths = places.list(await log.settings.storage.get(name, id))
    if (paths.size > 0) {
      const rule = markAuthor(this.name, paths)
      const logged = markAuthorLogged(family, this.name, rule)
      await changeItem(log, family, id, item => family.eraseItem(item, rule), logged)
      await log.each(where, entries =>
        entries.flatMap(entry => replaceEntry(entry, eraseFields(family, entry, logged))))
    }
    this.#seen.set(key, end)
  }
}

/** Where the log of an item has a name that its clients have not sent: rules have taken it from the context. */
class NamePlaces {
  readonly #paths = new Set<string>()
  /** The fields that the creation has set so, until another command changes them. */
  #created: Members | undefined

  constructor (readonly name: string) {}

  add ({ principal, outcome, params = {}, changes, result, revision }: FeedEntry): void {
    if (outcome !== 'done') return
    if (this.#created !== undefined) this.#addCreated(takeEnds(changes, 'from'))
    if (principal !== this.name) return
    if (changes === undefined && revision === 1) {
      this.#created = params
      this.#addCreated(result)
    } else if (findPaths(params, this.name).length === 0) this.#addAll(takeEnds(changes, 'to'))
  }

  list (item: Stored | undefined): ReadonlySet<string> {
    if (this.#created !== undefined && item !== undefined) this.#addCreated(item)
    return this.#paths
  }

  #addAll (members: Members): void {
    for (const path of findPaths(members, this.name)) this.#paths.add(path)
  }

  /** What a field is afterwards is not of the creation. */
  #addCreated (members: Members = {}): void {
    const known = this.#created as Members
    this.#addAll(Object.fromEntries(Object.entries(members).filter(([name]) => !Object.hasOwn(known, name))))
    this.#created = { ...members, ...known }
  }
}

function takeEnds (changes: FieldChanges = {}, end: 'from' | 'to'): Members {
  return Object.fromEntries(Object.entries(changes).map(([name, change]) => [name, change[end]]))
}

function eraseFields (family: ErasedFamily, entry: FeedEntry, rule: ErasureRule): FeedEntry {
  const { changes, result } = entry
  return replaceParts(entry, {
    ...changes && { changes: eraseChanges(family, changes, rule) },
    ...result && { result: family.eraseFields(result, rule) }
  })
}

/** Its row stays, so that a retry finds it. With the id that was chosen, the name could be guessed from the row. */
function eraseName (entry: FeedEntry): FeedEntry {
  const { chosenId, ...others } = entry
  const isRow = chosenId !== undefined && entry.id === nameOtherRow(chosenId, entry.family, entry.target)
  return { ...isRow ? entry : others, principal: erasedText } as FeedEntry
}
