import { Kind, TransformKind, type TSchema, Type } from '@sinclair/typebox'
import type { CreateDefinition } from '../family/creation.js'
import type {
  AttributeForm, ConstraintText, EditDefinition, Operation, QueryDefinition, RemoveDefinition, RevertDefinition
} from '../family/definition.js'
import { withoutNull } from '../family/fields.js'
import { type Labels, type OperationLabel, type StateDefinition, tones } from '../family/presentation.js'
import type { OtherItem, OtherItemList } from '../family/types.js'
import { formatNames, getFormat, isRegex, transformNames } from '../values/formats.js'
import { isObject, type Members } from '../values/json.js'
import { membersOf, namedOf, oneOf, rules, suchAs } from '../values/rules.js'
import { findFlawInSchema, makeValidator } from '../values/validate.js'
import { didYouMean } from '../values/words.js'

const jsonTypes: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

const instead: Readonly<Record<string, string>> = {
  Date: "Type.String({ format: 'date-time' }) or Type.String({ format: 'date' })",
  bigint: 'Type.Integer(), or Type.String({ pattern }) for more than fifteen digits',
  RegExp: 'Type.String({ pattern })',
  Uint8Array: 'Type.String(), in base64',
  undefined: 'Type.Optional'
}

const origin = 'import Type from fastify-dealbook, which re-exports @sinclair/typebox 0.34'
const foreign = `comes from the package "typebox" (1.x); ${origin}`

/** @param what its name in a definition */
export function findFlawInObject (what: string, schema: unknown): string | undefined {
  if (!isObject(schema)) return `${what} must be a Type.Object({ … })`
  const kind = (schema as TSchema)[Kind]
  if (kind === 'Intersect') return `${what} is a Type.Intersect; Type.Composite makes one object of several`
  // Without this mark, its optional members cannot be recognized.
  if (kind !== 'Object') return `${what} ${isForeign(schema) ? foreign : `must be a Type.Object({ … }); ${origin}`}`
  const parts: Members[] = [schema]
  for (const [name, member] of Object.entries(schema['properties'] as object)) {
    if (!isObject(member)) return `${what}: "${name}" is not a schema, such as Type.String()`
    const own = listSchemaParts(member, name)
    const flaw = own.map(part => findFlawInPart(part, member)).find(flaw => flaw !== undefined)
    if (flaw !== undefined) return `${what}: "${name}"${flaw}`
    parts.push(...own.map(({ schema }) => schema))
  }
  const unusable = parts.every(isSimple) ? undefined : findFlawInSchema(schema as TSchema)
  return unusable && `${what} cannot be used: ${unusable}`
}

// typebox 1.x marks its schemas like this, and optional members in a way that 0.34 does not see.
const isForeign = (schema: Members): boolean => '~kind' in schema

const data: readonly string[] = ['default', 'const', 'enum', 'examples']
const named: readonly string[] = ['properties', 'patternProperties', '$defs']

interface SchemaPart {
  readonly schema: Members
  /** Such as `lines.price`. */
  readonly path: string
}

/** A schema and all in it. */
function listSchemaParts (schema: Members, path: string): SchemaPart[] {
  return [{ schema, path }, ...Object.entries(schema).flatMap(([key, value]) => {
    if (data.includes(key) || typeof value !== 'object' || value === null) return []
    const parts = named.includes(key) || Array.isArray(value) ? Object.entries(value) : [['', value] as const]
    return parts.flatMap(([name, part]) =>
      isObject(part) ? listSchemaParts(part, key === 'properties' ? `${path}.${name}` : path) : [])
  })]
}

// Common keywords, by the types of their values.
const simpleKeywords: Readonly<Record<string, readonly string[]>> = {
  string: ['type', 'title', 'description', 'format', 'pattern'],
  number: ['minLength', 'maxLength', 'minItems', 'maxItems', 'minimum', 'maximum', 'scale'],
  boolean: ['additionalProperties', 'writeOnly'],
  object: ['anyOf', 'items', 'properties', 'required', 'examples', 'transform']
}

/** Whether it is usable for sure: Ajv takes milliseconds to check that. */
function isSimple (schema: Members): boolean {
  const { pattern = '', properties = {}, anyOf = [{}] } = schema as TSchema
  const isKnown = ([keyword, value]: [string, unknown]): boolean =>
    keyword === 'default' || keyword === 'const' || simpleKeywords[typeof value]?.includes(keyword) === true
  return Object.entries(schema).every(isKnown) && isRegex(pattern) && anyOf.length > 0 &&
    [...Object.values(properties), ...anyOf].every(isObject)
}

/** Completes a sentence that begins with the name of the member. */
function findFlawInPart ({ schema: part, path }: SchemaPart, member: Members): string | undefined {
  const { type, format, scale, writeOnly, properties = {} } = part
  if (isForeign(part)) return ` ${foreign}`
  if (TransformKind in part) return ' is a Type.Transform, but values are stored unchanged'
  if (typeof type === 'string' && !jsonTypes.includes(type)) {
    const hint = Object.hasOwn(instead, type) ? `; write ${instead[type]}` : ''
    return ` is a ${type}, which JSON does not have${hint}`
  }
  if (format === 'decimal') {
    if (typeof scale !== 'number') return ' is a decimal without a scale; write decimal({ scale: 2 })'
  } else if (typeof format === 'string' && getFormat(format) === undefined) {
    return `: the format "${format}" is unknown.${didYouMean(format, formatNames)} ` +
      `Known formats are ${formatNames.join(', ')}; for others, use pattern`
  }
  if (writeOnly === true && withoutNull(member as TSchema).writeOnly !== true) {
    return ` has writeOnly below it, at "${path}"; only a whole field can be writeOnly`
  }
  const inherited = Object.keys(properties as object).find(name => name in Object.prototype)
  if (inherited !== undefined) {
    return ` has the member "${inherited}" below it, which is named like a member of every object`
  }
  return findFlawInNestedDefault({ schema: part, path }, member) ?? findFlawInTransform(part, member)
}

