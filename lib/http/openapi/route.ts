import { type TProperties, Type } from '@sinclair/typebox'
import type { Mount } from '../mount.js'
import type { RouteSchema } from '../routes.js'
import { describeId } from './schemas.js'

/** Tags of a family begin with its name; the others are for all families at a prefix. */
const tags = {
  items: (family: string) => family,
  operations: (family: string) => `${family}: operations`,
  commands: (family: string) => `${family}: commands`,
  'all commands': () => 'commands',
  home: () => 'home'
}

type Group = keyof typeof tags

/** `path` has the parameters of the path, without those of the prefix. */
export type Description = Omit<RouteSchema, 'params' | 'tags'> & { readonly path?: TProperties }

export function describeItemRoute (mount: Mount, group: Group, name: string, description: Description): RouteSchema {
  return describeRoute(mount, group, name, { ...description, path: { id: describeId(mount), ...description.path } })
}

/** For a path without a version. */
export function describeSharedRoute (mount: Mount, group: Group, name: string, description: Description): RouteSchema {
  return describeRoute(mount, group, name, description, mount.prefix)
}

/** The operation id is unique over all mounts of an application. */
export function describeRoute (
  { prefix, version = '', family }: Mount,
  group: Group,
  name: string,
  { path = {}, ...schema }: Description,
  place = `${prefix}/${version}`
): RouteSchema {
  // The prefix may have parameters, such as /:tenant.
  const ofPrefix = Array.from(prefix.matchAll(/(?<!:):(\w+)/g), ([, name]) =>
    [name, Type.String({ description: `The ${name} in the path` })])
  const params = { ...Object.fromEntries(ofPrefix), ...path }
  // With the whole place, as in listDeals_crm_v1. Characters not allowed in names become their codes, a colon none.
  const words = place.split('/').filter(word => word !== '').map(word => word.replace(/[^A-Za-z0-9]/gu, character =>
    character === ':' ? '__' : `__${character.codePointAt(0)?.toString(16)}`))
  return {
    operationId: [name.replace(/-+(.)/g, (_, letter: string) => letter.toUpperCase()), ...words].join('_'),
    tags: [tags[group](family.name)],
    ...schema,
    ...(Object.keys(params).length > 0 ? { params: Type.Object(params) } : {})
  }
}
