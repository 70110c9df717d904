import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { listOperations, readCreate } from '../family/declared-operations.js'
import type { FamilyDefinition } from '../family/definition.js'
import { declaresNull, ServiceFields } from '../family/fields.js'
import { findNeutral, makeDistinct } from '../family/neutral.js'
import { findPathSchema, listPaths } from '../family/paths.js'
import { getPathField } from '../values/paths.js'
import { didYouMean } from '../values/words.js'
import type { MaybeFlaw } from './other-checks.js'

export function * checkPersonal (definition: FamilyDefinition): Generator<MaybeFlaw> {
  const { fields, personal = [], references = {}, derive = {} } = definition
  const params = Object.values(listOperations(definition)).map(operation => operation.params)
  const known = [fields, readCreate(definition).params, ...params].flatMap(schema => schema ? listPaths(schema) : [])
  for (const [index, path] of personal.entries()) {
    yield path === 'id' && 'personal has "id", which stays: an item needs an id that says nothing about a person'
    yield Object.hasOwn(ServiceFields.properties, path) && `personal has "${path}", which belongs to the service`
    yield !known.includes(path) &&
      `personal has "${path}", which is not a field or a parameter.${didYouMean(path, known)}`
    yield personal.indexOf(path) !== index && `personal has "${path}" twice`
    const place = Object.hasOwn(derive, getPathField(path)) ? undefined : findPersonalField(fields, path)
    if (place === undefined || canBeEmpty(place)) continue
    yield Object.hasOwn(references, path) && `personal has "${path}", which refers to an item: ${remedy}`
    yield findNeutral([place.schema]) === undefined &&
      `personal has "${path}", for which no neutral value is known: ${remedy}, or give it a default`
  }
  yield * checkUniqueRows(definition)
}

const remedy = 'make it optional or nullable'

/** Erased items must stay different. */
function * checkUniqueRows ({ fields, personal = [], unique = [] }: FamilyDefinition): Generator<MaybeFlaw> {
  for (const row of unique) {
    const named = row.filter(name => personal.includes(name))
    const places = named.flatMap(name => findPersonalField(fields, name) ?? [])
    if (places.length === 0 || places.some(canBeEmpty)) continue
    yield places.every(({ schema }) => findNeutral([schema], sample) === undefined) &&
      `personal has "${named[0]}", which is unique, and no different neutral values are known: ${remedy}`
  }
}

const sample = makeDistinct('', '')

/** The schema of what a path leads to, and whether it may be absent. */
interface PersonalField {
  readonly schema: TSchema
  readonly isOptional: boolean
}

function findPersonalField (fields: TObject, path: string): PersonalField | undefined {
  const end = path.lastIndexOf('.')
  const parent = end === -1 ? fields : findPathSchema(fields, path.slice(0, end))
  const name = path.slice(end + 1)
  const { properties = {}, required = [] } = (parent ?? Type.Object({})) as TObject
  const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
  return schema && { schema, isOptional: !(required as string[]).includes(name) }
}

function canBeEmpty ({ schema, isOptional }: PersonalField): boolean {
  return isOptional || declaresNull(schema)
}
