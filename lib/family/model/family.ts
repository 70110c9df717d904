import { Type } from '@sinclair/typebox'
import type { TObject, TProperties } from '@sinclair/typebox'
import { reservedNames } from '../../query/names.js'
import type { FamilyShape, Field, Id } from '../../storage/storage.js'
import { readInteger } from '../../query/values.js'
import { compileValidator } from '../../values/validate.js'
import type { Validator } from '../../values/validate.js'
import { CommandMembers } from './command.js'
import type { AttributeForm, FamilyDefinition, QueryDefinition } from './definition.js'
import type { Operation, Spoken } from './operation.js'
import { compileParams } from './params.js'
import type { Members, Params } from './params.js'
import { fieldsOf } from './shape.js'
import { flawOfWords } from './words.js'

/** An operation with its parameters ready to be read. */
export interface CompiledOperation {
  readonly operation: Operation<Members>
  readonly params: Params
}

/** How items come to be and go. */
export interface Lifecycle {
  readonly createAction: string
  /** How deleting is said by its noun. */
  readonly deletion: { readonly operation: Spoken, readonly params: Params }
  readonly params: Params
  /** The members that a new item has before the client's are put in. */
  readonly defaults: Members
}

/** A definition, checked and worked out once for all its mounts. */
export interface Family {
  readonly name: string
  readonly singular: string
  /** What clients see of an item. */
  readonly schema: TObject
  readonly fields: readonly Field[]
  /** Without what the service adds. */
  readonly ownFields: readonly Field[]
  readonly members: readonly string[]
  readonly shape: FamilyShape
  readonly writable: boolean
  readonly versioned: boolean
  readonly lifecycle: Lifecycle | undefined
  /** By action. */
  readonly operations: ReadonlyMap<string, CompiledOperation>
  readonly attributes: AttributeForm<Members> | undefined
  readonly queries: ReadonlyMap<string, QueryDefinition>
  readonly idKind: 'integer' | 'string'
  readonly makeId: (() => Id) | undefined
  /** Checks the declared fields of an item. */
  readonly validate: Validator
  /** The id as it stands in a path; undefined where no item can have it. */
  readId (text: string): Id | undefined
  /** The state of an item in a word. */
  readonly state: ((item: Members) => string) | undefined
}

const service = Type.Object({
  revision: Type.Integer({ minimum: 1, description: 'One more with every change' }),
  createdAt: Type.String({ format: 'date-time', description: 'When it was created' }),
  updatedAt: Type.String({ format: 'date-time', description: 'When it last changed' })
})

/** Checks a definition; what is wrong with it is an error that says where. */
export function compileFamily (definition: FamilyDefinition): Family {
  const { name, singular, queries = {}, create, operations = {}, attributes, state } = definition
  const flaw = flawOfNames(definition) ?? flawOfFields(definition) ??
    flawOfWords(operations, create === undefined ? [] : [actionOf('Create', singular), actionOf('Delete', singular), 'deletions'])
  if (flaw !== undefined) throw new TypeError(`defineFamily "${name}": ${flaw}`)

  const declared = definition.fields
  // Only what can be written has revisions worth showing.
  const writable = create !== undefined || Object.keys(operations).length > 0
  const schema = writable ? Type.Object({ ...declared.properties, ...service.properties }) : Type.Object(declared.properties)
  const fields = fieldsOf(schema)
  const ownFields = fieldsOf(declared)
  const idKind = declared.properties.id?.type as 'integer' | 'string'

  return {
    name,
    singular,
    schema,
    fields,
    ownFields,
    members: fields.map(field => field.name),
    shape: {
      name,
      fields: [...ownFields, ...fieldsOf(service)],
      indexes: ownFields.filter(field => field.name !== 'id' && field.kind !== 'json').map(field => [field.name])
    },
    writable,
    versioned: definition.versioned ?? false,
    lifecycle: create === undefined ? undefined : lifecycle(singular, declared, create),
    operations: new Map(Object.values(operations).map(operation => [operation.action, {
      operation: operation as Operation<Members>,
      params: compileParams(operation.params)
    }])),
    attributes: attributes as AttributeForm<Members> | undefined,
    queries: new Map([[name, { field: 'id' }], ...Object.entries(queries)]),
    idKind,
    makeId: definition.makeId,
    validate: compileValidator(Type.Object(declared.properties, { additionalProperties: false })),
    readId: idKind === 'integer' ? readIntegerId : readTextId,
    state: state as ((item: Members) => string) | undefined
  }
}

