import type { RouteSchema } from '../http/routes.js'
import type { Mount } from '../mount/mount.js'
import { mark } from './mark.js'

/** What routes are about, each with the end of their tag and what it says of them. */
const groups = {
  items: ['', 'read, made and deleted'],
  operations: [': operations', 'what can be done with one, in several forms that mean the same'],
  commands: [': commands', 'the log of what was done, and commands by name or under an id that the client chooses']
} as const

type Group = keyof typeof groups

/** The description of a route of one mount, with an id that is unique over all mounts of an application. */
export function describeRoute (mount: Mount, group: Group, name: string, schema: RouteSchema): RouteSchema {
  return { operationId: makeOperationId(mount, name, mount.version), ...describeGroup(mount, group), ...schema }
}

/** The same on the paths that the families at one prefix share, whatever their versions are. */
export function describeSharedRoute (mount: Mount, group: Group, name: string, schema: RouteSchema): RouteSchema {
  return { operationId: makeOperationId(mount, name, undefined), ...describeGroup(mount, group), ...schema }
}

/** The same where the families share even the route. */
export function describeCommonRoute (mount: Mount, name: string, schema: RouteSchema): RouteSchema {
  const operationId = makeOperationId(mount, name, undefined)
  const about = 'Commands of all families, under ids that clients choose'
  return { operationId, tags: ['commands'], [mark]: about, ...schema }
}

function describeGroup ({ family: { name } }: Mount, group: Group): RouteSchema {
  const [end, what] = groups[group]
  return { tags: [name + end], [mark]: `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${what}` }
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
