import type { TProperties } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { Mount } from '../mount.js'
import type { RouteSchema } from '../routes.js'
import { describeId } from './schemas.js'

/** The ends of the tags that routes of a family have. */
const tagEnds = { items: '', operations: ': operations', commands: ': commands' }

type Group = keyof typeof tagEnds

/** The description of a route; `path` has the parameters of its path besides those of the prefix. */
export type Description = Omit<RouteSchema, 'params' | 'tags'> & { readonly path?: TProperties }

/** The description of a route of one mount, with an id that is unique over all mounts of an application. */
export function describeRoute (mount: Mount, group: Group, name: string, description: Description): RouteSchema {
  return complete(mount, `${mount.prefix}/${mount.version ?? ''}`, nameTag(mount, group), name, description)
}

/** The same for a route below an item. */
export function describeItemRoute (mount: Mount, group: Group, name: string, description: Description): RouteSchema {
  return describeRoute(mount, group, name, { ...description, path: { id: describeId(mount), ...description.path } })
}

/** The same on a path without a version. */
export function describeSharedRoute (mount: Mount, group: Group, name: string, description: Description): RouteSchema {
  return complete(mount, mount.prefix, nameTag(mount, group), name, description)
}

/** The same where the families at one prefix share the route. */
export function describeCommonRoute (mount: Mount, tag: string, name: string, description: Description): RouteSchema {
  return complete(mount, mount.prefix, tag, name, description)
}

function nameTag ({ family: { name } }: Mount, group: Group): string {
  return name + tagEnds[group]
}

function complete (
  { prefix }: Mount,
  place: string,
  tag: string,
  name: string,
  { path = {}, ...schema }: Description
): RouteSchema {
  // A host may mount under a path with parameters, such as /:tenant.
  const ofPrefix = Array.from(prefix.matchAll(/(?<!:):(\w+)/g), ([, name]) =>
    [name, Type.String({ description: `The ${name} in the path` })])
  const params = { ...Object.fromEntries(ofPrefix), ...path }
  const hasParams = Object.keys(params).length > 0
  return {
    operationId: makeOperationId(place, name),
    tags: [tag],
    ...schema,
    ...(hasParams ? { params: Type.Object(params) } : {})
  }
}

// Nothing of the place is lost in it: listDeals_crm_v1.
function makeOperationId (place: string, name: string): string {
  const words = place.split('/').filter(word => word !== '').map(word => word.replace(/[^A-Za-z0-9]/gu, escapeInId))
  return [name.replace(/-+(.)/g, (_, letter: string) => letter.toUpperCase()), ...words].join('_')
}

// So that the id is a name in a program. The usual one, the colon of a parameter, has no number.
function escapeInId (character: string): string {
  return character === ':' ? '__' : `__${character.codePointAt(0)?.toString(16)}`
}
