import type { TObject, TSchema } from '@sinclair/typebox'
import { readOrder } from '../query/cursor.js'
import { isReserved } from '../query/filters.js'
import type { Field } from '../storage/storage.js'
import { findJsonFlaw } from '../values/json.js'
import { findFlaw } from '../values/rules.js'
import { findFlawInSchema, makeMemberValidator } from '../values/validate.js'
import { didYouMean } from '../values/words.js'
import type { FamilyDefinition } from './definition.js'
import { nameAction } from './definition.js'
import { definitionRule, findFlawInObject } from './definition-rules.js'
import { listOperations, readEdit } from './edit.js'
import { findFamily } from './family.js'
import { CommandMembers, declaresNull, listFields, ServiceFields } from './fields.js'

type Check = (definition: FamilyDefinition) => string | undefined

/** What must hold between the members of a definition. Each check may rely on those before it. */
const checks: readonly Check[] = [
  checkMembers, checkNames, checkSchemas, checkFields, checkQueries, checkClientFields, checkEdit, checkWords,
  checkOthers, checkDefaults, checkOrder, checkPresentation, checkIndexes, checkUnique, checkReferences
]

/** Names what is wrong with a definition; undefined where nothing is. */
export function findFlawInDefinition (definition: FamilyDefinition): string | undefined {
  for (const check of checks) {
    const flaw = check(definition)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

function checkMembers (definition: FamilyDefinition): string | undefined {
  return findFlaw(definitionRule, definition)
}

const word = /^[a-z][a-z0-9-]*$/
const wordRule = 'must be lower-case letters, digits and hyphens'
const actionWord = /^[A-Z][A-Za-z0-9]*$/
const actionRule = 'must be letters and digits, beginning with a capital'
const memberName = /^[A-Za-z][A-Za-z0-9_]*$/
const memberRule = 'must be letters, digits and underscores'

function checkNames ({ name, singular }: FamilyDefinition): string | undefined {
  if (!word.test(name)) return `name "${name}" ${wordRule}`
  if (!word.test(singular)) return `singular "${singular}" ${wordRule}`
  if (name === 'commands') return 'this name belongs to the log'
  if (singular === 'links' || Object.hasOwn(CommandMembers.properties, singular)) {
    return `the singular "${singular}" is a member of every command`
  }
  return undefined
}

/** Schemas that are no objects, or that no value can be checked with, such as one with a malformed pattern. */
function checkSchemas ({ fields, operations = {} }: FamilyDefinition): string | undefined {
  const schemas = new Map<string, TObject>([['fields', fields]])
  for (const [key, { params }] of Object.entries(operations)) schemas.set(`params of the operation "${key}"`, params)
  for (const [what, schema] of schemas) {
    const flaw = findFlawInObject(what, schema)
    if (flaw !== undefined) return flaw
    const unusable = findFlawInSchema(schema)
    if (unusable !== undefined) return `${what} cannot be used: ${unusable}`
  }
  return undefined
}

function checkFields ({ fields: schema }: FamilyDefinition): string | undefined {
  const fields = listFields(schema)
  const id = fields.find(field => field.name === 'id')
  if (id === undefined || id.optional || id.nullable === true || (id.kind !== 'integer' && id.kind !== 'string')) {
    return 'fields must have an id, Type.Integer() or Type.String()'
  }
  if (id.default !== undefined) return 'the id cannot have a default'
  for (const { name, optional } of fields) {
    if (!memberName.test(name)) return `the field "${name}" ${memberRule}`
    if (optional && declaresNull(schema.properties[name] as TSchema)) {
      return `the field "${name}" may be absent and may be null; leave out Type.Optional or Type.Null()`
    }
    if (isReserved(name)) return `the field "${name}" is named like a query parameter`
    if (name === 'links' || name === 'action' || isServiceField(name)) {
      return `the field "${name}" belongs to the service`
    }
  }
  return undefined
}

function checkQueries ({ name, fields, queries = {} }: FamilyDefinition): string | undefined {
  const filtered = namesOf(listFields(fields).filter(isPlain))
  for (const [query, { field }] of Object.entries(queries)) {
    if (!word.test(query)) return `the query "${query}" ${wordRule}`
    if (query === name) return `the query "${query}" exists already: the items by id`
    const flaw = findFlawInList(`the query "${query}" is by`, [field], filtered, 'not a field that can be filtered')
    if (flaw !== undefined) return flaw
  }
  return undefined
}

function checkClientFields (definition: FamilyDefinition): string | undefined {
  const { fields: { properties }, create, initial, attributes, operations = {} } = definition
  for (const { name, changes = [] } of Object.values(operations)) {
    const flaw = findFlawInList(`the operation "${name}" changes`, new Set(changes), Object.keys(properties))
    if (flaw !== undefined) return flaw
  }
  const sent = Object.keys(properties).filter(name => name !== 'id')
  const flaw = findFlawInList('create has', new Set(create), sent, 'not a field that a client can send') ??
    findFlawInList('attributes has', new Set(attributes?.fields), sent, 'not a field that a client can send')
  if (flaw !== undefined) return flaw
  if (create === undefined) return initial === undefined ? undefined : 'initial needs create: nothing can be created'
  // What it sets is known at the first creation.
  if (initial !== undefined) return undefined
  const incomplete = listFields(definition.fields).find(({ name, optional, default: value }) =>
    name !== 'id' && !optional && !create.includes(name) && value === undefined)
  if (incomplete === undefined) return undefined
  return `the field "${incomplete.name}" needs a default, or must be optional, nullable, in create or set by initial`
}

function checkEdit ({ edit, fields: { properties }, attributes, operations = {} }: FamilyDefinition) {
  if (edit === undefined) return undefined
  if (Object.hasOwn(operations, 'edit')) return 'edit makes the operation "edit"; give the other one a different name'
  const { fields } = readEdit(edit)
  if (fields.length === 0) return 'edit must have a field'
  const own = fields.find(name => name === 'id' || isServiceField(name))
  if (own !== undefined) return `edit has "${own}", which only the service gives`
  const both = fields.find(name => attributes?.fields.includes(name))
  if (both !== undefined) return `edit has "${both}", which attributes has already`
  return findFlawInList('edit has', fields, Object.keys(properties).filter(name => name !== 'id'))
}

/** Words that are malformed, or used for two things. */
function checkWords (definition: FamilyDefinition): string | undefined {
  const { singular, create } = definition
  const lifecycle = [nameAction('Create', singular), nameAction('Delete', singular), 'deletions']
  // Every path below an item and every action, and what it belongs to.
  const owners = new Map([
    ['commands', 'the log'],
    ['operations', 'the list of operations'],
    ...(create === undefined ? [] : lifecycle).map(word => [word, 'creating and deleting'] as const)
  ])
  for (const [key, { name, verb, participle, noun, action, params }] of Object.entries(listOperations(definition))) {
    const what = `the operation "${key}"`
    if (name !== key) return `${what} is named "${name}"; key and name must be the same`
    for (const [part, text] of Object.entries({ verb, participle, noun })) {
      if (!word.test(text)) return `${what} has the ${part} "${text}", which ${wordRule}`
    }
    if (Object.hasOwn(params.properties, 'id')) return `${what} has a parameter "id", which is the item's`
    if (!actionWord.test(action)) return `${what} has the action "${action}", which ${actionRule}`
    for (const text of new Set([verb, participle, noun, action])) {
      const owner = owners.get(text)
      if (owner !== undefined) return `${what} uses the word "${text}", which belongs to ${owner}`
      owners.set(text, what)
    }
  }
  return undefined
}

/** The other items that operations need. */
function checkOthers ({ name, fields, operations = {} }: FamilyDefinition): string | undefined {
  for (const [key, { with: others }] of Object.entries(operations)) {
    if (others === undefined) continue
    if (Object.hasOwn(fields.properties, 'others')) {
      return `the operation "${key}" has with: apply may return "others" then, which cannot be a field`
    }
    for (const [other, { family }] of Object.entries(others)) {
      const what = `the operation "${key}": with "${other}"`
      if (!memberName.test(other)) return `${what}: its name ${memberRule}`
      if (typeof family === 'string' && family !== name) {
        return `${what}: the family "${family}" is not this one; give another as defineFamily made it`
      }
    }
  }
  return undefined
}

/** Defaults that a field may not have: items from before the field would not fit it. */
function checkDefaults ({ fields }: FamilyDefinition): string | undefined {
  const validateMember = makeMemberValidator(fields)
  for (const [name, { default: value }] of Object.entries(fields.properties)) {
    const flaw = value === undefined ? undefined : findJsonFlaw(value) ?? validateMember(name, value)[0]
    if (flaw !== undefined) return `the default of the field "${name}" ${flaw.detail}`
  }
  return undefined
}

function checkOrder (definition: FamilyDefinition): string | undefined {
  const names = definition.order?.map(term => readOrder(term).field) ?? []
  return findFlawInList('the order names', names, namesOf(listMembers(definition).filter(isPlain)))
}

function checkPresentation (definition: FamilyDefinition): string | undefined {
  const { title = 'id', list } = definition
  const members = listMembers(definition)
  const plain = namesOf(members.filter(isPlain))
  const flaw = findFlawInList('the title is', [title], plain, 'not a field that is a text or a number')
  if (flaw !== undefined || list === undefined) return flaw
  return list.length === 0 ? 'the list must name a field' : findFlawInList('the list names', list, namesOf(members))
}

function checkIndexes ({ fields: schema, indexes = [] }: FamilyDefinition): string | undefined {
  const known = namesOf([...listFields(schema), ...listFields(ServiceFields)].filter(isPlain))
  for (const row of indexes.map(row => [row].flat())) {
    if (row.length === 0) return 'indexes has a row without a field'
    if (row[0] === 'id') return 'indexes has "id", which has an index in any case'
    const flaw = findFlawInList('indexes has', row, known, 'not a field to find by')
    if (flaw !== undefined) return flaw
  }
  return undefined
}

function checkUnique ({ fields: schema, unique = [] }: FamilyDefinition): string | undefined {
  const fields = listFields(schema).filter(({ name }) => name !== 'id')
  for (const row of unique) {
    if (row.length === 0) return 'unique has a row without a field'
    if (row.includes('id')) return 'unique has "id", which is unique in any case'
    const json = fields.find(({ name, kind }) => kind === 'json' && row.includes(name))
    if (json !== undefined) return `unique has "${json.name}", which is stored as JSON and cannot be compared`
    const flaw = findFlawInList('a row of unique has', row, namesOf(fields))
    if (flaw !== undefined) return flaw
  }
  const rows = unique.map(row => [...row].sort().join())
  const again = unique.find((_, index) => rows.indexOf(rows[index] as string) !== index)
  return again === undefined ? undefined : `unique has the row ${again.join(', ')} twice`
}

// An item links to what it refers to, under the name of the field.
const ownLinks = ['self', 'collection', 'log', 'operations']

function checkReferences ({ name: family, fields: schema, references = {} }: FamilyDefinition): string | undefined {
  const fields = listFields(schema)
  const known = namesOf(fields).filter(name => name !== 'id')
  for (const [name, other] of Object.entries(references)) {
    if (ownLinks.includes(name)) return `references has "${name}", which is the name of a link that every item has`
    const flaw = findFlawInList('references has', [name], known)
    if (flaw !== undefined) return flaw
    const target = other === family ? { name: family, idKind: kindOf(fields, 'id') } : findFamily(other)
    if (target === undefined) {
      return `references has "${name}" for something that is not a family; give one that defineFamily made, or ` +
        `"${family}" for this one`
    }
    if (target.name === family && other !== family) {
      return `references has "${name}" for a family of the same name; for this one, write "${family}"`
    }
    const kind = kindOf(fields, name)
    if (kind !== target.idKind) {
      return `references has "${name}", which is of the kind ${kind}; ids of ${target.name} are ${target.idKind}`
    }
  }
  return undefined
}

/** Says which of these names is unknown, or given twice. */
function findFlawInList (
  subject: string,
  names: Iterable<string>,
  known: readonly string[],
  reason = 'not a field'
): string | undefined {
  const seen = new Set<string>()
  for (const name of names) {
    if (!known.includes(name)) return `${subject} "${name}", which is ${reason}.${didYouMean(name, known)}`
    if (seen.has(name)) return `${subject} "${name}" twice`
    seen.add(name)
  }
  return undefined
}

/** The fields that clients see, those of the service among them where items can be written. */
function listMembers (definition: FamilyDefinition): Field[] {
  const { fields, create, edit, operations = {} } = definition
  const writable = create !== undefined || edit !== undefined || Object.keys(operations).length > 0
  return [...listFields(fields), ...writable ? listFields(ServiceFields) : []]
}

function isServiceField (name: string): boolean {
  return Object.hasOwn(ServiceFields.properties, name)
}

function isPlain ({ kind }: Field): boolean {
  return kind !== 'json'
}

function namesOf (fields: readonly Field[]): string[] {
  return fields.map(({ name }) => name)
}

function kindOf (fields: readonly Field[], name: string): string | undefined {
  return fields.find(field => field.name === name)?.kind
}
