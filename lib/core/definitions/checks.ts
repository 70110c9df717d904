import type { TSchema } from '@sinclair/typebox'
import { isRestorable, listOperations, nameAction, readCreate, readEdit } from '../family/declared-operations.js'
import type { FamilyDefinition, Operation } from '../family/definition.js'
import { type AnyFamily, findFamily } from '../family/family.js'
import { CommandMembers, declaresNull, findKind, listFields, ServiceFields } from '../family/fields.js'
import { findPathSchema, isPathReference, listPaths } from '../family/paths.js'
import { tones } from '../family/presentation.js'
import { listStates, readStateDefinition, readStateFilter } from '../family/states.js'
import { readOrder } from '../query/cursor.js'
import { isReserved } from '../query/filters.js'
import type { Field } from '../storage/storage.js'
import { findJsonFlaw } from '../values/json.js'
import { getPathField, listPathValues } from '../values/paths.js'
import { makeValidator } from '../values/validate.js'
import { didYouMean } from '../values/words.js'
import { findFlawInObject } from './definition-rules.js'
import {
  checkOthers, checkWith, isRenamed, type MaybeFlaw, memberName, memberRule, renamedFlaw
} from './other-checks.js'

const word = /^[a-z][a-z0-9-]*$/
const wordRule = 'must be lower-case letters, digits and hyphens'
const actionWord = /^[A-Z][A-Za-z0-9]*$/
const actionRule = 'must be letters and digits, beginning with a capital'

export function * checkName ({ name }: FamilyDefinition): Generator<MaybeFlaw> {
  yield !word.test(name) && `name "${name}" ${wordRule}`
  yield name === 'commands' && 'this name belongs to the log'
}

export function * checkSingular ({ singular }: FamilyDefinition): Generator<MaybeFlaw> {
  yield !word.test(singular) && `singular "${singular}" ${wordRule}`
  yield (singular === 'links' || Object.hasOwn(CommandMembers.properties, singular)) &&
    `the singular "${singular}" is a member of every command`
}

export function * checkFields ({ fields: schema }: FamilyDefinition): Generator<MaybeFlaw> {
  yield findFlawInObject('fields', schema)
  const fields = listFields(schema)
  yield findFlawInId(fields.find(({ name }) => name === 'id'))
  for (const { name, optional } of fields) {
    const property = schema.properties[name] as TSchema
    yield !memberName.test(name) && `the field "${name}" ${memberRule}`
    yield optional && declaresNull(property) &&
      `the field "${name}" may be absent and may be null; remove Type.Optional or Type.Null()`
    yield name in Object.prototype && `the field "${name}" is named like a member of every object`
    yield isReserved(name) && `the field "${name}" is named like a query parameter`
    yield (name === 'links' || name === 'action' || isServiceField(name)) &&
      `the field "${name}" belongs to the service`
    const detail = findFlawInDefault(property)
    yield detail && `the default of the field "${name}" ${detail}`
  }
}

function findFlawInId (id: Field | undefined): string | undefined {
  const isId = id !== undefined && !id.optional && id.nullable !== true && ['integer', 'string'].includes(id.kind)
  if (!isId) return 'fields must have an id, Type.Integer() or Type.String()'
  return id.default === undefined ? undefined : 'the id cannot have a default'
}

/** Items from before the field get its default, so that must be a value of the field. */
function findFlawInDefault (property: TSchema): string | undefined {
  const { type, const: literal, anyOf = [], default: value } = property
  const isChosen = (type === 'boolean' && typeof value === 'boolean' && literal === undefined) ||
    (anyOf as TSchema[]).some(each => each.const === value)
  if (value === undefined || isChosen) return undefined
  return (findJsonFlaw(value) ?? makeValidator(property)(value)[0])?.detail
}

export function * checkCreate (definition: FamilyDefinition): Generator<MaybeFlaw> {
  const { fields, create, initial } = definition
  const { fields: created, params: extra, creates, with: others } = readCreate(definition)
  yield findUnknownName('create has', created, Object.keys(fields.properties), 'not a field that a client can send')
  yield extra && findFlawInObject('params of create', extra)
  for (const name of Object.keys(extra?.properties ?? {})) {
    yield !memberName.test(name) && `create has the parameter "${name}", whose name ${memberRule}`
    yield (name in Object.prototype || Object.hasOwn(fields.properties, name) || isServiceField(name)) &&
      `create has the parameter "${name}", which is named like a field`
  }
  const sent = created.map(name => [name, fields.properties[name] as TSchema])
  const own = Object.values(creates ?? {}).flat().find(each => (each as AnyFamily).definition?.name === definition.name)
  yield own !== undefined && 'create: creates cannot name the family itself'
  yield * checkOthers(definition, 'create', {
    with: others as Operation['with'],
    creates: creates as Operation['creates'],
    params: { ...Object.fromEntries(sent), ...extra?.properties },
    isCreation: true
  })
  // Fields that `initial` sets are only known at the first creation.
  if (create !== undefined && initial === undefined) yield findUnset(definition, Object.keys(fields.properties))
}

