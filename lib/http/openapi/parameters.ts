import type { TObject, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { CommandMembers } from '../../core/family/fields.js'
import { writeOrder } from '../../core/query/cursor.js'
import type { Grammar } from '../../core/query/grammar.js'
import { isSearch } from '../../core/query/values.js'
import type { Field } from '../../core/storage/storage.js'
import { textIdPattern } from '../../core/values/ids.js'
import type { Mount } from '../mount.js'

const requestHeaders = {
  'idempotency-key': Type.String({
    maxLength: 255, description: 'Makes the request safe to repeat: the first answer is given again'
  }),
  'if-match': Type.String({
    description: 'The revision that the change was decided on, as an entity tag: "7" or "7-json"; 412 if it is not ' +
      'current'
  }),
  'if-modified-since': Type.String({ description: 'An HTTP date; 304 if nothing changed since' }),
  'if-none-match': Type.String({ description: 'Entity tags that the client has; 304 if one is current' }),
  'if-unmodified-since': Type.String({ description: 'An HTTP date; 412 if it changed since' }),
  prefer: Type.String({ description: 'return=minimal for an answer without a body' })
}

/** The headers of a request that mean something to a route. */
export function describeRequestHeaders (...names: readonly (keyof typeof requestHeaders)[]): TObject {
  return Type.Object(Object.fromEntries(names.map(name => [name, Type.Optional(requestHeaders[name])])))
}

/** The headers of a conditional write. */
export const writeConditions = ['if-match', 'if-unmodified-since'] as const

/** The headers of a conditional read. */
export const readConditions = ['if-none-match', 'if-modified-since', ...writeConditions] as const

/** The media types of a body where a form of a page may be sent as well. */
export const jsonOrForm = ['application/json', 'application/x-www-form-urlencoded']

export const commandIdParameter =
  Type.String({ pattern: textIdPattern, description: 'The id of the command', examples: ['order-17-hold'] })

/** The list that a query is about: its grammar, and the members that the query can name. */
export interface DescribedList {
  readonly grammar: Grammar
  readonly members: readonly string[]
}

/** The items of a family. */
export function listItems ({ grammar, family: { members } }: Mount): DescribedList {
  return { grammar, members }
}

/** The entries of a log. */
export function listEntries ({ logGrammar }: Mount): DescribedList {
  return { grammar: logGrammar, members: Object.keys(CommandMembers.properties) }
}

/** The parameters of a page. */
export function describePaging (mount: Mount, list: DescribedList): TObject {
  return toQuery({ ...describeSettings(mount, list), ...describeFilters(list) })
}

/** Those of a part of a list. The filters of the whole, which hold there too, are described once. */
export function describePartPaging (mount: Mount, list: DescribedList): TObject {
  return toQuery(describeSettings(mount, list))
}

/** Those of a part without a total. */
export function describeBarePaging (mount: Mount, list: DescribedList): TObject {
  const { count, ...settings } = describeSettings(mount, list)
  return toQuery(settings)
}

/** Those of one resource. */
export function describeFieldsAndFormat (mount: Mount, list: DescribedList): TObject {
  const { fields, expand, format } = describeSettings(mount, list)
  return toQuery({ fields, ...expand && { expand }, format })
}

/** That of a resource without members to choose from. */
export function describeFormat (mount: Mount): TObject {
  const { format } = describeSettings(mount, listItems(mount))
  return toQuery({ format })
}

function toQuery (parameters: Record<string, TSchema>): TObject {
  const entries = Object.entries(parameters).map(([name, schema]) => [name, Type.Optional(schema)])
  return Type.Object(Object.fromEntries(entries), { additionalProperties: false })
}

function describeSettings ({ representations }: Mount, { grammar, members }: DescribedList) {
  const { limits, order, references } = grammar
  const { pageSize, maxPageSize } = limits
  const list = members.join(', ')
  return {
    page: Type.Integer({ minimum: 1, default: 1, description: 'The number of the page' }),
    after: describeCursor('begins'),
    before: describeCursor('ends'),
    maxpagesize: Type.Integer({
      minimum: 1,
      default: pageSize,
      description: `Items on the page at most; above ${maxPageSize} it is ${maxPageSize}`
    }),
    sort: Type.String({
      default: writeOrder(order),
      description: `Fields to order by, separated by commas, "-" before one for descending: ${list}`
    }),
    fields: Type.String({
      description: `Only these members, separated by commas; the others are not in the answer then: ${list}`
    }),
    ...references.length === 0 ? {} : { expand: describeExpand(references) },
    count: Type.Literal('exact', { description: 'Adds total, how many items there are on all pages' }),
    format: Type.Unsafe<string>({
      type: 'string',
      enum: representations.map(({ name }) => name),
      description: 'The representation, before the Accept header'
    })
  }
}

function describeExpand (references: readonly string[]) {
  const pattern = `^(${references.join('|')})(,(${references.join('|')}))*$`
  const description = 'In the place of these ids, the items that they refer to, as far as they can be seen; ' +
    `separated by commas: ${references.join(', ')}`
  return Type.String({ pattern, description })
}

function describeCursor (does: string) {
  return Type.String({ description: `Where the page ${does}, as the link to it has it; in place of page` })
}

function describeFilters ({ grammar: { filters, limits } }: DescribedList): Record<string, TSchema> {
  const { maxValues, maxPatterns, maxPatternLength: maxLength } = limits
  const described: Record<string, TSchema> = {}
  for (const [name, { field, op, description }] of filters) {
    const value = isSearch(op) ? Type.String({ maxLength }) : op === 'null' ? Type.Boolean() : describeValue(field)
    const maxItems = isSearch(op) ? Math.min(maxValues, maxPatterns) : maxValues
    // A client has one type for a value or a list of them; both are sent by the same name, once or repeated.
    described[name] = Type.Union([value, Type.Array(value, { maxItems })], { description })
  }
  // Every name that begins with or. is a parameter; the groups have no end.
  described['or'] = Type.Unsafe<Record<string, string[]>>({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    description: 'Alternatives: any of the filters above with "or." before its name; one of them must hold. Further ' +
      'groups begin with "or1.", "or2." and so on; every group must hold'
  })
  return described
}

/** A value of a field as it is written in a URL. */
export function describeValue ({ kind, values }: Field): TSchema {
  if (values !== undefined) return Type.Unsafe<string>({ type: 'string', enum: values })
  if (kind === 'integer') return Type.Integer()
  if (kind === 'number') return Type.Number()
  if (kind === 'boolean') return Type.Boolean()
  if (kind === 'date') return Type.String({ format: kind })
  if (kind !== 'date-time') return Type.String()
  // A bare date is the whole day.
  return Type.Unsafe<string>({ type: 'string', anyOf: [{ format: kind }, { format: 'date' }] })
}
