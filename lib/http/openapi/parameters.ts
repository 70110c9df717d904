import { type TObject, type TSchema, Type } from '@sinclair/typebox'
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

export function describeRequestHeaders (...names: readonly (keyof typeof requestHeaders)[]): TObject {
  return Type.Object(Object.fromEntries(names.map(name => [name, Type.Optional(requestHeaders[name])])))
}

export const writeConditions = ['if-match', 'if-unmodified-since'] as const

export const readConditions = ['if-none-match', 'if-modified-since', ...writeConditions] as const

export const jsonOrForm = ['application/json', 'application/x-www-form-urlencoded']

export const commandIdParameter =
  Type.String({ pattern: textIdPattern, description: 'The id of the command', examples: ['order-17-hold'] })

/** The parameters of each kind of resource. Filters are only described for pages. */
const settings = { page: /./, part: /./, bare: /^(?!count$)/, one: /^(fields|expand|format)$/, format: /^format$/ }

export function describeQuerystring (mount: Mount, list: 'items' | 'log', kind: keyof typeof settings): TObject {
  const grammar = list === 'items' ? mount.grammar : mount.logGrammar
  const members = list === 'items' ? mount.family.members : Object.keys(CommandMembers.properties)
  const known = Object.entries(describeSettings(mount, grammar, members.join(', ')))
  const parameters = Object.fromEntries(known.filter(([name]) => settings[kind].test(name)))
  const all = kind === 'page' ? { ...parameters, ...describeFilters(grammar) } : parameters
  return Type.Partial(Type.Object(all), { additionalProperties: false })
}

function describeSettings ({ representations }: Mount, grammar: Grammar, list: string): Record<string, TSchema> {
  const { limits: { pageSize, maxPageSize }, order, references } = grammar
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
    fields: Type.String({ description: `Only these members, separated by commas: ${list}` }),
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
  const description = `Shows the items that these refer to, separated by commas: ${references.join(', ')}`
  return Type.String({ pattern, description })
}

function describeCursor (does: string) {
  return Type.String({ description: `Where the page ${does}, as the link to it has it; in place of page` })
}

function describeFilters ({ filters, limits }: Grammar): Record<string, TSchema> {
  const { maxValues, maxPatterns, maxPatternLength: maxLength } = limits
  const described: Record<string, TSchema> = {}
  for (const [name, { field, op, description }] of filters) {
    const value = isSearch(op) ? Type.String({ maxLength }) : op === 'null' ? Type.Boolean() : describeValue(field)
    const maxItems = isSearch(op) ? Math.min(maxValues, maxPatterns) : maxValues
    // Clients get one type for a value or a list; both are sent by the same name, once or repeated.
    described[name] = Type.Union([value, Type.Array(value, { maxItems })], { description })
  }
  // Every name that begins with or. is a parameter; the number of groups is not limited.
  described['or'] = Type.Unsafe<Record<string, string[]>>({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    description: 'Alternatives: any of the filters above with "or." before its name; one of them must hold. Further ' +
      'groups begin with "or1.", "or2." and so on; every group must hold'
  })
  return described
}

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
