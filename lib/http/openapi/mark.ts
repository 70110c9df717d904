import type { TSchema } from '@sinclair/typebox'
import type { Mount } from '../mount.js'

/**
 * The keyword by which a schema says which component it is to be, and a route that it is ours. It is gone when the
 * document is made; where something else reads our schemas, it is an extension like any other.
 */
export const mark = 'x-component'

/** The same of a parameter, which stands in the schema that it has. */
export const parameterMark = 'x-parameter'

/** A schema that becomes the component of this name; where the name is taken, the place of the mount is added to it. */
export function nameSchema<S extends TSchema> (mount: Mount, name: string, schema: S): S {
  return { ...schema, [mark]: addPlace(mount, name) }
}

/** A parameter that becomes the component of this name in the same way. */
export function nameParameter<S extends TSchema> (mount: Mount, name: string, schema: S): S {
  return { ...schema, [parameterMark]: addPlace(mount, name) }
}

function addPlace ({ prefix, version = '' }: Mount, name: string): string {
  return `${name} ${prefix}/${version}`
}

/** A schema that is alike in all mounts. */
export function nameSharedSchema<S extends TSchema> (name: string, schema: S): S {
  return { ...schema, [mark]: name }
}

/** A parameter that is alike in all mounts. */
export function nameSharedParameter<S extends TSchema> (name: string, schema: S): S {
  return { ...schema, [parameterMark]: name }
}

/** The name of a family's item as that of a type: `LineItem` of `line-item`. */
export function nameItem ({ family }: Mount): string {
  return toPascalCase(family.singular)
}

/** Words as the name of a type, whatever stands between them. */
export function toPascalCase (words: string): string {
  return words.split(/[^A-Za-z0-9]+/).map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

/** The names that a marked component may have, the first of them that is free or that stands for the same. */
export function * listNames (marked: string): Generator<string> {
  const [name, place = ''] = marked.split(' ') as [string, string?]
  yield name
  const words = place.split('/').map(toPascalCase).filter(word => word !== '')
  for (let count = 1; count <= words.length; count++) yield name + words.slice(-count).join('')
  for (let number = 2; ; number++) yield name + number
}
