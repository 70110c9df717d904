import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { acceptNumbers } from '../../core/book/describe.js'
import { CommandMembers } from '../../core/family/fields.js'
import type { Params } from '../../core/family/params.js'
import { problemCodes } from '../../core/problems.js'
import type { Mount } from '../mount.js'

/** Keeps a schema by an id that Fastify and @fastify/swagger find in the mount's scope; returns a reference to it. */
export function nameSchema (mount: Mount, name: string, schema: TSchema): TSchema {
  const { prefix, version = '', schemas, schemaTexts, schemaIds } = mount
  const known = schemaIds.get(name)
  if (known !== undefined) return Type.Unsafe({ $ref: `${known}#` })
  const text = JSON.stringify(schema)
  // Mounts share schemas that do not differ. Otherwise, prefix and version make the id unique.
  const shared = `dealbook.${name}`
  const isShared = (schemaTexts.get(shared) ?? text) === text
  const $id = isShared ? shared : [...`${prefix}/${version}`.match(/[A-Za-z0-9_-]+/g) ?? ['root'], name].join('.')
  schemaIds.set(name, $id)
  schemaTexts.set($id, text)
  schemas.set($id, { ...schema, $id })
  return Type.Unsafe({ $ref: `${$id}#` })
}

const schemaTexts = new WeakMap<object, Map<string, string>>()

/** The schemas of all mounts in an application, as JSON, by their ids. */
export function findSchemaTexts ({ server }: FastifyInstance): Map<string, string> {
  const texts = schemaTexts.get(server) ?? new Map<string, string>()
  schemaTexts.set(server, texts)
  return texts
}

/** Only in the scope of the mount; the host's instance has none of them. */
export function addSchemas (app: FastifyInstance, { schemas }: Mount): void {
  for (const [id, schema] of schemas) if (app.getSchema(id) === undefined) app.addSchema(schema)
}

/** `LineItem` for `line-item`. */
export function nameItem ({ family }: Mount): string {
  return toPascalCase(family.singular)
}