function flawOfNames ({ name, singular, fields: schema, queries = {} }: FamilyDefinition): string | undefined {
  const fields = fieldsOf(schema)
  for (const [what, word] of [['name', name], ['singular', singular]] as const) {
    if (!/^[a-z][a-z0-9-]*$/.test(word)) return `${what} "${word}" must be lower-case letters, digits and hyphens`
  }
  if (name === 'commands') return 'this name belongs to the log'
  if (singular === 'links' || Object.hasOwn(CommandMembers.properties, singular)) return `the singular "${singular}" is a member of every command`
  const id = fields.find(field => field.name === 'id')
  if (id === undefined || id.optional || (id.kind !== 'integer' && id.kind !== 'string')) return 'fields must have an id, Type.Integer() or Type.String()'
  for (const field of fields) {
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(field.name)) return `the field "${field.name}" must be letters, digits and underscores`
    if ((reservedNames as readonly string[]).includes(field.name)) return `the field "${field.name}" is named like a query parameter`
    if (field.name === 'links' || field.name === 'action' || Object.hasOwn(service.properties, field.name)) return `the field "${field.name}" belongs to the service`
  }
  for (const [result, { field }] of Object.entries(queries)) {
    if (!/^[a-z][a-z0-9-]*$/.test(result)) return `the query "${result}" must be lower-case letters, digits and hyphens`
    if (result === name) return `the query "${result}" is there already: the items by id`
    if (!fields.some(known => known.name === field && known.kind !== 'json')) return `the query "${result}" is by "${field}", which is no field that can be filtered`
  }
  return undefined
}

function flawOfFields ({ fields, create, attributes, operations = {} }: FamilyDefinition): string | undefined {
  for (const { name, changes = [] } of Object.values(operations)) {
    const unknown = changes.find(field => !Object.hasOwn(fields.properties, field))
    if (unknown !== undefined) return `the operation "${name}" changes "${unknown}", which is no field`
  }
  for (const field of [...create ?? [], ...attributes?.fields ?? []]) {
    if (field === 'id' || !Object.hasOwn(fields.properties, field)) return `"${field}" is no field that a client can send`
  }
  if (create === undefined) return undefined
  for (const { name, optional } of fieldsOf(fields)) {
    if (name !== 'id' && !optional && !create.includes(name) && fields.properties[name]?.default === undefined) {
      return `the field "${name}" needs a default, or must be optional or in create`
    }
  }
  return undefined
}

function lifecycle (singular: string, declared: TObject, create: readonly string[]): Lifecycle {
  const sent: TProperties = {}
  const defaults: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(declared.properties)) {
    if (property.default !== undefined) defaults[name] = property.default
    // What has a default need not be sent.
    if (create.includes(name)) sent[name] = property.default === undefined ? property : Type.Optional(property)
  }
  return {
    createAction: actionOf('Create', singular),
    deletion: {
      operation: { name: 'delete', noun: 'deletions', action: actionOf('Delete', singular), summary: `Delete a ${singular}` },
      params: compileParams(Type.Object({}))
    },
    params: compileParams(Type.Object(sent)),
    defaults
  }
}

// line-item -> CreateLineItem
function actionOf (verb: string, singular: string): string {
  return verb + singular.replace(/(^|-)([a-z0-9])/g, (_, _hyphen, letter: string) => letter.toUpperCase())
}

// Only the one spelling that we write ourselves, so that an item has one address.
function readIntegerId (text: string): number | undefined {
  const read = readInteger(text)
  return 'value' in read && String(read.value) === text ? read.value : undefined
}

function readTextId (text: string): string | undefined {
  return /^[A-Za-z0-9._~-]{1,100}$/.test(text) ? text : undefined
}
