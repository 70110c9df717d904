import { type TProperties, Type } from '@sinclair/typebox'
import { readOrder, toTotalOrder } from '../query/cursor.js'
import { mayBeLong } from '../storage/shapes.js'
import type { FamilyShape, Field, Order } from '../storage/storage.js'
import { hashText, maxChosenId, newIdPattern, readId } from '../values/ids.js'
import type { Members } from '../values/json.js'
import { makeValidator } from '../values/validate.js'
import { addArticle } from '../values/words.js'
import { findPastName, isRestorable, listOperations, nameAction, readCreate } from './declared-operations.js'
import type { AttributeForm, FamilyDefinition, Operation } from './definition.js'
import {
  type CompiledChange, type CompiledOperation, type Deletion, type Family, findFamily, type Lifecycle, type Renaming
} from './family.js'
import { isTaggedByRevision, listDefaults, listFields, ServiceFields } from './fields.js'
import { compileNested } from './nested.js'
import { compileCreates, compileOthers } from './others.js'
import { compileParams } from './params.js'
import { isPathReference } from './paths.js'
import type { Presentation } from './presentation.js'
import { listStates, makeState } from './states.js'

/** @param definition one that was checked */
export function compileFamily (definition: FamilyDefinition, renaming?: Renaming): Family {
  const { name, singular, create, attributes, queries = {} } = definition

  const operations = compileOperations(definition)
  const lifecycle = create === undefined ? undefined : compileLifecycle(definition)
  const deletion = lifecycle?.deletion
  const changes = new Map<string, CompiledChange>(operations)
  if (deletion !== undefined) changes.set(deletion.operation.action, deletion)
  const writable = create !== undefined || operations.size > 0
  const order = definition.order?.map(readOrder) ?? []
  const references = new Map<string, Family>()
  const pathReferences = new Map<string, Family>()
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
    pathReferences,
    derived: new Map(Object.entries(definition.derive ?? {})) as Family['derived'],
    personal: new Set(definition.personal),
    prepare: definition.prepare,
    writable,
    versioned: definition.versioned ?? false,
    lifecycle,
    operations,
    changes,
    withOthers: listWithOthers(changes, lifecycle),
    edit: [...operations.values()].find(({ params }) => params.isPartial),
    attributes: attributes as AttributeForm<Members> | undefined,
    queries: new Map([[name, { field: 'id' }], ...Object.entries(queries)]),
    state: definition.state as Family['state'] ?? (definition.states && makeState(presentation.states)),
    constraints: definition.constraints ?? {},
    tables: definition.tables ?? [],
    renaming
  }
  const { plain, nested } = listReferences(definition)
  for (const [field, other] of plain) references.set(field, other ?? family)
  for (const [path, other] of nested) pathReferences.set(path, other ?? family)
  return family
}

