import type { TObject } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { ParsedQuery } from '../../query/grammar.js'
import { canShow } from '../../representations/representation.js'
import type { FormAffordance, ItemAffordances, Kinds, Link, PageAffordances, Refusal, Representation } from '../../representations/representation.js'
import type { Field, Stored } from '../../storage/storage.js'
import { uuidv7 } from '../../values/uuid.js'
import { CommandMembers } from '../model/command.js'
import type { CommandRecord } from '../model/command.js'
import { commandDocument, targetOf } from '../model/record.js'
import { fieldsOf } from '../model/shape.js'
import type { Mount } from '../mount/mount.js'
import { filterFields, formFields } from './form-fields.js'
import type { Entered } from './form-fields.js'
import { pageAt } from './links.js'

/** A form that was sent and refused. */
export interface Submission extends Entered {
  /** Where it was sent; undefined where it was the query of a list. */
  readonly action: string | undefined
}

/** The rows of a page, and where it stands. */
export interface RowsOffered {
  readonly fields: readonly Field[]
  /** The path of the page, without a suffix for its representation. */
  readonly path: string
  readonly reading: ParsedQuery
  readonly hasNext: boolean
  readonly representations: readonly Representation[]
  readonly up?: Link
  address (index: number): string
}

/** What people can do with an item now. */
export async function offerOfItem (mount: Mount, request: FastifyRequest, item: Stored, submission?: Submission): Promise<ItemAffordances> {
  const { family, urls, forms, preconditions, representations } = mount
  const self = urls.item(request, item.id)
  // The same form of the same revision has the same key, so that what is sent twice is done once.
  const key = `${self} ${item.revision}`
  const form = (name: string, title: string, noun: string, schema: TObject): FormAffordance => ({
    ...formOf(name, title, `${self}/${noun}`, schema, key, submission),
    ...(preconditions === 'required' ? { revision: item.revision } : {})
  })
  const operations = [...family.operations.values()]
    .filter(({ operation }) => forms.has('noun') && operation.allowed?.(item) !== false)
    .map(({ operation, params }) => form(operation.name, operation.summary ?? operation.name, operation.noun, params.schema))
  const deletion = forms.has('noun') ? family.lifecycle?.deletion : undefined
  const remove = deletion && form('delete', `Delete this ${family.singular} for good`, deletion.operation.noun, deletion.params.schema)
  return {
    kinds: kindsOf(family.fields),
    up: { href: urls.collection(request), title: `All ${family.name}` },
    others: othersOfOne(representations, self),
    operations,
    ...(remove === undefined ? {} : { remove }),
    ...(family.writable ? { log: { href: `${self}/commands`, entries: await lastEntries(mount, request, item), kinds: kindsOf(logFields) } } : {}),
    ...refusedOf(submission, [...operations, ...(remove === undefined ? [] : [remove])])
  }
}

/** What there is to do with an entry of the log: to go on from it. */
export function offerOfEntry ({ family, urls, representations }: Mount, request: FastifyRequest, record: CommandRecord, self: string): ItemAffordances {
  const target = targetOf(family, record)
  return {
    kinds: kindsOf(logFields),
    up: { href: urls.item(request, target), title: `The ${family.singular}` },
    others: othersOfOne(representations, self),
    operations: []
  }
}

/** What people can do with a page of the family. */
export function offerOfPage (mount: Mount, request: FastifyRequest, rows: RowsOffered, submission?: Submission): PageAffordances {
  const { family, urls } = mount
  const create = family.lifecycle && formOf('create', `Create a ${family.singular}`, urls.collection(request), family.lifecycle.params.schema, uuidv7(), submission)
  return { ...offerOfRows(rows, submission), ...(create === undefined ? {} : { create }) }
}

// The settings of a page that have no field in its form; what filters in other spellings stays, too, as long as it is seen in the address.
const dropped = ['page', 'gt', 'lt']

/** The same for any page: filters, order, and the pages around it. */
export function offerOfRows ({ fields, path, reading, hasNext, representations, up, address }: RowsOffered, submission?: Submission): PageAffordances {
  const searched = submission !== undefined && submission.action === undefined ? submission : { entered: new Map(reading.parameters.map(({ name, value }) => [name, value])) }
  const filters = filterFields(fields, searched)
  const others = representations.filter(each => each.interactive !== true && canShow(each, 'page'))
  return {
    kinds: kindsOf(fields),
    ...(up === undefined ? {} : { up }),
    // What goes line by line goes to the end, in the order of the ids.
    others: others.map(({ name, rows }) => ({ href: pageAt(path, reading, rows === undefined ? ['format'] : ['format', 'page', 'maxpagesize', 'sort'], [`format=${name}`]), title: name })),
    page: reading.page,
    hasNext,
    filters,
    kept: reading.parameters.filter(({ name }) => !dropped.includes(name) && !filters.some(filter => filter.name === name)).map(({ name, value }) => [name, value] as const),
    sortable: fields.filter(({ kind }) => kind !== 'json').map(({ name }) => name),
    sort: reading.parameters.find(({ name }) => name === 'sort')?.value,
    url: changes => pageAt(path, reading, Object.keys(changes), Object.entries(changes)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${encodeURIComponent(value as string)}`)),
    address,
    ...refusedOf(submission, undefined)
  }
}

function othersOfOne (representations: readonly Representation[], self: string): Link[] {
  return representations.filter(each => each.interactive !== true && each.one !== undefined).map(({ name }) => ({ href: `${self}?format=${name}`, title: name }))
}

function kindsOf (fields: readonly Field[]): Kinds {
  return Object.fromEntries(fields.map(({ name, kind }) => [name, kind]))
}

const logFields = fieldsOf(CommandMembers)

function formOf (name: string, title: string, action: string, schema: TObject, key: string, submission: Submission | undefined): FormAffordance {
  return { name, title, action, key, fields: formFields(schema, submission?.action === action ? submission : undefined) }
}

/** @param forms those that are offered; undefined where the one that was sent always is */
function refusedOf (submission: Submission | undefined, forms: readonly FormAffordance[] | undefined): { refused?: Refusal } {
  if (submission === undefined) return {}
  const isOffered = forms === undefined || forms.some(({ action }) => action === submission.action)
  return { refused: { problem: submission.problem.document(), entered: isOffered ? [] : [...submission.entered] } }
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
