import { type TSchema, Type } from '@sinclair/typebox'
import type { Members } from '../values/json.js'
import type { CreateDefinition } from './creation.js'
import type { EditDefinition, FamilyDefinition, Operation } from './definition.js'

// What a definition declares in a short form.

/** line-item -> CreateLineItem */
export function nameAction (verb: string, singular: string): string {
  return verb + singular.replace(/(^|-)([a-z0-9])/g, (_, _hyphen, letter: string) => letter.toUpperCase())
}

export function listOperations (definition: FamilyDefinition): Readonly<Record<string, Operation<Members>>> {
  const { edit, operations = {} } = definition
  const declared = operations as unknown as Record<string, Operation<Members>>
  return edit === undefined ? declared : { ...declared, edit: makeEdit(definition, readEdit(edit)) }
}

export function readCreate ({ create = [] }: Pick<FamilyDefinition, 'create'>): CreateDefinition<unknown> {
  return 'fields' in create ? create as CreateDefinition<unknown> : { fields: create }
}

export function readEdit (edit: NonNullable<FamilyDefinition['edit']>): EditDefinition<unknown> {
  return 'fields' in edit ? edit as EditDefinition<unknown> : { fields: edit }
}

function makeEdit (
  { singular, fields: { properties, required = [] } }: FamilyDefinition,
  { fields: names, ...given }: EditDefinition<unknown>
): Operation<Members> {
  const optional = names.filter(name => !required.includes(name))
  const params = names.map(name => {
    // Without its default, since omitted fields stay unchanged; null removes an optional one.
    const { default: _, ...schema } = properties[name] as TSchema
    return [name, Type.Optional(optional.includes(name) ? addNull(schema as TSchema) : schema as TSchema)]
  })
  return {
    name: 'edit',
    verb: 'edit',
    participle: 'edited',
    noun: 'edits',
    action: nameAction('Edit', singular),
    summary: `Edit the ${singular}`,
    ...given,
    params: Type.Object(Object.fromEntries(params)),
    changes: names,
    apply (item, params) {
      const edited: Record<string, unknown> = { ...item, ...params }
      for (const name of optional) if (edited[name] === null) delete edited[name]
      return edited
    }
  }
}

function addNull (schema: TSchema): TSchema {
  return schema.anyOf === undefined
    ? Type.Union([schema, Type.Null()])
    : { ...schema, anyOf: [...schema.anyOf, Type.Null()] }
}