/** A field of these that no new item would have without `initial`. */
export function findUnset (definition: FamilyDefinition, names: readonly string[]): string | undefined {
  const { fields, derive = {} } = definition
  const created = readCreate(definition).fields
  const unset = listFields(fields).find(({ name, optional, default: value }) => names.includes(name) && name !== 'id' &&
    !created.includes(name) && !Object.hasOwn(derive, name) && !optional && value === undefined)
  return unset && `the field "${unset.name}" needs a default, or must be optional, nullable, in create, or set by ` +
    'initial or derive'
}

export function * checkRemove (definition: FamilyDefinition): Generator<MaybeFlaw> {
  const { create, remove = false } = definition
  yield create === undefined && remove !== false && 'remove needs create: nothing can be deleted'
  if (typeof remove !== 'object') return
  yield * checkWith(definition, 'remove', { with: remove.with as Operation['with'] })
  yield remove.apply !== undefined && remove.restore === true &&
    'remove has "apply" and "restore: true": give restore a function that undoes what apply does, or false'
}

export function * checkRevert ({ edit, operations = {}, revert = false }: FamilyDefinition): Generator<MaybeFlaw> {
  yield revert !== false && edit === undefined && Object.keys(operations).length === 0 &&
    'revert needs edit or operations: items never change'
}

export function * checkInitial ({ create, initial }: FamilyDefinition): Generator<MaybeFlaw> {
  yield create === undefined && initial !== undefined && 'initial needs create: nothing can be created'
}

export function * checkDerive (definition: FamilyDefinition): Generator<MaybeFlaw> {
  const { fields, create, derive = {}, edit, attributes, operations = {} } = definition
  const names = Object.keys(derive)
  yield names.length > 0 && create === undefined && edit === undefined && Object.keys(operations).length === 0 &&
    'derive needs create, edit or operations: nothing is ever written'
  const known = Object.keys(fields.properties).filter(name => name !== 'id')
  yield findUnknownName('derive has', names, known, 'not a field that can be computed')
  const [created, edited] = [readCreate(definition).fields, readEdit(edit ?? []).fields]
  const sent = { create: created, edit: edited, attributes: attributes?.fields }
  for (const [member, fields = []] of Object.entries(sent)) {
    const both = fields.find(name => Object.hasOwn(derive, name))
    yield both && `${member} has "${both}", which derive computes`
  }
}

export function * checkAttributes ({ fields, attributes }: FamilyDefinition): Generator<MaybeFlaw> {
  const sent = Object.keys(fields.properties).filter(name => name !== 'id')
  yield findUnknownName('attributes has', new Set(attributes?.fields), sent, 'not a field that a client can send')
}

export function * checkEdit (definition: FamilyDefinition): Generator<MaybeFlaw> {
  const { edit, fields: { properties }, attributes, operations = {} } = definition
  if (edit === undefined) return
  yield Object.hasOwn(operations, 'edit') &&
    'edit defines the operation "edit"; give your operation a different name'
  const { fields } = readEdit(edit)
  yield fields.length === 0 && 'edit must have a field'
  for (const name of fields) {
    yield (name === 'id' || isServiceField(name)) && `edit has "${name}", which only the service sets`
    yield attributes?.fields.includes(name) === true && `edit has "${name}", which is already in attributes`
  }
  yield findUnknownName('edit has', fields, Object.keys(properties))
}

export function * checkOperations (definition: FamilyDefinition): Generator<MaybeFlaw> {
  const { fields, operations = {}, revert = false } = definition
  yield revert !== false && Object.hasOwn(operations, 'revert') &&
    'revert defines the operation "revert"; give your operation a different name'
  yield isRestorable(definition) && Object.hasOwn(operations, 'restore') &&
    'deleted items have the operation "restore"; give yours a different name, or leave out restore of remove'
  for (const [key, { params }] of Object.entries(operations)) {
    yield findFlawInObject(`params of the operation "${key}"`, params)
  }
  for (const { name, changes = [] } of Object.values(operations)) {
    yield findUnknownName(`the operation "${name}" changes`, new Set(changes), Object.keys(fields.properties))
  }
  yield * checkWords(definition)
  for (const [key, operation] of Object.entries(operations)) {
    const { with: others, creates, params: { properties: params } } = operation
    yield * checkOthers(definition, `the operation "${key}"`, { with: others, creates, params })
  }
}

