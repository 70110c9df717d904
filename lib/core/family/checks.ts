import type { TSchema } from '@sinclair/typebox'
import { isReserved } from '../query/filters.js'
import type { Members } from '../values/json.js'
import { findJsonFlaw } from '../values/json.js'
import { didYouMean } from '../values/nearest.js'
import { findFlawInSchema, makeMemberValidator } from '../values/validate.js'
import { findFlawInMembers } from './check-members.js'
import { findFlawInObject } from './check-schema.js'
import { CommandMembers } from './command-schema.js'
import type { FamilyDefinition } from './definition.js'
import { findFlawInEdit, listOperations } from './edit.js'
import { declaresNull, listFields, ServiceFields } from './fields.js'
import type { Operation } from './operation.js'
import { nameAction } from './operation.js'
import { findFlawInOthers } from './others.js'

const word = /^[a-z][a-z0-9-]*$/
const wordRule = 'must be lower-case letters, digits and hyphens'
const actionWord = /^[A-Z][A-Za-z0-9]*$/
const actionRule = 'must be letters and digits, beginning with a capital'

/** Names what is wrong with a definition; undefined where nothing is. */
export function findFlaw (definition: FamilyDefinition): string | undefined {
  return findFlawInMembers(definition) ?? findFlawInContent(definition)
}

function findFlawInContent (definition: FamilyDefinition): string | undefined {
  const { singular, create } = definition
  // Creating and deleting have words of their own.
  const words = [nameAction('Create', singular), nameAction('Delete', singular), 'deletions']
  const taken = create === undefined ? [] : words
  return findFlawInNames(definition) ?? findFlawInObjects(definition) ?? findFlawInFieldNames(definition) ??
    findFlawInQueries(definition) ?? findFlawInFieldUses(definition) ?? findFlawInEdit(definition) ??
    findFlawInWords(listOperations(definition), taken) ?? findFlawInOthers(definition) ??
    findFlawInSchemas(definition) ?? findFlawInDefaults(definition)
}

function findFlawInNames ({ name, singular }: FamilyDefinition): string | undefined {
  for (const [what, text] of [['name', name], ['singular', singular]] as const) {
    if (!word.test(text)) return `${what} "${text}" ${wordRule}`
  }
  if (name === 'commands') return 'this name belongs to the log'
  if (singular === 'links' || Object.hasOwn(CommandMembers.properties, singular)) {
    return `the singular "${singular}" is a member of every command`
  }
  return undefined
}

