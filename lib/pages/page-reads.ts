import type { FastifyRequest } from 'fastify'
import {
  type Condition, explainError, type FamilyMount, type Id, isOrdered, openReading, type Reading,
  type Responding
} from '../exports.js'
import type { ReferenceField } from './affordances.js'
import { titleOf } from './titles.js'
import { listUrl } from './urls.js'
import { listRepresentations } from './views.js'

export type Choices = NonNullable<ReferenceField['choices']>

/** A request that a page answers, with what the page reads of other families. */
export interface PageRequest extends Responding {
  readonly reads: PageReads
}

/** The same, with the family as the caller sees it. */
export function seenBy<H extends { readonly mount: FamilyMount }> (here: H, { mount }: Reading): H {
  return mount === here.mount ? here : { ...here, mount }
}

/** What a page shows of other families. Nothing is read twice, however many parts of the page show it. */
export class PageReads {
  readonly #readings = new Map<FamilyMount, Promise<Reading | undefined>>()
  /** By the ids of the items: reads that have their titles. */
  readonly #titles = new Map<FamilyMount, Map<Id, Promise<ReadonlyMap<string, string>>>>()
  readonly #fields = new Map<FamilyMount, Promise<ReferenceField | undefined>>()

  constructor (readonly request: FastifyRequest) {}

  /** The list that the page is of. Throws the refusal. */
  async openOwn (mount: FamilyMount): Promise<Reading> {
    const reading = await openReading(mount, this.request, { action: 'list' })
    // Beside itself, the family is as the caller sees it.
    for (const each of new Set([mount, reading.mount])) this.keep(each, reading)
    return reading
  }

  keep (there: FamilyMount, reading: Reading | undefined): void {
    this.#readings.set(there, Promise.resolve(reading))
  }

  /** Undefined if the caller may not list the family. */
  open (there: FamilyMount): Promise<Reading | undefined> {
    const reading = this.#readings.get(there) ?? openThere(there, this.request)
    this.#readings.set(there, reading)
    return reading
  }

  /** The titles of items by their ids, as far as the caller may see them. */
  async findTitles (there: FamilyMount, ids: readonly Id[]): Promise<ReadonlyMap<string, string>> {
    const known = this.#titles.get(there) ?? new Map<Id, Promise<ReadonlyMap<string, string>>>()
    this.#titles.set(there, known)
    const wanted = ids.filter(id => !known.has(id))
    if (wanted.length > 0) {
      const titles = this.#readTitles(there, wanted)
      for (const id of wanted) known.set(id, titles)
    }
    const found = await Promise.all(new Set(ids.map(id => known.get(id))))
    return new Map(found.flatMap(titles => [...titles ?? []]))
  }

  async #readTitles (there: FamilyMount, values: readonly Id[]): Promise<ReadonlyMap<string, string>> {
    const reading = await this.open(there)
    return reading === undefined ? new Map() : await readTitles(reading, values)
  }

  /** How an item of the family is chosen. */
  findField (there: FamilyMount): Promise<ReferenceField | undefined> {
    const field = this.#fields.get(there) ?? this.#makeField(there)
    this.#fields.set(there, field)
    return field
  }

  async #makeField (there: FamilyMount): Promise<ReferenceField | undefined> {
    const reading = await this.open(there)
    if (reading === undefined) return undefined
    const { singular, title, labels, search: searched, filterNames } = reading.mount.model
    const choices = await findChoices(reading, [], maxChoices + 1)
    if (choices.length <= maxChoices) return { singular, labels, title, choices }
    const query = `format=json&maxpagesize=10&fields=${title === 'id' ? 'id' : `id,${title}`}`
    // A field may be called search.
    const search = searched.length > 0 ? 'search' : `${title}.has`
    const canSuggest = listRepresentations(there).some(({ name }) => name === 'json') &&
      (search === 'search' || filterNames.includes(search))
    const lookup = canSuggest ? `${listUrl(there, this.request)}?${query}&${search}=` : undefined
    return { singular, labels, title, lookup }
  }
}

/** The maximum to offer at once. */
export const maxChoices = 50

/** Undefined if the caller may not list the family. */
export async function openThere (there: FamilyMount, request: FastifyRequest): Promise<Reading | undefined> {
  try {
    return await openReading(there, request, { action: 'list' })
  } catch (error) {
    const { statusCode, cause = error } = explainError(error)
    const { name: family } = there.model
    if (statusCode >= 500) request.log.error({ err: cause, family }, 'authorize failed for a part of a page')
    return undefined
  }
}

/** The titles of items by their ids, as far as a reading has them. */
export async function readTitles (reading: Reading, values: readonly Id[]): Promise<ReadonlyMap<string, string>> {
  if (values.length === 0) return new Map()
  const found = await findChoices(reading, [{ field: 'id', op: 'eq', values }], values.length)
  return new Map(found.map(({ value, title }) => [value, title]))
}

/** Items by their titles. */
export async function findChoices (
  reading: Reading, where: readonly Condition[], limit: number
): Promise<Choices> {
  const { mount, mount: { model: { title, fields } } } = reading
  const isSorted = title !== 'id' && fields.some(field => field.name === title && isOrdered(field))
  const order = [...isSorted ? [title] : [], 'id'].map(field => ({ field, descending: false }))
  const { items } = await reading.find({ where, order, offset: 0, limit, count: false }, [...new Set(['id', title])])
  return items.map(item => ({ value: String(item.id), title: titleOf(mount, item) }))
}