/** That of the member itself is checked with the other fields. */
function findFlawInNestedDefault ({ schema, path }: SchemaPart, member: Members): string | undefined {
  if (schema === member || schema['default'] === undefined) return undefined
  const flaw = makeValidator(schema as TSchema)(schema['default'])[0]
  return flaw && ` has a default below it, at "${path}", that ${flaw.detail}`
}

function findFlawInTransform ({ type, transform }: Members, member: Members): string | undefined {
  if (transform === undefined) return undefined
  const isField = type === 'string' && withoutNull(member as TSchema).transform === transform
  if (!isField) return ' has transform, but is not a text field'
  const unknown = Array.isArray(transform) ? transform.find(word => !transformNames.includes(word)) : transform
  return unknown === undefined
    ? undefined
    : `: the transform ${JSON.stringify(unknown)} is unknown. It must be a list of ${transformNames.join(', ')}`
}

type RulesOf<T> = Record<keyof T, TSchema>

const { any, callback, flag, object, word, words } = rules

const otherItem = membersOf({
  family: Type.Union([Type.String(), callback], {
    description: 'the name of this family, or a family made by defineFamily'
  }),
  id: suchAs(callback, 'params => params.to'),
  path: suchAs(word, "'goods.product'")
} satisfies RulesOf<OtherItem | OtherItemList>, ['family'])

const others = namedOf(otherItem, 'with', 'a field in references, or an object with family, and id or path')

const operation = membersOf({
  name: suchAs(word, 'pay'),
  verb: suchAs(word, 'pay'),
  participle: suchAs(word, 'paid'),
  noun: suchAs(word, 'payments'),
  action: suchAs(word, 'PayInvoice'),
  summary: word,
  params: any,
  danger: flag,
  final: flag,
  changes: words,
  with: others,
  creates: object,
  allowed: callback,
  prefill: callback,
  apply: suchAs(callback, 'invoice => ({ ...invoice, paid: true })')
} satisfies RulesOf<Operation>, ['name', 'verb', 'participle', 'noun', 'action', 'apply'])

const create = membersOf({
  fields: words,
  params: any,
  with: others,
  creates: object
} satisfies RulesOf<CreateDefinition<unknown>>, ['fields'])

const remove = membersOf({
  allowed: callback,
  with: others,
  apply: callback,
  restore: Type.Union([flag, callback], { description: 'true, false, or a function' })
} satisfies RulesOf<RemoveDefinition<unknown>>)

const revert = membersOf({ allowed: callback } satisfies RulesOf<RevertDefinition<unknown>>)

const constraint = membersOf({
  detail: suchAs(word, '"It is booked already"'),
  pointers: suchAs(words, "['/from']")
} satisfies RulesOf<ConstraintText>, ['detail', 'pointers'])

const edit = membersOf({
  fields: suchAs(words, "['note']"),
  verb: word,
  participle: word,
  noun: word,
  action: word,
  allowed: callback
} satisfies RulesOf<EditDefinition<unknown>>, ['fields'])

const attributesRule = membersOf({
  fields: suchAs(words, "['paid']"),
  read: suchAs(callback, "() => ({ operation: 'pay', params: {} })")
} satisfies RulesOf<AttributeForm<unknown>>, ['fields', 'read'])

const derive = Type.Record(Type.String(), callback, { description: 'an object with functions by their fields' })

const query = membersOf({ field: suchAs(word, 'customer') } satisfies RulesOf<QueryDefinition>, ['field'])

const state = membersOf({
  tone: oneOf(...tones),
  filter: suchAs(word, '"status=open"')
} satisfies RulesOf<StateDefinition>)

const texts = Type.Record(Type.String(), rules.text, { description: 'an object with texts' })

const operationLabel = membersOf({
  label: suchAs(rules.text, '"Hold"'),
  done: suchAs(rules.text, '"Held"')
} satisfies RulesOf<OperationLabel>, ['label'])

const labels = membersOf({
  plural: rules.text,
  singular: rules.text,
  create: suchAs(rules.text, '"New deal"'),
  fields: texts,
  operations: namedOf(operationLabel, 'the operation', 'a string, or an object with label and done'),
  states: texts
} satisfies RulesOf<Labels>)

/** The rules of members that are objects, or lists of objects. */
export const memberRules = {
  create: Type.Union([words, create], { description: 'a list of names, or an object' }),
  remove: Type.Union([flag, remove], {
    description: 'true, false, or an object with allowed, with, apply and restore'
  }),
  revert: Type.Union([flag, revert], { description: 'true, false, or an object with allowed' }),
  operations: namedOf(operation, 'the operation'),
  edit: Type.Union([words, edit], { description: 'a list of names, or an object' }),
  attributes: attributesRule,
  derive,
  states: namedOf(state, 'the state', `one of ${tones.join(', ')}, or an object with tone and filter`),
  labels: namedOf(labels, 'labels'),
  indexes: Type.Array(Type.Union([word, words]), {
    description: 'a list of fields, or of lists of fields, such as ["status"]'
  }),
  unique: Type.Array(words, { description: 'a list of lists of fields, such as [["number"]]' }),
  constraints: namedOf(constraint, 'the constraint', 'a string, or an object with detail and pointers'),
  queries: namedOf(query, 'the query')
}
