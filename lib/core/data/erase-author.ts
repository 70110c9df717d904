import type { FieldChanges } from '../family/changes.js'
import { erasedText } from '../family/neutral.js'
import type { ErasureRule } from '../family/personal.js'
import { nameOtherRow } from '../service/command-ids.js'
import type { FeedEntry } from '../service/log-reads.js'
import type { Change, Condition, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { entriesAtFirst, type ErasedLog, replaceEntry } from './erase-log.js'
import { changeItem } from './erased-item.js'
import {
  eraseChanges, type ErasedFamily, eraseProblem, findPaths, hasText, makeTextFinder, markAuthor, markAuthorLogged,
  replaceParts
} from './erasing.js'

/** Erases a person who has done something: their name in the log, and where rules have taken it from there. */
export class AuthorErasure {
  readonly #where: readonly Condition[]
  /** How much of the log was seen of an item. */
  readonly #seen = new Map<string, number>()
  readonly #hasName: (value: unknown) => boolean

  constructor (
    readonly log: ErasedLog, readonly families: ReadonlyMap<string, ErasedFamily>, readonly name: string
  ) {
    this.#where = [{ field: 'principal', op: 'eq', values: [name] }]
    this.#hasName = makeTextFinder(new Set([name]))
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
    log.parked += await copies.eraseErrors(storage, ({ id, error }) => ids.has(id) || this.#hasName(error), erasedText)
    await log.each(this.#where, async entries => {
      // Before the entries, which say where the name is.
      for (const entry of entries) await this.#eraseIn(entry)
      return entries.flatMap(entry => replaceEntry(entry, this.#eraseName(entry)))
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
    const own: number[] = []
    let hasProblem = false
    const end = await log.each(where, entries => {
      for (const entry of entries) {
        places.add(entry)
        if (entry.principal === this.name) own.push(entry.position)
        hasProblem ||= entry.problem !== undefined && hasText(entry.problem, this.#hasName)
      }
      return []
    })
    const paths = places.list(await log.settings.storage.get(name, id))
    const rule = markAuthor(this.name, paths)
    const logged = paths.size === 0 ? undefined : markAuthorLogged(family, this.name, rule)
    const erase = (entries: readonly FeedEntry[]): Change[] =>
      entries.flatMap(entry => replaceEntry(entry, this.#eraseWithin(family, entry, logged)))
    if (logged !== undefined) await changeItem(log, family, id, item => family.eraseItem(item, rule), logged)
    if (logged !== undefined || hasProblem) {
      await log.each(where, entries => erase(entries.filter(({ principal }) => principal !== this.name)))
      // These say where the name is, also in later entries: an erasure that was interrupted finds the rest.
      const size = Math.min(entriesAtFirst, log.settings.batch)
      for (let rest = own; rest.length > 0; rest = rest.slice(0, -size)) {
        await log.each([...where, { field: 'position', op: 'eq', values: rest.slice(-size) }], erase)
      }
    }
    this.#seen.set(key, end)
  }

  #eraseWithin (family: ErasedFamily, entry: FeedEntry, rule: ErasureRule | undefined): FeedEntry {
    const { problem } = entry
    const erased = rule === undefined ? entry : eraseFields(family, entry, rule)
    return problem !== undefined && hasText(problem, this.#hasName)
      ? replaceParts(erased, { problem: eraseProblem(problem) })
      : erased
  }

  /** Its row stays, so that a retry finds it. With the id that was chosen, the name could be guessed from the row. */
  #eraseName (entry: FeedEntry): FeedEntry {
    const { chosenId, problem, ...others } = entry
    const isRow = chosenId !== undefined && entry.id === nameOtherRow(chosenId, entry.family, entry.target)
    return {
      ...others,
      ...isRow && { chosenId },
      ...problem && { problem: hasText(problem, this.#hasName) ? eraseProblem(problem) : problem },
      principal: erasedText
    } as FeedEntry
  }
}

/** Where the log of an item has a name that its clients have not sent: rules have taken it from the context. */
class NamePlaces {
  readonly #paths = new Set<string>()
  /** Fields to which commands may have given it, of whose values the log only says that they were long. */
  readonly #unknown = new Set<string>()
  /** The fields that the creation has set so, until another command changes them. */
  #created: Members | undefined

  constructor (readonly name: string) {}

  add ({ principal, outcome, params = {}, changes, result, revision }: FeedEntry): void {
    if (outcome !== 'done') return
    const before = takeEnds(changes, 'from')
    if (this.#created !== undefined) this.#addCreated(before)
    this.#addUnknown(before)
    if (principal !== this.name) return
    if (changes === undefined && revision === 1) {
      this.#created = params
      this.#addCreated(result)
    } else if (findPaths(params, this.name).length === 0) {
      this.#addAll(takeEnds(changes, 'to'))
      for (const [field, { omitted }] of Object.entries(changes ?? {})) {
        if (omitted?.includes('to') === true) this.#unknown.add(field)
      }
    }
  }

  list (item: Stored | undefined): ReadonlySet<string> {
    if (this.#created !== undefined && item !== undefined) this.#addCreated(item)
    this.#addUnknown(item)
    return this.#paths
  }

  #addUnknown (members: Members = {}): void {
    this.#addAll(Object.fromEntries(Object.entries(members).filter(([name]) => this.#unknown.has(name))))
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