function * checkWords (definition: FamilyDefinition): Generator<MaybeFlaw> {
  const { singular, create, remove, personal } = definition
  // Every path below an item and every action, and what it belongs to.
  const owners = new Map([['commands', 'the log'], ['operations', 'the list of operations']])
  if (create !== undefined) {
    const deletion = remove === false ? [] : [nameAction('Delete', singular), 'deletions']
    for (const word of [nameAction('Create', singular), ...deletion]) owners.set(word, 'creating and deleting')
  }
  if (personal !== undefined) owners.set(nameAction('Erase', singular), 'erasing')
  for (const [key, { name, verb, participle, noun, action, params }] of Object.entries(listOperations(definition))) {
    const what = `the operation "${key}"`
    yield name !== key && `${what} is named "${name}"; key and name must be the same`
    for (const [part, text] of Object.entries({ verb, participle, noun })) {
      yield !word.test(text) && `${what} has the ${part} "${text}", which ${wordRule}`
    }
    const inherited = Object.keys(params.properties).find(name => name in Object.prototype)
    yield inherited && `${what} has a parameter "${inherited}", which is named like a member of every object`
    yield Object.hasOwn(params.properties, 'id') && `${what} has a parameter "id", which is the item's`
    yield !actionWord.test(action) && `${what} has the action "${action}", which ${actionRule}`
    for (const text of new Set([verb, participle, noun, action])) {
      yield owners.has(text) && `${what} uses the word "${text}", which belongs to ${owners.get(text)}`
      owners.set(text, what)
    }
  }
}

export function * checkQueries ({ name: family, fields, queries = {} }: FamilyDefinition): Generator<MaybeFlaw> {
  const known = plainOf(listOwnRead(fields))
  for (const [query, { field }] of Object.entries(queries)) {
    yield !word.test(query) && `the query "${query}" ${wordRule}`
    yield query === family && `the query "${query}" already exists: it returns the items by id`
    yield findUnknownName(`the query "${query}" is by`, [field], known, 'not a field that can be filtered')
  }
}

export function * checkOrder (definition: FamilyDefinition): Generator<MaybeFlaw> {
  const names = definition.order?.map(term => readOrder(term).field) ?? []
  yield findUnknownName('the order names', names, plainOf(listItemFields(definition).filter(isRead)))
}

export function * checkTitle (definition: FamilyDefinition): Generator<MaybeFlaw> {
  const known = plainOf(listItemFields(definition).filter(isRead))
  yield findUnknownName('the title is', [definition.title ?? 'id'], known, 'not a field that is a text or a number')
}

export function * checkList (definition: FamilyDefinition): Generator<MaybeFlaw> {
  const { list } = definition
  yield list?.length === 0 && 'the list must name a field'
  yield findUnknownName('the list names', list ?? [], listItemFields(definition).filter(isRead).map(({ name }) => name))
}

export function * checkSearch ({ fields, search = [] }: FamilyDefinition): Generator<MaybeFlaw> {
  const texts = listOwnRead(fields)
    .filter(({ kind, values }) => kind === 'string' && values === undefined)
  yield findUnknownName('search has', search, texts.map(({ name }) => name), 'not a free text field')
}

export function * checkIndexes ({ fields, indexes = [] }: FamilyDefinition): Generator<MaybeFlaw> {
  const known = plainOf([...listOwnRead(fields), ...listFields(ServiceFields)])
  for (const row of indexes.map(row => [row].flat())) {
    yield row.length === 0 && 'indexes has a row without a field'
    yield row[0] === 'id' && 'indexes has "id", which always has an index'
    yield findUnknownName('indexes has', row, known, 'not a field that can be indexed')
  }
}

export function * checkUnique ({ fields, unique = [] }: FamilyDefinition): Generator<MaybeFlaw> {
  const own = listOwnRead(fields)
  const rows = new Set<string>()
  for (const row of unique) {
    yield row.length === 0 && 'unique has a row without a field'
    yield row.includes('id') && 'unique has "id", which is always unique'
    const json = own.find(({ name, kind }) => kind === 'json' && row.includes(name))
    yield json && `unique has "${json.name}", which is stored as JSON and cannot be compared`
    yield findUnknownName('a row of unique has', row, plainOf(own))
    yield rows.has([...row].sort().join()) && `unique has the row ${row.join(', ')} twice`
    rows.add([...row].sort().join())
  }
}

