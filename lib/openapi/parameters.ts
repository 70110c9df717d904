import type { TObject, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { Mount } from '../mount/mount.js'
import type { Grammar } from '../query/grammar.js'
import { writeOrder } from '../query/order.js'
import { isSearch } from '../query/patterns.js'
import type { Field } from '../storage/storage.js'
import { textIdPattern } from '../values/ids.js'

/** The headers of a conditional write. */
export const conditionHeaders = {
  'if-match': Type.Optional(Type.String({
    description: 'The revision that the change was decided on, as an entity tag: "7" or "7-json"; ' +
      '412 if it is not current'
  })),
  'if-unmodified-since': Type.Optional(Type.String({ description: 'An HTTP date; 412 if it changed since' }))
}

export const keyHeader = {
  'idempotency-key': Type.Optional(Type.String({
    maxLength: 255,
    description: 'Makes the request safe to repeat: the first answer is given again'
  }))
}

export const preferHeader = {
  prefer: Type.Optional(Type.String({ description: 'return=minimal for an answer without a body' }))
}

/** Where a form of a page may be sent as well. */
export const jsonOrForm = ['application/json', 'application/x-www-form-urlencoded']

export const commandIdSchema = Type.String({ pattern: textIdPattern, description: 'The id of the command' })

export function describeId ({ family }: Mount): TSchema {
  return { ...family.schema.properties.id, description: `The id of the ${family.singular}` } as TSchema
}

/** The parameters of a page. */
export function describePaging (mount: Mount, grammar: Grammar, members: readonly string[]): TObject {
  const properties = { ...describeSettings(mount, grammar, members), ...describeFilters(grammar) }
  return Type.Object(properties, { additionalProperties: false })
}

/** Those of a list that has no place for a total. */
export function describeListPaging (mount: Mount, grammar: Grammar, members: readonly string[]): TObject {
  const { count, ...settings } = describeSettings(mount, grammar, members)
  return Type.Object({ ...settings, ...describeFilters(grammar) }, { additionalProperties: false })
}

/** Those of one resource. */
export function describeFieldsAndFormat (mount: Mount, grammar: Grammar, members: readonly string[]): TObject {
  const { fields, format } = describeSettings(mount, grammar, members)
  return Type.Object({ fields, format }, { additionalProperties: false })
}

function describeSettings ({ representations }: Mount, { limits, order }: Grammar, members: readonly string[]) {
  const { pageSize, maxPageSize } = limits
  const list = members.join(', ')
  return {
    page: Type.Optional(Type.Integer({ minimum: 1, default: 1, description: 'The number of the page' })),
    after: describePlace('begins'),
    before: describePlace('ends'),
    maxpagesize: Type.Optional(Type.Integer({
      minimum: 1,
      default: pageSize,
      description: `Items on the page at most; above ${maxPageSize} it is ${maxPageSize}`
    })),
    sort: Type.Optional(Type.String({
      default: writeOrder(order),
      description: `Fields to order by, separated by commas, "-" before one for descending: ${list}`
    })),
    fields: Type.Optional(Type.String({ description: `Only these members, separated by commas: ${list}` })),
    count: Type.Optional(Type.Literal('exact', { description: 'Adds total, how many items there are on all pages' })),
    format: Type.Optional(Type.Unsafe<string>({
      type: 'string',
      enum: representations.map(({ name }) => name),
      description: 'The representation, before the Accept header'
    }))
  }
}

function describePlace (does: string) {
  const description = `Where the page ${does}, as the link to it has it; in place of page`
  return Type.Optional(Type.String({ description }))
}

function describeFilters ({ filters, limits }: Grammar): Record<string, TSchema> {
  const described: Record<string, TSchema> = {}
  for (const [name, { field, op, description }] of filters) {
    const { maxValues, maxPatterns, maxPatternLength } = limits
    const [schema, maxItems] = isSearch(op)
      ? [Type.String({ maxLength: maxPatternLength }), Math.min(maxValues, maxPatterns)]
      : [op === 'null' ? Type.Boolean() : describeValue(field), maxValues]
    described[name] = Type.Optional(Type.Array(schema, { description, maxItems }))
  }
  // Whatever begins with or. is a parameter of its own; there is no end of groups.
  described['or'] = Type.Optional(Type.Unsafe<Record<string, string[]>>({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    description: 'Alternatives: any of the filters above with "or." before its name; one of them must hold. Further ' +
      'groups begin with "or1.", "or2." and so on; every group must hold'
  }))
  return described
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