function compileFields (
  definition: FamilyDefinition,
  writable: boolean,
  operations: ReadonlyMap<string, CompiledOperation>
) {
  const { fields: own, fields: { properties } } = definition
  const { params: extra } = readCreate(definition)
  const schema = Type.Object(writable ? { ...properties, ...ServiceFields.properties } : properties)
  const fields = listFields(schema).filter(({ writeOnly }) => writeOnly !== true)
  const ownFields = listFields(own)
  const hasLongItems = mayBeLong(ownFields)
  return {
    schema,
    fields,
    ownFields,
    nested: compileNested(properties),
    hasDecimals: ownFields.some(({ kind }) => kind === 'decimal'),
    hasSecrets: ownFields.some(({ writeOnly }) => writeOnly === true),
    members: fields.map(field => field.name),
    hasLongItems,
    // The command that created an item may hold all of it.
    hasLongCommands: hasLongItems || (extra !== undefined && mayBeLong(listFields(extra))) ||
      [...operations.values()].some(({ params }) => mayBeLong(params.fields)),
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
  const { plain, nested } = listReferences(definition)
  const nameAll = (referred: readonly ReferredFamily[]): Record<string, string> =>
    Object.fromEntries(referred.map(([field, other]) => [field, other?.name ?? name]))
  return {
    name,
    fields: [...listFields(fields), ...listFields(ServiceFields)],
    indexes: chooseIndexes(definition, order),
    creates: create !== undefined,
    unique,
    references: nameAll(plain),
    ...nested.length > 0 && { pathReferences: nameAll(nested) }
  }
}

type ReferredFamily = readonly [name: string, family: Family | undefined]

/** The families of references, of fields and of paths; undefined for the family itself. */
function listReferences ({ references = {}, fields }: FamilyDefinition): Record<'plain' | 'nested', ReferredFamily[]> {
  const all = Object.entries(references).map(([name, other]) => [name, findFamily(other)] as const)
  return {
    plain: all.filter(([name]) => !isPathReference(fields, name)),
    nested: all.filter(([name]) => isPathReference(fields, name))
  }
}

function compileOperations (definition: FamilyDefinition): Map<string, CompiledOperation> {
  const { edit } = definition
  return new Map(Object.values(listOperations(definition)).map(operation => {
    const isEdit = edit !== undefined && operation.name === 'edit'
    const others = compileOthers(definition, operation.params.properties, operation.with)
    const creates = compileCreates(operation.creates)
    const past = definition.operations?.[operation.name] === undefined ? findPastName(operation.name) : undefined
    return [operation.action, { operation, params: compileParams(operation.params, isEdit), others, creates, past }]
  }))
}

function listWithOthers (changes: Family['changes'], lifecycle: Lifecycle | undefined): Set<string> {
  const all = new Map<string, CompiledChange | Lifecycle>(changes)
  if (lifecycle !== undefined) all.set(lifecycle.createAction, lifecycle)
  return new Set(Array.from(all).flatMap(([action, change]) => {
    const creates = 'creates' in change ? change.creates : []
    return change.others.length + creates.length > 0 ? action : []
  }))
}

const noExtra = Type.Object({})

function compileLifecycle (definition: FamilyDefinition): Lifecycle {
  const { singular, fields: { properties }, initial, remove } = definition
  const { fields: create, params: { properties: extra } = noExtra, creates, with: others } = readCreate(definition)
  const sent: TProperties = {}
  for (const [name, property] of Object.entries(properties)) {
    if (create.includes(name)) sent[name] = property.default === undefined ? property : Type.Optional(property)
  }
  Object.assign(sent, extra)
  const { with: removed, restore, ...rules } = typeof remove === 'object' ? remove : {}
  const deletion: Deletion['operation'] = {
    ...rules as Pick<Deletion['operation'], 'allowed' | 'apply'>,
    name: 'delete',
    noun: 'deletions',
    action: nameAction('Delete', singular),
    summary: `Delete ${addArticle(singular)}`,
    danger: true,
    final: !isRestorable(definition)
  }
  if (sent.id?.type === 'string') sent.id = { ...sent.id, allOf: [{ pattern: newIdPattern }] }
  if (sent.id?.type === 'integer') sent.id = { ...sent.id, allOf: [{ maximum: maxChosenId }] }
  return {
    createAction: nameAction('Create', singular),
    deletion: remove === false
      ? undefined
      : {
          operation: deletion,
          params: compileParams(Type.Object({})),
          others: compileOthers(definition, {}, removed as Operation['with'])
        },
    takesId: sent.id !== undefined,
    params: compileParams(Type.Object(sent), false, listDefaults(sent)),
    defaults: listDefaults(properties),
    extra: Object.keys(extra),
    initial: initial as Lifecycle['initial'],
    creates: compileCreates(creates as Operation['creates']),
    others: compileOthers(definition, sent, others as Operation['with'])
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
function chooseIndexes (definition: FamilyDefinition, order: readonly Order[]): string[][] {
  const { indexes = [] } = definition
  const named: string[][] = indexes.map(row => [row].flat())
  const ordered = toTotalOrder(order).map(({ field }) => field)
  // The id always has an index, and every index ends with it.
  const all = ordered.length === 1 ? named : [...named.filter(row => `${row.join()},id` !== ordered.join()), ordered]
  // Deleting an item looks for those that refer to it.
  const referring = listReferences(definition).plain.map(([field]) => field)
    .filter(field => !all.some(([first]) => first === field))
  return [...new Map([...all, ...referring.map(field => [field])].map(row => [row.join(), row])).values()]
}
