import { errorCodes } from '../errors.js'
import { erasedText } from '../family/neutral.js'
import { eraseMembers, type ErasureRule } from '../family/personal.js'
import type { FeedEntry } from '../service/log-reads.js'
import type { Change, Condition, Id, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { type ErasedLog, replaceEntry } from './erase-log.js'
import { attemptAlone, listErasure } from './erased-item.js'
import {
  collectTexts, eraseChanges, erasedDigest, type ErasedFamily, eraseProblem, hasText, makeTextFinder, replaceParts
} from './erasing.js'

/** What is erased of an entry: copies of personal data elsewhere in it, or all. */
type Part = 'copies' | 'all'

type Erase = (entry: FeedEntry, part: Part) => FeedEntry

/** What is known of an item and its log before anything is erased. */
interface Survey {
  /** The personal texts that the item has had. */
  readonly texts: Set<string>
  /** The commands that may have changed other items, too. */
  readonly commands: Set<string>
  /** When these were decided. */
  readonly moments: Set<string>
  /** The entries about the item, also of other items. */
  readonly ids: Set<string>
  /** The end of the log that it has. */
  end: number
  /** The position of the last entry that has something to erase, and of the last erasure; 0 if there is none. */
  last: number
  erasedAt: number
  /** The last entry of the item. */
  newest: FeedEntry | undefined
}

// Values of one condition.
const maxMoments = 500

/** Erases an item, what its log has of it, and what others have of its commands. */
export class ItemErasure {
  readonly #where: readonly Condition[]
  /** Refusals whose texts may be about the item. */
  readonly #refused: readonly Condition[]
  readonly #logged: ErasureRule

  constructor (
    readonly log: ErasedLog,
    readonly families: ReadonlyMap<string, ErasedFamily>,
    readonly family: ErasedFamily,
    readonly id: Id
  ) {
    this.#where = [
      { field: 'family', op: 'eq', values: [family.name] }, { field: 'target', op: 'eq', values: [String(id)] }
    ]
    const naming = [...families.values()].flatMap(each => each.mayName(family.name) ? each.name : [])
    this.#refused = [
      { field: 'family', op: 'eq', values: naming }, { field: 'outcome', op: 'eq', values: ['refused'] }
    ]
    this.#logged = family.markLogged(id)
  }

  async run (): Promise<void> {
    const { family, id, log, log: { settings: { storage, copies } } } = this
    const survey: Survey = {
      texts: new Set(),
      commands: new Set(),
      moments: new Set(),
      ids: new Set(),
      end: 0,
      last: 0,
      erasedAt: 0,
      newest: undefined
    }
    const start = await this.#advance(await storage.get(family.name, id), survey)
    await log.refuseHeld(survey.last)
    // Copies are found by what is personal, so that goes last: an erasure that was interrupted finds the rest.
    await this.#eraseEntries(survey, 'copies', start)
    const isCopy = makeTextFinder(survey.texts)
    log.parked += await copies.eraseErrors(storage, ({ error }) => isCopy(error), erasedText)
    const item = await this.#eraseItem(survey)
    await this.#eraseEntries(survey, 'all')
    log.parked += await copies.eraseErrors(storage, entry => survey.ids.has(entry.id), erasedText)
    // A deleted item may have come back while its log had it.
    if (item === undefined && await storage.get(family.name, id) !== undefined) await this.run()
  }

  /** Returns the item as it was, if there is one. */
  async #eraseItem (survey: Survey): Promise<Stored | undefined> {
    const { family, id, log } = this
    return await attemptAlone(log, family, id, async () => {
      const item = await log.settings.storage.get(family.name, id)
      // What happened since is little.
      await this.#eraseEntries(survey, 'copies', await this.#advance(item, survey))
      await log.commit(this.#listChanges(item, survey))
      return item
    })
  }

  /** Reads what is new. Returns the position after which entries may have copies: all, if there are new texts. */
  async #advance (item: Stored | undefined, survey: Survey): Promise<number> {
    const known = survey.end
    const start = await this.#survey(item, survey) ? 0 : known
    const erase = this.#makeErase(survey)
    await this.#rewrite(survey, entry => {
      survey.ids.add(entry.id)
      if (erase(entry, 'all') !== entry) survey.last = Math.max(survey.last, entry.position)
      return entry
    }, start)
    return start
  }

  async #eraseEntries (survey: Survey, part: Part, start?: number): Promise<void> {
    const erase = this.#makeErase(survey)
    await this.#rewrite(survey, entry => erase(entry, part), start)
  }

  /** Adds what is new. Returns whether there are new texts. */
  async #survey (item: Stored | undefined, survey: Survey): Promise<boolean> {
    const { family, log } = this
    const { size } = survey.texts
    const erased = collectTexts(text => { survey.texts.add(text) })
    if (item !== undefined) family.eraseFields(item, { ...this.#logged, erased })
    survey.end = await log.each(this.#where, entries => {
      for (const entry of entries) {
        this.#eraseOwn(entry, 'all', () => false, erased)
        survey.newest = entry
        if (entry.action === family.action) survey.erasedAt = entry.position
        if (entry.about === undefined && !family.mayReachOthers(entry.action)) continue
        survey.commands.add(nameCommand(entry))
        survey.moments.add(entry.createdAt)
      }
      return []
    }, survey.end)
    if (item === undefined && survey.newest === undefined) {
      throw new errorCodes.FST_DEALBOOK_INVALID_ERASURE(`there is no item "${this.id}" of ${family.name}, and no log`)
    }
    return survey.texts.size > size
  }

  /**
   * Its own entries, those that its commands, or the commands that changed it, have in other logs, and refusals of
   * commands that might have changed it.
   */
  async #rewrite (
    { commands, moments }: Survey, map: (entry: FeedEntry) => FeedEntry, start?: number
  ): Promise<void> {
    const rewrite = (entries: readonly FeedEntry[]): Change[] =>
      entries.flatMap(entry => replaceEntry(entry, map(entry)))
    await this.log.each(this.#where, rewrite, start)
    const all = [...moments]
    for (let first = 0; first < all.length; first += maxMoments) {
      const values = all.slice(first, first + maxMoments)
      await this.log.each([{ field: 'createdAt', op: 'eq', values }], entries =>
        rewrite(entries.filter(entry => !this.#isOwn(entry) && commands.has(nameCommand(entry)))), start)
    }
    await this.log.each(this.#refused, entries => rewrite(entries.filter(entry => !this.#isOwn(entry))), start)
  }

  #isOwn ({ family, target }: FeedEntry): boolean {
    return family === this.family.name && target === String(this.id)
  }

  #makeErase ({ texts }: Survey): Erase {
    const isCopy = makeTextFinder(texts)
    return (entry, part) =>
      this.#isOwn(entry) ? this.#eraseOwn(entry, part, isCopy) : this.#eraseOther(entry, part, isCopy)
  }

  #eraseOwn (
    entry: FeedEntry, part: Part, isCopy: (value: unknown) => boolean, erased?: ErasureRule['erased']
  ): FeedEntry {
    const { changes, result, problem, digest } = entry
    const rule = erased === undefined ? this.#logged : { ...this.#logged, erased }
    const params = this.#eraseParams(entry, part, isCopy, erased)
    if (part === 'copies') return params === entry.params ? entry : replaceParams(entry, params)
    const isChanged = params !== entry.params || digest !== undefined
    return replaceParts(entry, {
      ...params && { params },
      ...changes && { changes: eraseChanges(this.family, changes, rule) },
      ...result && { result: this.family.eraseFields(result, rule) },
      ...problem && { problem: eraseProblem(problem) },
      ...isChanged && { digest: erasedDigest }
    })
  }

  /** Of another item, which has its own fields: only what the command was given is about this one. */
  #eraseOther (entry: FeedEntry, part: Part, isCopy: (value: unknown) => boolean): FeedEntry {
    const { problem } = entry
    if (problem !== undefined) {
      return hasText(problem, isCopy)
        ? replaceParts(entry, { problem: eraseProblem(problem), digest: erasedDigest })
        : entry
    }
    const params = this.#eraseParams(entry, part, isCopy)
    const isOurs = part === 'all' && entry.digest !== undefined && this.#isAbout(entry)
    return params === entry.params && !isOurs ? entry : replaceParams(entry, params)
  }

  #isAbout ({ about }: FeedEntry): boolean {
    return about?.family === this.family.name && String(about.id) === String(this.id)
  }

  #eraseParams (
    entry: FeedEntry, part: Part, isCopy: (value: unknown) => boolean, erased?: ErasureRule['erased']
  ): Members | undefined {
    const { params, action, about, family } = entry
    if (params === undefined) return undefined
    const isOurs = about === undefined ? this.#isOwn(entry) : this.#isAbout(entry)
    const rule: ErasureRule = {
      isMarked: (path, value) => isOurs && this.family.isWithin(path) ? part === 'all' : isCopy(value),
      ...erased && { erased }
    }
    const acting = this.families.get(about?.family ?? family)
    return acting === undefined ? eraseMembers(params, [], rule) : acting.eraseParams(action, params, rule)
  }

  /** None if an erasure that was interrupted has made them. */
  #listChanges (item: Stored | undefined, { last, erasedAt, newest }: Survey): Change[] {
    const { family, id } = this
    const erased = item && family.eraseItem(item, family.markFields(id))
    if (erased === item && last <= erasedAt) return []
    return listErasure(this.log, family, { id, item, erased, rule: this.#logged, newest })
  }
}

function replaceParams (entry: FeedEntry, params: Members | undefined): FeedEntry {
  return replaceParts(entry, { ...params && { params }, digest: erasedDigest })
}

/** The same in all entries of a command: its item, its moment and what it did. */
function nameCommand ({ family, target, about, action, createdAt, principal }: FeedEntry): string {
  const { family: name, id } = about ?? { family, id: target }
  return JSON.stringify([name, String(id), createdAt, action, principal])
}
