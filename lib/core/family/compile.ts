import { type TProperties, Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { readOrder, toTotalOrder } from '../query/cursor.js'
import { mayBeLong } from '../storage/shapes.js'
import type { FamilyShape, Field, Id, Order } from '../storage/storage.js'
import { hashText, maxChosenId, newIdPattern, readId } from '../values/ids.js'
import type { Members } from '../values/json.js'
import { makeValidator } from '../values/validate.js'
import { addArticle } from '../values/words.js'
import { listOperations, nameAction, readCreate } from './declared-operations.js'
import type { AttributeForm, FamilyDefinition, Operation } from './definition.js'
import {
  type CompiledOperation, type Family, findFamily, getFamily, type Lifecycle, type OtherDefinition,
  type Renaming
} from './family.js'
import { isTaggedByRevision, listDefaults, listFields, ServiceFields } from './fields.js'
import { findFlawInDefinition } from './members.js'
import { compileParams } from './params.js'
import type { Presentation } from './presentation.js'
import { listStates, makeState } from './states.js'
import type { AnyFamily } from './types.js'

export function compileFamily (definition: FamilyDefinition, renaming?: Renaming): Family {
  const flaw = findFlawInDefinition(definition)
  // A value that is not an object has no name.
  const given = definition as FamilyDefinition | undefined
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_DEFINITION(given?.name, flaw)
  const { name, singular, create, attributes, queries = {} } = definition

  const operations = compileOperations(definition)
  const writable = create !== undefined || operations.size > 0
  const order = definition.order?.map(readOrder) ?? []
  const references = new Map<string, Family>()
  const fields = compileFields(definition, writable, operations)
  const presentation = choosePresentation(fields.fields, definition)

  const family: Family = {
    name,
    singular,
    ...fields,
    ...compileId(definition),
    shape: compileShape(definition, order),
    presentation,
    order,
    references,
    prepare: definition.prepare,
    writable,
    versioned: definition.versioned ?? false,
    lifecycle: create === undefined ? undefined : compileLifecycle(definition),
    operations,
    edit: [...operations.values()].find(({ params }) => params.isPartial),
    attributes: attributes as AttributeForm<Members> | undefined,
    queries: new Map([[name, { field: 'id' }], ...Object.entries(queries)]),
    state: definition.state as Family['state'] ?? (definition.states && makeState(presentation.states)),
    constraints: definition.constraints ?? {},
    tables: definition.tables ?? [],
    renaming
  }
  for (const [field, other] of listReferred(definition)) references.set(field, other ?? family)
  return family
}

function compileFields (
  { fields: own, fields: { properties } }: FamilyDefinition,
  writable: boolean,
  operations: ReadonlyMap<string, CompiledOperation>
) {
  const schema = Type.Object(writable ? { ...properties, ...ServiceFields.properties } : properties)
  const fields = listFields(schema).filter(({ writeOnly }) => writeOnly !== true)
  const ownFields = listFields(own)
  const hasLongItems = mayBeLong(ownFields)
  return {
    schema,
    fields,
    ownFields,
    hasDecimals: ownFields.some(({ kind }) => kind === 'decimal'),
    hasSecrets: ownFields.some(({ writeOnly }) => writeOnly === true),
    members: fields.map(field => field.name),
    hasLongItems,
    // The command that created an item may hold all of it.
    hasLongCommands: hasLongItems || [...operations.values()].some(({ params }) => mayBeLong(params.fields)),
    tag: isTaggedByRevision(own) ? '' : `-${hashText(JSON.stringify(fields)).slice(0, 6)}`,
    validate: makeValidator(Type.Object(properties, { additionalProperties: false }))
  }
}

function compileId ({ fields: { properties }, makeId }: FamilyDefinition) {
  const idKind = properties.id?.type as 'integer' | 'string'
  return {
    idKind,
    idSchema: idKind === 'integer' ? Type.Integer() : Type.String(),
    makeId,
    readId: readId.bind(undefined, idKind)
  }
}

function compileShape (definition: FamilyDefinition, order: readonly Order[]): FamilyShape {
  const { name, fields, create, unique = [] } = definition
  return {
    name,
    fields: [...listFields(fields), ...listFields(ServiceFields)],
    indexes: chooseIndexes(definition, order),
    creates: create !== undefined,
    unique,
    references: Object.fromEntries(listReferred(definition).map(([field, other]) => [field, other?.name ?? name]))
  }
}

/** The families of references by their fields; undefined for the family itself. */
function listReferred ({ references = {} }: FamilyDefinition): [string, Family | undefined][] {
  return Object.entries(references).map(([field, other]) => [field, findFamily(other)])
}

function compileOperations (definition: FamilyDefinition): Map<string, CompiledOperation> {
  const { edit } = definition
  return new Map(Object.values(listOperations(definition)).map(operation => {
    const isEdit = edit !== undefined && operation.name === 'edit'
    const others = compileOthers(definition, operation.with)
    const creates = Object.entries(operation.creates ?? {})
      .map(([name, family]) => ({ name, family: getFamily(family) }))
    return [operation.action, { operation, params: compileParams(operation.params, isEdit), others, creates }]
  }))
}

function compileOthers (
  { name: own, references = {} }: FamilyDefinition,
  others: Operation['with'] = {}
): OtherDefinition[] {
  return Object.entries(others).map(([name, other]) => {
    const field = typeof other === 'string' ? other : undefined
    const { family, id } = typeof other === 'string'
      ? { family: references[other], id: (_params: unknown, item: Members) => (item[other] ?? undefined) as Id }
      : other
    const isOwn = family === own || (family as AnyFamily).definition?.name === own
    return { name, family: isOwn ? undefined : getFamily(family as AnyFamily), field, id }
  })
}

function compileLifecycle (definition: FamilyDefinition): Lifecycle {
  const { singular, fields: { properties }, initial, remove } = definition
  const { fields: create, with: others } = readCreate(definition)
  const sent: TProperties = {}
  for (const [name, property] of Object.entries(properties)) {
    if (create.includes(name)) sent[name] = property.default === undefined ? property : Type.Optional(property)
  }
  const deletion = {
    name: 'delete',
    noun: 'deletions',
    action: nameAction('Delete', singular),
    summary: `Delete ${addArticle(singular)}`,
    danger: true,
    final: true
  }
  if (sent.id?.type === 'string') sent.id = { ...sent.id, allOf: [{ pattern: newIdPattern }] }
  if (sent.id?.type === 'integer') sent.id = { ...sent.id, allOf: [{ maximum: maxChosenId }] }
  return {
    createAction: nameAction('Create', singular),
    deletion: remove === false ? undefined : { operation: deletion, params: compileParams(Type.Object({})) },
    takesId: sent.id !== undefined,
    params: compileParams(Type.Object(sent), false, listDefaults(sent)),
    defaults: listDefaults(properties),
    initial: initial as Lifecycle['initial'],
    others: compileOthers(definition, others as Operation['with'])
  }
}

const maxColumns = 6
// Longer texts are columns only if there are few others.
const shortText = 200

function choosePresentation (fields: readonly Field[], definition: FamilyDefinition): Presentation {
  const named = fields.find(({ name, kind, optional }) =>
    ['name', 'title', 'label'].includes(name) && kind === 'string' && !optional)
  const title = definition.title ?? named?.name ?? 'id'
  const isText = fields.some(({ name, kind, values }) => name === title && kind === 'string' && values === undefined)
  return {
    title,
    list: definition.list ?? chooseColumns(fields, title),
    states: listStates(definition, fields),
    search: definition.search ?? (isText && title !== 'id' ? [title] : []),
    labels: definition.labels ?? {}
  }
}

function chooseColumns (fields: readonly Field[], title: string): string[] {
  const others = fields.filter(({ name, kind }) => kind !== 'json' && !['id', 'revision', title].includes(name))
  const short = others.filter(({ kind, values, maxLength = Infinity }) =>
    kind !== 'string' || values !== undefined || maxLength <= shortText)
  const chosen = [...new Set([...short, ...others])].slice(0, maxColumns - 1)
  return [title, ...others.filter(field => chosen.includes(field)).map(({ name }) => name)]
}

/** Includes the default order, along which pages are read, and the references. */
function chooseIndexes ({ indexes = [], references = {} }: FamilyDefinition, order: readonly Order[]): string[][] {
  const named: string[][] = indexes.map(row => [row].flat())
  const ordered = toTotalOrder(order).map(({ field }) => field)
  // The id always has an index, and every index ends with it.
  const all = ordered.length === 1 ? named : [...named.filter(row => `${row.join()},id` !== ordered.join()), ordered]
  // Deleting an item looks for those that refer to it.
  const referring = Object.keys(references).filter(field => !all.some(([first]) => first === field))
  return [...new Map([...all, ...referring.map(field => [field])].map(row => [row.join(), row])).values()]
}
