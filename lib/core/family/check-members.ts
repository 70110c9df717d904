import { didYouMean } from '../values/nearest.js'
import type { AttributeForm, EditDefinition, FamilyDefinition, QueryDefinition } from './definition.js'
import type { Operation, OtherItem } from './operation.js'

const kinds = {
  text: { name: 'a text', holds: (value: unknown) => typeof value === 'string' },
  texts: { name: 'a list of names', holds: (value: unknown) => Array.isArray(value) && value.every(kinds.text.holds) },
  rows: { name: 'a list of rows of fields, such as [["number"]]', holds: isRows },
  indexes: { name: 'a list of fields, or of rows of them, such as ["status"]', holds: isIndexes },
  function: { name: 'a function', holds: (value: unknown) => typeof value === 'function' },
  boolean: { name: 'true or false', holds: (value: unknown) => typeof value === 'boolean' },
  object: { name: 'an object', holds: isObject },
  edit: { name: 'a list of names, or an object', holds: isEdit },
  family: { name: 'the name of this family, or another as defineFamily made it', holds: isFamily },
  // What is judged elsewhere.
  schema: { name: 'a Type.Object({ … })', holds: () => true }
}

/** What a member must be; one without which there is nothing has an example. */
interface Rule {
  readonly kind: keyof typeof kinds
  readonly example?: string
}

type Rules<T> = Readonly<Record<keyof T, Rule>>

export const definitionRules: Rules<FamilyDefinition> = {
  name: { kind: 'text', example: 'invoices' },
  singular: { kind: 'text', example: 'invoice' },
  fields: { kind: 'schema' },
  create: { kind: 'texts' },
  initial: { kind: 'function' },
  operations: { kind: 'object' },
  edit: { kind: 'edit' },
  attributes: { kind: 'object' },
  state: { kind: 'function' },
  makeId: { kind: 'function' },
  order: { kind: 'texts' },
  title: { kind: 'text' },
  list: { kind: 'texts' },
  versioned: { kind: 'boolean' },
  indexes: { kind: 'indexes' },
  unique: { kind: 'rows' },
  references: { kind: 'object' },
  queries: { kind: 'object' }
}

const operationRules: Rules<Operation> = {
  name: { kind: 'text', example: 'pay' },
  verb: { kind: 'text', example: 'pay' },
  participle: { kind: 'text', example: 'paid' },
  noun: { kind: 'text', example: 'payments' },
  action: { kind: 'text', example: 'PayInvoice' },
  summary: { kind: 'text' },
  params: { kind: 'schema' },
  danger: { kind: 'boolean' },
  final: { kind: 'boolean' },
  changes: { kind: 'texts' },
  with: { kind: 'object' },
  allowed: { kind: 'function' },
  apply: { kind: 'function', example: 'invoice => ({ ...invoice, paid: true })' }
}

const otherRules: Rules<OtherItem> = {
  family: { kind: 'family', example: "'accounts'" },
  id: { kind: 'function', example: 'params => params.to' }
}

const editRules: Rules<EditDefinition<unknown>> = {
  fields: { kind: 'texts', example: "['note']" },
  verb: { kind: 'text' },
  participle: { kind: 'text' },
  noun: { kind: 'text' },
  action: { kind: 'text' },
  allowed: { kind: 'function' }
}

const attributeRules: Rules<AttributeForm<unknown>> = {
  fields: { kind: 'texts', example: "['paid']" },
  read: { kind: 'function', example: "() => ({ operation: 'pay', params: {} })" }
}

const queryRules: Rules<QueryDefinition> = { field: { kind: 'text', example: 'customer' } }

/** Names a member of a definition, or of what is in it, that is unknown, missing, or of the wrong kind. */
export function findFlawInMembers (definition: FamilyDefinition): string | undefined {
  const flaw = findMemberFlaw(definition, definitionRules)
  if (flaw !== undefined) return flaw
  const { operations = {}, queries = {}, attributes } = definition
  const parts: [string, unknown, Readonly<Record<string, Rule>>][] = [
    ...Object.entries(operations).flatMap(([key, part]) => [
      [`the operation "${key}"`, part, operationRules],
      ...listOthers(part).map(([name, other]) => [`the operation "${key}", with "${name}"`, other, otherRules])
    ] as never[]),
    ...Object.entries(queries).map(([key, part]) => [`the query "${key}"`, part, queryRules] as never),
    ...(attributes === undefined ? [] : [['attributes', attributes, attributeRules] as never])
  ]
  for (const [what, part, rules] of parts) {
    const flaw = findMemberFlaw(part, rules)
    if (flaw !== undefined) return `${what}: ${flaw}`
  }
  return findFlawInEditMembers(definition.edit)
}

function listOthers (operation: Partial<Operation> | null): [string, unknown][] {
  return isObject(operation?.with) ? Object.entries(operation.with) : []
}

/** The same of `edit`, where it is more than a list. */
export function findFlawInEditMembers (edit: FamilyDefinition['edit']): string | undefined {
  const flaw = edit === undefined || Array.isArray(edit) ? undefined : findMemberFlaw(edit, editRules)
  return flaw === undefined ? undefined : `edit: ${flaw}`
}

/** The same of one object. */
export function findMemberFlaw (value: unknown, rules: Readonly<Record<string, Rule>>): string | undefined {
  if (!isObject(value)) return `must be an object with ${Object.keys(rules).join(', ')}`
  const unknown = Object.keys(value).find(name => !Object.hasOwn(rules, name))
  if (unknown !== undefined) return `unknown member "${unknown}".${didYouMean(unknown, Object.keys(rules))}`
  for (const [name, { kind, example }] of Object.entries(rules)) {
    const member = value[name]
    if (member === undefined && example === undefined) continue
    const must = `must be ${kinds[kind].name}${example === undefined ? '' : `, such as ${example}`}`
    if (member === undefined) return `"${name}" is missing; it ${must}`
    if (!kinds[kind].holds(member)) return `"${name}" ${must}`
  }
  return undefined
}

function isRows (value: unknown): boolean {
  return Array.isArray(value) && value.every(kinds.texts.holds)
}

function isIndexes (value: unknown): boolean {
  return Array.isArray(value) && value.every(row => kinds.text.holds(row) || kinds.texts.holds(row))
}

function isEdit (value: unknown): boolean {
  return kinds.texts.holds(value) || isObject(value)
}

function isFamily (value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'function' && 'definition' in value)
}

function isObject (value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
