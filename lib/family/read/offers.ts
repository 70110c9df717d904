import type { TObject, TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { Problem } from '../../http/problems.js'
import type { Grammar, Reading } from '../../query/grammar.js'
import { isOrdered } from '../../query/names.js'
import type { FormField, FormOffer, ItemOffer, PageOffer } from '../../representations/representation.js'
import type { Field, Stored } from '../../storage/storage.js'
import { uuidv7 } from '../../values/uuid.js'
import type { CommandRecord } from '../model/command.js'
import { commandDocument } from '../model/record.js'
import { fieldsOf } from '../model/shape.js'
import type { Mount } from '../mount/mount.js'
import { pageAt } from './links.js'

/** A form that was sent and refused: what was entered, and why not. */
export interface Submission {
  /** Where it was sent. */
  readonly action: string
  readonly entered: ReadonlyMap<string, string>
  readonly problem: Problem
}

/** What people can do with an item now. */
export async function offerOfItem (mount: Mount, request: FastifyRequest, item: Stored, submission?: Submission): Promise<ItemOffer> {
  const { family, urls, forms } = mount
  const self = urls.item(request, item.id)
  // The same form of the same revision has the same key, so that what is sent twice is done once.
  const key = `${self} ${item.revision}`
  const operations = [...family.operations.values()]
    .filter(({ operation }) => forms.has('noun') && operation.allowed?.(item) !== false)
    .map(({ operation, params }) => formOf(operation.name, operation.summary ?? operation.name, `${self}/${operation.noun}`, params.schema, key, submission))
  return {
    collection: urls.collection(request),
    operations,
    ...(family.lifecycle === undefined || !forms.has('noun') ? {} : { remove: formOf('delete', `Delete this ${family.singular} for good`, `${self}/${family.lifecycle.deletion.operation.noun}`, family.lifecycle.deletion.params.schema, key, submission) }),
    ...(family.writable ? { log: { href: `${self}/commands`, entries: await lastEntries(mount, request, item) } } : {}),
    ...(submission === undefined ? {} : { refused: submission.problem.document() })
  }
}

/** What people can do with a page of the family. */
export function offerOfPage (mount: Mount, request: FastifyRequest, reading: Reading, items: readonly Stored[], hasNext: boolean, submission?: Submission): PageOffer {
  const { family, urls } = mount
  const collection = urls.collection(request)
  const create = family.lifecycle && formOf('create', `Create a ${family.singular}`, collection, family.lifecycle.params.schema, uuidv7(), submission)
  return {
    ...offerOfRows(mount.grammar, family.fields, urls.self(request), reading, hasNext, index => urls.item(request, (items[index] as Stored).id)),
    ...(create === undefined ? {} : { create }),
    ...(submission === undefined ? {} : { refused: submission.problem.document() })
  }
}

/** The same for any page: filters, order, and the pages around it. */
export function offerOfRows (grammar: Grammar, fields: readonly Field[], path: string, reading: Reading, hasNext: boolean, address: (index: number) => string): PageOffer {
  const entered = new Map(reading.parameters.map(({ name, value }) => [name, value]))
  const names = fields.flatMap(field => filtersOf(field).filter(name => grammar.filters.has(name)).map(name => ({ field, name })))
  return {
    page: reading.page,
    hasNext,
    filters: names.map(({ field, name }) => filterField(field, name, entered.get(name))),
    sortable: fields.filter(({ kind }) => kind !== 'json').map(({ name }) => name),
    sort: entered.get('sort'),
    url: changes => pageAt(path, reading, Object.keys(changes), Object.entries(changes)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${encodeURIComponent(value as string)}`)),
    address
  }
}

function formOf (name: string, title: string, action: string, schema: TObject, key: string, submission: Submission | undefined): FormOffer {
  const sent = submission?.action === action ? submission : undefined
  return { name, title, action, key, fields: fieldsOf(schema).map(field => formField(field, schema, sent)) }
}

function formField ({ name, kind, optional, values }: Field, schema: TObject, sent: Submission | undefined): FormField {
  const { description, minimum, maxLength } = schema.properties[name] as TSchema
  const value = sent?.entered.get(name)
  const error = sent?.problem.errors?.find(flaw => 'pointer' in flaw && flaw.pointer === `/${name}`)?.detail
  return {
    name,
    label: name,
    kind,
    required: !optional,
    ...(description === undefined ? {} : { description }),
    ...(values === undefined ? {} : { values }),
    ...(minimum === undefined ? {} : { minimum }),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(value === undefined ? {} : { value }),
    ...(error === undefined ? {} : { error })
  }
}

// One choice for what has few values, bounds for what has an order, a pattern for text.
function filtersOf ({ name, kind, values }: Field): string[] {
  if (values !== undefined || kind === 'boolean') return [name]
  return kind === 'string' ? [`${name}.regex`] : [`min-${name}`, `max-${name}`]
}

function filterField (field: Field, name: string, value: string | undefined): FormField {
  const least = name.startsWith('min-')
  const label = !isOrdered(field) ? field.name : field.kind === 'string' ? `${field.name} has` : `${field.name} ${least ? 'from' : 'to'}`
  // A moment is asked for by its day.
  const kind = field.kind === 'date-time' ? 'date' : field.kind
  return { name, label, kind, required: false, ...(field.values === undefined ? {} : { values: field.values }), ...(value === undefined ? {} : { value }) }
}

async function lastEntries ({ family, storage }: Mount, request: FastifyRequest, item: Stored): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { items } = await (await storage(request)).find('commands', {
    where: [
      { field: 'family', op: 'eq', values: [family.name] },
      { field: 'target', op: 'eq', values: [String(item.id)] },
      // What changed nothing is in the whole log; here the page stays the same as long as the revision does.
      { field: 'outcome', op: 'eq', values: ['done'] }
    ],
    order: [{ field: 'revision', descending: true }, { field: 'id', descending: false }],
    offset: 0,
    limit: 10,
    count: false
  })
  return items.map(entry => commandDocument(family, entry as CommandRecord))
}
