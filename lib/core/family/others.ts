import type { TProperties } from '@sinclair/typebox'
import { getPathField, listPathValues, type PathValue } from '../values/paths.js'
import type { FamilyDefinition, Operation } from './definition.js'
import { getFamily, type NewDefinition, type OtherDefinition } from './family.js'
import { isPathReference } from './paths.js'
import type { AnyFamily, OtherItem, OtherItemList } from './types.js'

type Others = NonNullable<Operation['with']>

/** @param params those of the change, in which paths are looked up first */
export function compileOthers (
  { name: own, fields, references = {} }: FamilyDefinition, params: TProperties, others: Operation['with'] = {}
): OtherDefinition[] {
  return Object.entries(others as Others).map(([name, other]) => {
    const given = typeof other === 'string' ? references[other] : other.family
    const isOwn = given === own || (given as AnyFamily).definition?.name === own
    const isList = typeof other === 'string' && isPathReference(fields, other)
    const ids = isList ? compilePath(other, {}) : compileIds(name, other, params)
    return { name, family: isOwn ? undefined : getFamily(given as AnyFamily), ...ids }
  })
}

/** The first part of a path is a parameter or, if none has the name, a field of the item. */
export function isOfParams (path: string, params: TProperties): boolean {
  return Object.hasOwn(params, getPathField(path))
}

function compileIds (
  name: string, other: Others[string], params: TProperties
): Omit<OtherDefinition, 'name' | 'family'> {
  const single = { isList: false, field: undefined, parameter: undefined, needsItem: true }
  if (typeof other === 'string') {
    const pointer = `/${other}`
    return { ...single, field: other, find: (_params, item) => toPathValues(pointer, item[other] ?? undefined) }
  }
  if ('path' in other) return compilePath((other as OtherItemList).path, params)
  const { id: nameId } = other as OtherItem
  return {
    ...single,
    needsItem: nameId.length > 1,
    find (params, item) {
      const id = nameId(params, item)
      // Usually the parameter is named like the item; otherwise it is the one that has the id.
      const parameter = Object.hasOwn(params, name) ? name : Object.keys(params).find(each => params[each] === id)
      return toPathValues(`/${parameter ?? name}`, id)
    }
  }
}

function toPathValues (pointer: string, value: unknown): readonly PathValue[] {
  return value === undefined ? [] : [{ pointer, value }]
}

function compilePath (path: string, params: TProperties): Omit<OtherDefinition, 'name' | 'family'> {
  const needsItem = !isOfParams(path, params)
  return {
    isList: true,
    field: needsItem ? path : undefined,
    parameter: needsItem ? undefined : path,
    needsItem,
    find: (params, item) => listPathValues(needsItem ? item : params, path)
  }
}

export function compileCreates (creates: Operation['creates'] = {}): NewDefinition[] {
  return Object.entries(creates).map(([name, its]) => {
    const [family, isList] = Array.isArray(its) ? [its[0] as AnyFamily, true] : [its as AnyFamily, false]
    return { name, family: getFamily(family), isList }
  })
}