function toPascalCase (words: string): string {
  return words.split(/[^A-Za-z0-9]+/).map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

export const linkSchema = Type.String({ format: 'uri-reference' })

export function describeId ({ family }: Mount): TSchema {
  const { examples, description, ...id } = family.schema.properties.id as TSchema
  return id as TSchema
}

/** Members that refer to other items may be ids or, with `expand`, items. */
export function describeListedItem (mount: Mount): TSchema {
  const { references } = mount.family
  return references.size === 0 ? describeItem(mount) : Type.Union([describeItem(mount), describeExpanded(mount)])
}

export function describeLinkedItem (mount: Mount): TSchema {
  return addItemLinks(mount, `Linked${nameItem(mount)}`, describeItem(mount))
}

export function describeReadItem (mount: Mount): TSchema {
  const linked = describeLinkedItem(mount)
  if (mount.family.references.size === 0) return linked
  return Type.Union([linked, addItemLinks(mount, `ExpandedLinked${nameItem(mount)}`, describeExpanded(mount))])
}

function describeItem (mount: Mount): TSchema {
  return nameSchema(mount, nameItem(mount), mount.family.schema)
}

function addItemLinks (mount: Mount, name: string, item: TSchema): TSchema {
  return nameSchema(mount, name, Type.Unsafe({ allOf: [item, Type.Object({ links: describeItemLinks(mount) })] }))
}

function describeExpanded (mount: Mount): TSchema {
  const { references, schema: { properties, required } } = mount.family
  const expanded: TProperties = { ...properties }
  for (const [field, referred] of references) {
    // It is shown as in the mount beside.
    const { singular, schema } = mount.neighbours.find(referred.name, mount)?.family ?? referred
    const other = nameSchema(mount, toPascalCase(singular), schema)
    const either = Type.Unsafe({ anyOf: [properties[field], other] })
    expanded[field] = required?.includes(field) === true ? either : Type.Optional(either)
  }
  return nameSchema(mount, `Expanded${nameItem(mount)}`, Type.Object(expanded))
}

export function describeItemLinks (mount: Mount): TSchema {
  const { references, writable } = mount.family
  return nameSchema(mount, `${nameItem(mount)}Links`, Type.Object({
    self: linkSchema,
    collection: linkSchema,
    ...(writable ? { log: linkSchema, operations: linkSchema } : {}),
    ...Object.fromEntries(Array.from(references.keys(), field => [field, Type.Optional(linkSchema)]))
  }))
}

export function describeParams (mount: Mount, action: string, { schema }: Params): TSchema {
  return nameSchema(mount, `${action}Params`, acceptNumbers(schema))
}

export function describeNew (mount: Mount, { schema }: Params): TSchema {
  return nameSchema(mount, `New${nameItem(mount)}`, acceptNumbers(schema))
}

export function describeActions (mount: Mount, end: 'Action' | 'Command', others: TProperties = {}): TSchema[] {
  return [...mount.family.operations].map(([action, { params }]) => {
    const schema = describeParams(mount, action, params)
    return nameSchema(mount, action + end, Type.Object({
      ...others,
      action: Type.Literal(action),
      params: params.fields.every(({ optional }) => optional) ? Type.Optional(schema) : schema
    }, { additionalProperties: false }))
  })
}

/** Any action with its parameters, as `update` and the commands send it. */
export function describeAction (mount: Mount): TSchema {
  return nameSchema(mount, `${nameItem(mount)}Action`, Type.Union(describeActions(mount, 'Action')))
}

export function describeEntry (mount: Mount): TSchema {
  return nameSchema(mount, `${nameItem(mount)}Entry`, describeMembers(mount))
}

export function describeCommand (mount: Mount): TSchema {
  const links = linkCommand(mount, linkSchema)
  return nameSchema(mount, `${nameItem(mount)}Command`, describeMembers(mount, { links }))
}

/** A command that changed nothing is only in the log if the client chose its id. */
export function describeUnchanged (mount: Mount): TSchema {
  const links = linkCommand(mount, Type.Optional(linkSchema))
  return nameSchema(mount, `Unchanged${nameItem(mount)}`, describeMembers(mount, { links }, true))
}

function linkCommand (mount: Mount, self: TSchema): TObject {
  return Type.Object({ self, [mount.family.singular]: linkSchema })
}

/** The members of all commands are one schema. */
function describeMembers (mount: Mount, more: TProperties = {}, isUnchanged = false): TSchema {
  const { id, ...members } = CommandMembers.properties
  const named = isUnchanged ? Type.Optional(id) : id
  const own = Type.Object({ id: named, [mount.family.singular]: describeId(mount), ...more })
  return Type.Unsafe({ allOf: [own, nameSchema(mount, 'CommandMembers', Type.Object(members))] })
}

export const ProblemSchema = Type.Object({
  type: Type.Unsafe<string>({
    type: 'string', enum: Object.keys(problemCodes).map(code => `urn:dealbook:problem:${code}`)
  }),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String({ description: 'What is wrong, and what is allowed' }),
  instance: Type.Optional(Type.String({ description: 'The path of the request' })),
  errors: Type.Optional(Type.Array(Type.Object({
    parameter: Type.Optional(Type.String({ description: 'The query parameter that is wrong' })),
    pointer: Type.Optional(Type.String({ description: 'The JSON pointer of the member that is wrong' })),
    detail: Type.String()
  }))),
  more: Type.Optional(Type.Integer({ description: 'How many flaws there are besides those in errors' })),
  state: Type.Optional(Type.String({ description: 'Where the state does not allow it: the state' })),
  operation: Type.Optional(Type.String({ description: 'The operation that the state does not allow' })),
  allowed: Type.Optional(Type.Array(Type.String(), { description: 'The operations that are allowed in it' })),
  revision: Type.Optional(Type.Integer({ description: 'Where the precondition does not hold: the current revision' })),
  family: Type.Optional(Type.String({ description: 'Where something refers to it: the family of that' }))
})
