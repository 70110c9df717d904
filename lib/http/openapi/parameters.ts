import type { TObject, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { CommandMembers } from '../../core/family/command-schema.js'
import type { Grammar } from '../../core/query/grammar.js'
import { writeOrder } from '../../core/query/order.js'
import { isSearch } from '../../core/query/patterns.js'
import type { Field } from '../../core/storage/storage.js'
import { textIdPattern } from '../../core/values/ids.js'
import type { Mount } from '../mount.js'
import { nameItem, nameParameter, nameSchema, nameSharedParameter, toPascalCase } from './mark.js'

/** The headers of a conditional write. */
export const conditionHeaders = {
  'if-match': describeHeader('IfMatch', 'The revision that the change was decided on, as an entity tag: "7" or ' +
    '"7-json"; 412 if it is not current'),
  'if-unmodified-since': describeHeader('IfUnmodifiedSince', 'An HTTP date; 412 if it changed since')
}

/** The headers of a conditional read. */
export const readConditionHeaders = {
  'if-none-match': describeHeader('IfNoneMatch', 'Entity tags that the client has; 304 if one is current'),
  'if-modified-since': describeHeader('IfModifiedSince', 'An HTTP date; 304 if nothing changed since'),
  'if-match': describeHeader('ReadIfMatch', 'Entity tags; 412 if none is current'),
  'if-unmodified-since': describeHeader('IfUnmodifiedSince', 'An HTTP date; 412 if it changed since')
}

export const keyHeader = {
  'idempotency-key': nameSharedParameter('IdempotencyKey', Type.Optional(Type.String({
    maxLength: 255,
    description: 'Makes the request safe to repeat: the first answer is given again'
  })))
}

export const preferHeader = { prefer: describeHeader('Prefer', 'return=minimal for an answer without a body') }

function describeHeader (name: string, description: string) {
  return nameSharedParameter(name, Type.Optional(Type.String({ description })))
}

/** Where a form of a page may be sent as well. */
export const jsonOrForm = ['application/json', 'application/x-www-form-urlencoded']

export const commandIdParameter = nameSharedParameter('CommandId', Type.String({
  pattern: textIdPattern,
  description: 'The id of the command',
  examples: ['order-17-hold']
}))

export function describeId ({ family }: Mount): TSchema {
  return { ...family.schema.properties.id, description: `The id of the ${family.singular}` } as TSchema
}

/** The id in a path. */
export function describeIdParameter (mount: Mount): TSchema {
  return nameParameter(mount, `${nameItem(mount)}Id`, describeId(mount))
}

/** What a query is about: the grammar, the members that it can name, and how its parameters begin in a document. */
export interface DescribedList {
  readonly grammar: Grammar
  readonly members: readonly string[]
  readonly name: string
}

/** The items of a family. */
export function listItems (mount: Mount): DescribedList {
  return { grammar: mount.grammar, members: mount.family.members, name: nameItem(mount) }
}

/** The entries of a log, alike in all families. */
export function listEntries (mount: Mount): DescribedList {
  return { grammar: mount.logGrammar, members: Object.keys(CommandMembers.properties), name: 'Entry' }
}

/** The parameters of a page. */
export function describePaging (mount: Mount, list: DescribedList): TObject {
  return describeQuery(mount, list, { ...describeSettings(mount, list), ...describeFilters(mount, list) })
}

/** Those of a part of a list. The filters of the whole, which hold there too, are described once. */
export function describePartPaging (mount: Mount, list: DescribedList): TObject {
  return describeQuery(mount, list, describeSettings(mount, list))
}

/** Those of a part that has no place for a total. */
export function describeBarePaging (mount: Mount, list: DescribedList): TObject {
  const { count, ...settings } = describeSettings(mount, list)
  return describeQuery(mount, list, settings)
}

/** Those of one resource. */
export function describeFieldsAndFormat (mount: Mount, list: DescribedList): TObject {
  const { fields, expand, format } = describeSettings(mount, list)
  return describeQuery(mount, list, { fields, ...expand && { expand }, format })
}

/** That of what has no members to choose from. */
export function describeFormat (mount: Mount): TObject {
  const list = listItems(mount)
  const { format } = describeSettings(mount, list)
  return describeQuery(mount, list, { format })
}

// What is alike in all lists is one component, whatever the list.
const common: readonly string[] = ['page', 'after', 'before', 'maxpagesize', 'count', 'format', 'or']

function describeQuery (mount: Mount, { name: list }: DescribedList, parameters: Record<string, TSchema>): TObject {
  const named = Object.entries(parameters).map(([name, schema]) => {
    const component = common.includes(name) ? name : `${list}.${name}`
    return [name, nameParameter(mount, component, Type.Optional(schema))]
  })
  return Type.Object(Object.fromEntries(named), { additionalProperties: false })
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

function describeFilters (mount: Mount, { grammar: { filters, limits } }: DescribedList): Record<string, TSchema> {
  const { maxValues, maxPatterns, maxPatternLength: maxLength } = limits
  const described: Record<string, TSchema> = {}
  for (const [name, { field, op, description }] of filters) {
    const filter = isSearch(op)
      ? describeOneOrMore(mount, 'pattern', Type.String({ maxLength }), Math.min(maxValues, maxPatterns))
      : op === 'null'
        ? describeOneOrMore(mount, 'boolean', Type.Boolean(), maxValues)
        : describeOneOrMore(mount, field.values === undefined ? field.kind : undefined, describeValue(field), maxValues)
    described[name] = { ...filter, description }
  }
  // Whatever begins with or. is a parameter of its own; there is no end of groups.
  described['or'] = Type.Unsafe<Record<string, string[]>>({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    description: 'Alternatives: any of the filters above with "or." before its name; one of them must hold. Further ' +
      'groups begin with "or1.", "or2." and so on; every group must hold'
  })
  return described
}

// A client has one type for a value or a list of them; both are sent by the same name, once or repeated.
function describeOneOrMore (mount: Mount, kind: string | undefined, value: TSchema, maxItems: number): TSchema {
  const schema = Type.Union([value, Type.Array(value, { maxItems })])
  return kind === undefined ? schema : nameSchema(mount, `${toPascalCase(kind)}Filter`, schema)
}

/** A value of a field as it stands in a URL. */
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
