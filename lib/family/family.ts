import { Type } from '@sinclair/typebox'
import type { TObject } from '@sinclair/typebox'
import { reservedNames } from '../query/names.js'
import type { FamilyShape, Field, Id } from '../storage/storage.js'
import { readInteger } from '../values/read.js'
import type { FamilyDefinition, QueryDefinition } from './definition.js'
import { fieldsOf } from './shape.js'

/** A definition, checked and worked out once for all its mounts. */
export interface Family {
  readonly name: string
  readonly singular: string
  /** What clients see of an item. */
  readonly schema: TObject
  readonly fields: readonly Field[]
  readonly members: readonly string[]
  readonly shape: FamilyShape
  readonly queries: ReadonlyMap<string, QueryDefinition>
  /** The id as it stands in a path; undefined where no item can have it. */
  readId (text: string): Id | undefined
}

const service = Type.Object({
  revision: Type.Integer({ minimum: 1, description: 'One more with every change' }),
  createdAt: Type.String({ format: 'date-time', description: 'When it was created' }),
  updatedAt: Type.String({ format: 'date-time', description: 'When it last changed' })
})

/** Checks a definition; what is wrong with it is an error that says where. */
export function compileFamily (definition: FamilyDefinition): Family {
  const { name, singular, fields: schema, queries = {} } = definition
  const fields = fieldsOf(schema)
  const id = fields.find(field => field.name === 'id')
  const fail = (what: string): never => { throw new TypeError(`defineFamily "${name}": ${what}`) }

  for (const [what, word] of [['name', name], ['singular', singular]]) {
    if (!/^[a-z][a-z0-9-]*$/.test(word as string)) fail(`${what} "${word}" must be lower-case letters, digits and hyphens`)
  }
  if (id === undefined || id.optional || (id.kind !== 'integer' && id.kind !== 'string')) {
    return fail('fields must have an id, Type.Integer() or Type.String()')
  }
  for (const field of fields) {
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(field.name)) fail(`the field "${field.name}" must be letters, digits and underscores`)
    if ((reservedNames as readonly string[]).includes(field.name)) fail(`the field "${field.name}" is named like a query parameter`)
    if (field.name === 'links' || Object.hasOwn(service.properties, field.name)) fail(`the field "${field.name}" belongs to the service`)
  }
  for (const [result, { field }] of Object.entries(queries)) {
    if (!/^[a-z][a-z0-9-]*$/.test(result)) fail(`the query "${result}" must be lower-case letters, digits and hyphens`)
    if (result === name) fail(`the query "${result}" is there already: the items by id`)
    if (!fields.some(known => known.name === field && known.kind !== 'json')) fail(`the query "${result}" is by "${field}", which is no field that can be filtered`)
  }

  return {
    name,
    singular,
    schema,
    fields,
    members: fields.map(field => field.name),
    shape: {
      name,
      fields: [...fields, ...fieldsOf(service)],
      indexes: fields.filter(field => field.name !== 'id' && field.kind !== 'json').map(field => [field.name])
    },
    queries: new Map([[name, { field: 'id' }], ...Object.entries(queries)]),
    readId: id.kind === 'integer' ? readIntegerId : readTextId
  }
}

// Only the one spelling that we write ourselves, so that an item has one address.
function readIntegerId (text: string): number | undefined {
  const read = readInteger(text)
  return 'value' in read && String(read.value) === text ? read.value : undefined
}

function readTextId (text: string): string | undefined {
  return /^[A-Za-z0-9._~-]{1,100}$/.test(text) ? text : undefined
}