function findFlawInObjects ({ fields, operations = {} }: FamilyDefinition): string | undefined {
  const flaw = findFlawInObject('fields', fields)
  if (flaw !== undefined) return flaw
  for (const [key, { params }] of Object.entries(operations)) {
    const flaw = findFlawInObject(`params of the operation "${key}"`, params)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

function findFlawInFieldNames ({ fields: schema }: FamilyDefinition): string | undefined {
  const fields = listFields(schema)
  const id = fields.find(field => field.name === 'id')
  if (id === undefined || id.optional || id.nullable === true || (id.kind !== 'integer' && id.kind !== 'string')) {
    return 'fields must have an id, Type.Integer() or Type.String()'
  }
  if (id.default !== undefined) return 'the id cannot have a default'
  for (const { name, optional } of fields) {
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) return `the field "${name}" must be letters, digits and underscores`
    if (optional && declaresNull(schema.properties[name] as TSchema)) {
      return `the field "${name}" may be absent and may be null; leave out Type.Optional or Type.Null()`
    }
    if (isReserved(name)) return `the field "${name}" is named like a query parameter`
    if (name === 'links' || name === 'action' || Object.hasOwn(ServiceFields.properties, name)) {
      return `the field "${name}" belongs to the service`
    }
  }
  return undefined
}

function findFlawInQueries ({ name, fields, queries = {} }: FamilyDefinition): string | undefined {
  const filtered = listFields(fields).filter(({ kind }) => kind !== 'json').map(field => field.name)
  for (const [query, { field }] of Object.entries(queries)) {
    if (!word.test(query)) return `the query "${query}" ${wordRule}`
    if (query === name) return `the query "${query}" is there already: the items by id`
    if (!filtered.includes(field)) {
      const hint = didYouMean(field, filtered)
      return `the query "${query}" is by "${field}", which is no field that can be filtered.${hint}`
    }
  }
  return undefined
}

function findFlawInFieldUses (definition: FamilyDefinition): string | undefined {
  const { fields, create, initial, attributes, operations = {} } = definition
  const hint = (name: string) => didYouMean(name, Object.keys(fields.properties))
  for (const { name, changes = [] } of Object.values(operations)) {
    const unknown = changes.find(field => !Object.hasOwn(fields.properties, field))
    if (unknown !== undefined) return `the operation "${name}" changes "${unknown}", which is no field.${hint(unknown)}`
  }
  for (const field of [...create ?? [], ...attributes?.fields ?? []]) {
    if (field !== 'id' && Object.hasOwn(fields.properties, field)) continue
    return `"${field}" is no field that a client can send.${hint(field)}`
  }
  if (create === undefined) return initial === undefined ? undefined : 'initial needs create: nothing can be created'
  // What it sets is known at the first creation.
  if (initial !== undefined) return undefined
  const incomplete = listFields(fields).find(({ name, optional, default: value }) =>
    name !== 'id' && !optional && !create.includes(name) && value === undefined)
  if (incomplete === undefined) return undefined
  return `the field "${incomplete.name}" needs a default, or must be optional, nullable, in create or set by initial`
}

/** Words that are malformed, or meant for two things. */
function findFlawInWords (
  operations: Readonly<Record<string, Operation<Members>>>,
  taken: readonly string[]
): string | undefined {
  // Every path below an item, and every action, and whose it is.
  const owners = new Map([
    ['commands', 'the log'],
    ['operations', 'what can be done with an item'],
    ...taken.map(word => [word, 'creating and deleting'] as const)
  ])
  for (const [key, operation] of Object.entries(operations)) {
    const { name, verb, participle, noun, action, params } = operation
    if (name !== key) return `the operation "${key}" is named "${name}"; key and name must be the same`
    for (const [what, text] of Object.entries({ verb, participle, noun })) {
      if (!word.test(text)) return `the operation "${key}" has the ${what} "${text}", which ${wordRule}`
    }
    if (Object.hasOwn(params.properties, 'id')) {
      return `the operation "${key}" has a parameter "id", which is the item's`
    }
    if (!actionWord.test(action)) return `the operation "${key}" has the action "${action}", which ${actionRule}`
    for (const text of new Set([verb, participle, noun, action])) {
      const owner = owners.get(text)
      if (owner !== undefined) return `the operation "${key}" uses the word "${text}", which belongs to ${owner}`
      owners.set(text, `the operation "${key}"`)
    }
  }
  return undefined
}

/** Schemas that no value can be checked with, as by a pattern that is none. */
function findFlawInSchemas ({ fields, operations = {} }: FamilyDefinition): string | undefined {
  const flaw = findFlawInSchema(fields)
  if (flaw !== undefined) return `the fields have a schema that cannot be used: ${flaw}`
  for (const { name, params } of Object.values(operations)) {
    const flaw = findFlawInSchema(params)
    if (flaw !== undefined) return `the operation "${name}" has params that cannot be used: ${flaw}`
  }
  return undefined
}

/** Defaults that a field may not have: items from before the field would not fit it. */
function findFlawInDefaults ({ fields }: FamilyDefinition): string | undefined {
  const validateMember = makeMemberValidator(fields)
  for (const [name, { default: value }] of Object.entries(fields.properties)) {
    const flaw = value === undefined ? undefined : findJsonFlaw(value) ?? validateMember(name, value)[0]
    if (flaw !== undefined) return `the default of the field "${name}" ${flaw.detail}`
  }
  return undefined
}
