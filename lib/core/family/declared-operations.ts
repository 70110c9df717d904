import { type TSchema, Type } from '@sinclair/typebox'
import type { Members } from '../values/json.js'
import type { CreateDefinition } from './creation.js'
import type { EditDefinition, FamilyDefinition, Operation } from './definition.js'
import type { CompiledOperation } from './family.js'
import { listFields } from './fields.js'

// What a definition declares in a short form.

/** line-item -> CreateLineItem */
export function nameAction (verb: string, singular: string): string {
  return verb + singular.replace(/(^|-)([a-z0-9])/g, (_, _hyphen, letter: string) => letter.toUpperCase())
}

export function listOperations (definition: FamilyDefinition): Readonly<Record<string, Operation<Members>>> {
  const { edit, operations, revert = false } = definition
  return {
    ...operations as unknown as Record<string, Operation<Members>>,
    ...edit !== undefined && { edit: makeEdit(definition, readEdit(edit)) },
    ...revert !== false && { revert: makeRevert(definition) },
    ...isRestorable(definition) && { restore: makeRestore(definition) }
  }
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

// Operations that need an item as it was: they are like those that a host declares, but for what is loaded for them.

/**
 * Without a rule that undoes what the deletion did to others, these would differ from before. An operation of the host
 * that has one of its words takes its place, unless the definition asks for it.
 */
export function isRestorable ({ singular, create, remove = true, fields, operations = {} }: FamilyDefinition): boolean {
  if (create === undefined || remove === false) return false
  const { apply, restore } = remove === true ? {} : remove
  if (restore === false || (restore === undefined && apply !== undefined)) return false
  const words = ['restore', 'restored', 'restorations', nameAction('Restore', singular)]
  const isTaken = Object.entries(operations).some(([key, { verb, participle, noun, action }]) =>
    [key, verb, participle, noun, action].some(word => words.includes(word)))
  if (restore === undefined && isTaken) return false
  // The log never has the values of fields that no client reads.
  return !listFields(fields).some(({ writeOnly, optional, default: value }) =>
    writeOnly === true && !optional && value === undefined)
}

export function findPastName (name: string): CompiledOperation['past'] {
  return name === 'restore' || name === 'revert' ? name : undefined
}

/** @param definition of a family whose deleted items can be restored */
export function makeRestore ({ singular, remove }: FamilyDefinition): Operation<Members> {
  const { with: others, restore } = typeof remove === 'object' ? remove : {}
  return {
    name: 'restore',
    verb: 'restore',
    participle: 'restored',
    noun: 'restorations',
    action: nameAction('Restore', singular),
    summary: `Restore a deleted ${singular}`,
    params: Type.Object({}),
    ...others !== undefined && { with: others as NonNullable<Operation['with']> },
    // Like that of a deletion, it returns others only.
    apply: (item, params, context) =>
      (typeof restore === 'function' ? restore(item as never, params, context) : undefined) as never
  }
}

export function makeRevert ({ singular, fields, revert }: FamilyDefinition): Operation<Members> {
  const { allowed } = typeof revert === 'object' ? revert : {}
  const { required = [] } = fields
  return {
    name: 'revert',
    verb: 'revert',
    participle: 'reverted',
    noun: 'reversions',
    action: nameAction('Revert', singular),
    summary: `Give the ${singular} the values of an earlier revision`,
    params: Type.Object({ to: Type.Integer({ minimum: 1, description: 'The revision' }) }),
    ...allowed !== undefined && { allowed: allowed as NonNullable<Operation<Members>['allowed']> },
    apply (item, _params, { items: { was = item } }) {
      const kept = required.filter(name => was[name] === undefined).map(name => [name, item[name]])
      return { ...was, ...Object.fromEntries(kept) }
    }
  }
}
