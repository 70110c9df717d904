import type { RouteSchema } from '../http/routes.js'
import type { Mount } from '../mount/mount.js'

/** The description of a route of one mount, with an id that is unique over all mounts of an application. */
export function describeRoute (mount: Mount, name: string, schema: RouteSchema): RouteSchema {
  return { operationId: makeOperationId(mount, name, mount.version), tags: [mount.family.name], ...schema }
}

/** The same on the paths that the families at one prefix share, whatever their versions are. */
export function describeSharedRoute (mount: Mount, name: string, schema: RouteSchema): RouteSchema {
  return { operationId: makeOperationId(mount, name, undefined), tags: [mount.family.name], ...schema }
}

// Nothing of the place is lost in it: listDeals_crm_v1.
function makeOperationId ({ prefix }: Mount, name: string, version: string | undefined): string {
  const place = version === undefined ? prefix : `${prefix}/${version}`
  const words = place.split('/').filter(word => word !== '').map(word => word.replace(/[^A-Za-z0-9]/gu, escapeInId))
  return [name.replace(/-+(.)/g, (_, letter: string) => letter.toUpperCase()), ...words].join('_')
}

// So that the id is a name in a program. The usual one, the colon of a parameter, has no number.
function escapeInId (character: string): string {
  return character === ':' ? '__' : `__${character.codePointAt(0)?.toString(16)}`
}