// An item links to the items it refers to, under the name of the field.
const ownLinks = ['self', 'collection', 'log', 'operations']

export function * checkReferences ({ name: family, fields, references = {} }: FamilyDefinition): Generator<MaybeFlaw> {
  const own = listFields(fields)
  const known = listPaths(fields).filter(name => name !== 'id')
  for (const [name, other] of Object.entries(references)) {
    yield ownLinks.includes(name) && `references has "${name}", which is the name of a link that every item has`
    const schema = name === 'id' ? undefined : findPathSchema(fields, name)
    yield schema === undefined && findUnknownName('references has', [name], known)
    const kind = schema && findKind(schema)
    yield * isPathReference(fields, name) ? checkPathReference(own, name) : []
    const target = other === family
      ? { name: family, idKind: own.find(({ name }) => name === 'id')?.kind }
      : findFamily(other)
    yield target === undefined && `references has "${name}" for something that is not a family; give one that ` +
      `defineFamily made, or "${family}" for this one`
    yield isRenamed(other) && `references has "${name}": ${renamedFlaw}`
    yield target?.name === family && other !== family &&
      `references has "${name}" for a family of the same name; for this one, write "${family}"`
    yield kind !== target?.idKind &&
      `references has "${name}", which is of the kind ${kind}; ids of ${target?.name} are ${target?.idKind}`
  }
}

function * checkPathReference (fields: readonly Field[], path: string): Generator<MaybeFlaw> {
  const { default: value, writeOnly } = fields.find(({ name }) => name === getPathField(path)) ?? {}
  yield writeOnly === true && `references has "${path}", which clients never read`
  const odd = path.split('.').find(name => !memberName.test(name))
  yield odd !== undefined && `references has "${path}": its part "${odd}" ${memberRule}`
  // A row from before the field has no default, which an index would have to know.
  const found = listPathValues({ [getPathField(path)]: value }, path)
  yield found.length > 0 && `references has "${path}", but the default of the field has an id there`
}

export function * checkStates (definition: FamilyDefinition): Generator<MaybeFlaw> {
  const { states = {}, state: own } = definition
  const fields = listItemFields(definition)
  for (const [state, { filter }] of listStates(definition, fields)) {
    const given = states[state]
    const what = `the state "${state}"`
    if (given === undefined) continue
    yield state === '' && 'a state has no name'
    const { tone = 'neutral', filter: declared } = readStateDefinition(given)
    yield !tones.includes(tone) && `${what} has the tone "${tone}".${didYouMean(tone, tones)} ` +
      `There are ${tones.join(', ')}`
    const read = declared === undefined ? [] : readStateFilter(fields, declared)
    yield typeof read === 'string' && `${what} has a filter that cannot be used: ${read}`
    yield own === undefined && filter === undefined &&
      `${what} needs a filter, because no single required field has it as a value; or define the function state`
  }
}

const languageTag = /^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i

export function * checkLabels (definition: FamilyDefinition): Generator<MaybeFlaw> {
  const operations = Object.entries(listOperations(definition))
  const params = operations.flatMap(([, { params }]) => listPaths(params))
  const own = listItemFields(definition).map(({ name }) => name)
  const fields = [...new Set([...own, ...listPaths(definition.fields), ...params])]
  const names = [...new Set(['create', 'delete', 'edit', ...operations.map(([name]) => name)])]
  for (const [language, labels] of Object.entries(definition.labels ?? {})) {
    const what = `labels "${language}"`
    yield !languageTag.test(language) && `${what}: its name must be a language, such as "en" or "de-CH"`
    yield findUnknownName(`${what}: fields has`, Object.keys(labels.fields ?? {}), fields, 'not a field or a parameter')
    yield findUnknownName(`${what}: operations has`, Object.keys(labels.operations ?? {}), names, 'not an operation')
  }
}

function findUnknownName (
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

function isServiceField (name: string): boolean {
  return Object.hasOwn(ServiceFields.properties, name)
}

/** The fields that items have, including those of the service. */
function listItemFields (definition: FamilyDefinition): Field[] {
  const { fields, create } = definition
  const isWritable = create !== undefined || Object.keys(listOperations(definition)).length > 0
  return [...listFields(fields), ...isWritable ? listFields(ServiceFields) : []]
}

function isRead ({ writeOnly }: Field): boolean {
  return writeOnly !== true
}

/** Clients must be able to read what lists are made of. */
function listOwnRead (schema: FamilyDefinition['fields']): Field[] {
  return listFields(schema).filter(isRead)
}

function plainOf (fields: readonly Field[]): string[] {
  return fields.filter(({ kind }) => kind !== 'json').map(({ name }) => name)
}
