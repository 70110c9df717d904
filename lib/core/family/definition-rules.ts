import { Kind, TransformKind, type TSchema, Type } from '@sinclair/typebox'
import { formatNames, getFormat, transformNames } from '../values/formats.js'
import { isObject, type Members } from '../values/json.js'
import { membersOf, namedOf, oneOf, rules, suchAs } from '../values/rules.js'
import { didYouMean } from '../values/words.js'
import type {
  AttributeForm, ConstraintText, CreateDefinition, EditDefinition, FamilyDefinition, Operation, QueryDefinition
} from './definition.js'
import { withoutNull } from './fields.js'
import { type Labels, type OperationLabel, type StateDefinition, tones } from './presentation.js'
import type { OtherItem } from './types.js'

const jsonTypes: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

const instead: Readonly<Record<string, string>> = {
  Date: "Type.String({ format: 'date-time' }) or Type.String({ format: 'date' })",
  bigint: 'Type.Integer(), or Type.String({ pattern }) for more than fifteen digits',
  RegExp: 'Type.String({ pattern })',
  Uint8Array: 'Type.String(), in base64',
  undefined: 'Type.Optional'
}

const origin = 'import Type from fastify-dealbook, which re-exports @sinclair/typebox 0.34'

/** @param what its name in a definition */
export function findFlawInObject (what: string, schema: unknown): string | undefined {
  if (!isObject(schema)) return `${what} must be a Type.Object({ … })`
  const foreign = findForeignOrigin(what, schema)
  if (foreign !== undefined) return foreign
  const kind = (schema as TSchema)[Kind]
  if (kind === 'Intersect') return `${what} is a Type.Intersect; Type.Composite makes one object of several`
  // Without this mark, its optional members cannot be recognized.
  if (kind !== 'Object') return `${what} must be a Type.Object({ … }); ${origin}`
  for (const [name, member] of Object.entries(schema['properties'] as object)) {
    const flaw = isObject(member) ? findFlawInMember(name, member) : `"${name}" is not a schema, such as Type.String()`
    if (flaw !== undefined) return `${what}: ${flaw}`
  }
  return undefined
}

// typebox 1.x marks its schemas like this, and optional members in a way that 0.34 does not see.
function findForeignOrigin (what: string, schema: Members): string | undefined {
  return '~kind' in schema ? `${what} comes from the package "typebox" (1.x); ${origin}` : undefined
}

const data: readonly string[] = ['default', 'const', 'enum', 'examples']
const named: readonly string[] = ['properties', 'patternProperties', '$defs']

function findFlawInMember (name: string, schema: Members, isNested = false): string | undefined {
  const foreign = findForeignOrigin(`"${name}"`, schema)
  if (foreign !== undefined) return foreign
  if (TransformKind in schema) return `"${name}" is a Type.Transform, but values are stored unchanged`
  const { type, format, transform } = schema
  if (typeof type === 'string' && !jsonTypes.includes(type)) {
    const hint = Object.hasOwn(instead, type) ? `; write ${instead[type]}` : ''
    return `"${name}" is a ${type}, which JSON does not have${hint}`
  }
  if (format === 'decimal') {
    const hasScale = typeof schema['scale'] === 'number'
    if (!hasScale) return `"${name}" is a decimal without a scale; write decimal({ scale: 2 })`
  } else if (typeof format === 'string' && getFormat(format) === undefined) {
    const hint = didYouMean(format, formatNames)
    return `"${name}": the format "${format}" is unknown.${hint} ` +
      `Known formats are ${formatNames.join(', ')}; for others, use pattern`
  }
  if (transform !== undefined) {
    const [unknown] = [transform].flat().filter(word => !transformNames.includes(word as string))
    if (isNested || type !== 'string') return `"${name}" has transform, but is not a text field`
    if (!Array.isArray(transform) || unknown !== undefined) {
      return `"${name}": the transform ${JSON.stringify(unknown ?? transform)} is unknown. ` +
        `It must be a list of ${transformNames.join(', ')}`
    }
  }
  for (const [key, value] of Object.entries(schema)) {
    if (data.includes(key) || typeof value !== 'object' || value === null) continue
    for (const part of named.includes(key) || Array.isArray(value) ? Object.values(value) : [value]) {
      const isHere = key === 'anyOf' && withoutNull(schema as TSchema).anyOf === undefined
      const flaw = isObject(part) ? findFlawInMember(name, part, isNested || !isHere) : undefined
      if (flaw !== undefined) return flaw
    }
  }
  return undefined
}

type RulesOf<T> = Record<keyof T, TSchema>

const { any, callback, flag, object, word, words } = rules

const otherItem = membersOf({
  family: Type.Union([Type.String(), callback], {
    description: 'the name of this family, or a family made by defineFamily'
  }),
  id: suchAs(callback, 'params => params.to')
} satisfies RulesOf<OtherItem>, ['family', 'id'])

const others = namedOf(otherItem, 'with', 'a field in references, or an object with family and id')

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
  apply: suchAs(callback, 'invoice => ({ ...invoice, paid: true })')
} satisfies RulesOf<Operation>, ['name', 'verb', 'participle', 'noun', 'action', 'apply'])

const create = membersOf({
  fields: words,
  with: others
} satisfies RulesOf<CreateDefinition<unknown>>, ['fields'])

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

const attributes = membersOf({
  fields: suchAs(words, "['paid']"),
  read: suchAs(callback, "() => ({ operation: 'pay', params: {} })")
} satisfies RulesOf<AttributeForm<unknown>>, ['fields', 'read'])

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

const parts = {
  fields: any,
  create: Type.Union([words, create], { description: 'a list of names, or an object' }),
  remove: flag,
  initial: callback,
  prepare: callback,
  operations: namedOf(operation, 'the operation'),
  edit: Type.Union([words, edit], { description: 'a list of names, or an object' }),
  attributes,
  state: callback,
  states: namedOf(state, 'the state', `one of ${tones.join(', ')}, or an object with tone and filter`),
  makeId: callback,
  order: words,
  title: word,
  list: words,
  search: words,
  labels: namedOf(labels, 'labels'),
  indexes: Type.Array(Type.Union([word, words]), {
    description: 'a list of fields, or of lists of fields, such as ["status"]'
  }),
  unique: Type.Array(words, { description: 'a list of lists of fields, such as [["number"]]' }),
  references: object,
  constraints: namedOf(constraint, 'the constraint', 'a string, or an object with detail and pointers'),
  queries: namedOf(query, 'the query')
}

export const definitionRule = membersOf({
  name: suchAs(word, 'invoices'),
  singular: suchAs(word, 'invoice'),
  ...parts,
  versioned: flag
} satisfies RulesOf<FamilyDefinition>, ['name', 'singular'])

export const extensionRule = membersOf(parts)
