import type { FamilyShape, Field } from '../storage/storage.js'
import { didYouMean } from '../values/nearest.js'
import { commandsShape } from './command-schema.js'
import { findFamily } from './compiled.js'
import type { FamilyDefinition } from './definition.js'
import type { Family } from './family.js'

type Keys = Pick<FamilyDefinition, 'name' | 'unique' | 'references'>

// What it refers to stands in the links of an item, by the name of the field.
const ownLinks = ['self', 'collection', 'log', 'operations']

/** Names what is wrong with `unique` and `references`; undefined where nothing is. */
export function findFlawInKeys (fields: readonly Field[], keys: Keys): string | undefined {
  const { name, unique = [], references = {} } = keys
  return findFlawInUnique(fields, unique) ?? findFlawInReferences(fields, name, references)
}

function findFlawInUnique (fields: readonly Field[], unique: NonNullable<Keys['unique']>): string | undefined {
  const known = fields.filter(({ name }) => name !== 'id').map(({ name }) => name)
  for (const row of unique) {
    if (row.length === 0) return 'unique has a row without a field'
    if (row.includes('id')) return 'unique has "id", which is unique in any case'
    const unknown = row.find(field => !known.includes(field))
    if (unknown !== undefined) return `unique has "${unknown}", which is no field.${didYouMean(unknown, known)}`
    const json = fields.find(({ name, kind }) => kind === 'json' && row.includes(name))
    if (json !== undefined) return `unique has "${json.name}", which is kept whole and cannot be compared`
    const twice = row.find((field, index) => row.indexOf(field) !== index)
    if (twice !== undefined) return `unique has "${twice}" twice in one row`
  }
  const rows = unique.map(row => [...row].sort().join())
  const again = unique.find((_, index) => rows.indexOf(rows[index] as string) !== index)
  return again === undefined ? undefined : `unique has the row ${again.join(', ')} twice`
}

function findFlawInReferences (
  fields: readonly Field[],
  family: string,
  references: NonNullable<Keys['references']>
): string | undefined {
  const known = fields.filter(({ name }) => name !== 'id').map(({ name }) => name)
  for (const [name, other] of Object.entries(references)) {
    const field = fields.find(each => each.name === name && name !== 'id')
    if (ownLinks.includes(name)) return `references has "${name}", which is the name of another link of every item`
    if (field === undefined) return `references has "${name}", which is no field to refer by.${didYouMean(name, known)}`
    const target = other === family ? { name: family, idKind: getIdKind(fields) } : findFamily(other)
    if (target === undefined) {
      return `references has "${name}" for what is no family; it must be one that defineFamily made, or "${family}" ` +
        'for this one'
    }
    if (target.name === family && other !== family) {
      return `references has "${name}" for a family of the same name; for this one, say "${family}"`
    }
    if (field.kind !== target.idKind) {
      return `references has "${name}", which is of the kind ${field.kind}; ids of ${target.name} are ${target.idKind}`
    }
  }
  return undefined
}

function getIdKind (fields: readonly Field[]): string | undefined {
  return fields.find(({ name }) => name === 'id')?.kind
}

/** The families that fields refer to, by the fields; undefined for the family itself. */
export function readReferences ({ references = {} }: Keys): [field: string, other: Family | undefined][] {
  return Object.entries(references).map(([field, other]) => [field, findFamily(other)])
}

/** The same for a storage, which knows families by their names. */
export function shapeKeys (keys: Keys): Pick<FamilyShape, 'unique' | 'references'> {
  const { name, unique = [] } = keys
  const references = readReferences(keys).map(([field, other]) => [field, other?.name ?? name])
  return {
    ...(unique.length === 0 ? {} : { unique }),
    ...(references.length === 0 ? {} : { references: Object.fromEntries(references) })
  }
}

/** All that a storage keeps for a family: what it refers to, directly or by way of others, itself, and its log. */
export function listShapes (family: Family): readonly FamilyShape[] {
  const shapes = listWithReferred(family).map(({ shape }) => shape)
  return family.writable ? [...shapes, commandsShape] : shapes
}

function listWithReferred (family: Family): Family[] {
  const others = [...family.references.values()].filter(other => other !== family)
  return [...new Set([...others.flatMap(listWithReferred), family])]
}
