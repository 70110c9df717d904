import type { Id } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { AnyFamily } from './compiled.js'
import { getFamily } from './compiled.js'
import type { FamilyDefinition } from './definition.js'
import type { Family } from './family.js'
import type { Operation } from './operation.js'

/** Another item that an operation needs, by its name in `with`. */
export interface CompiledOther {
  readonly name: string
  /** Undefined where it is the family that has the operation. */
  readonly family: Family | undefined
  id (params: Members): Id | undefined
}

export function compileOthers (family: string, { with: others = {} }: Operation<Members>): CompiledOther[] {
  return Object.entries(others).map(([name, other]) => ({
    name,
    family: nameFamily(other.family) === family ? undefined : getFamily(other.family as AnyFamily),
    id: params => other.id(params)
  }))
}

/** Says what is wrong with the other items that operations need. */
export function findFlawInOthers ({ name, fields, operations = {} }: FamilyDefinition): string | undefined {
  for (const [key, { with: others }] of Object.entries(operations)) {
    if (others === undefined) continue
    if (Object.hasOwn(fields.properties, 'others')) {
      return `the operation "${key}" has with, and "others" is then what apply gives back beside the item, not a field`
    }
    for (const [other, { family }] of Object.entries(others)) {
      const what = `the operation "${key}", with "${other}"`
      if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(other)) return `${what}: its name must be letters, digits and underscores`
      if (typeof family === 'string' && family !== name) {
        return `${what}: the family "${family}" is not this one; another is given as defineFamily made it`
      }
    }
  }
  return undefined
}

function nameFamily (family: string | AnyFamily): string {
  return typeof family === 'string' ? family : family.definition.name
}
