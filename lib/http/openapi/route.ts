import type { TObject } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { Mount } from '../mount.js'
import type { RouteSchema } from '../routes.js'
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
  return completeSchema(mount, `${mount.prefix}/${mount.version ?? ''}`, name, describeGroup(mount, group), schema)
}

/** The same on the paths that the families at one prefix share, whatever their versions are. */
export function describeSharedRoute (mount: Mount, group: Group, name: string, schema: RouteSchema): RouteSchema {
  return completeSchema(mount, mount.prefix, name, describeGroup(mount, group), schema)
}

/** The same where the families share even the route. @param about what its tag says */
export function describeCommonRoute (
  mount: Mount,
  tag: string,
  about: string,
  name: string,
  schema: RouteSchema
): RouteSchema {
  return completeSchema(mount, mount.prefix, name, [tag, about], schema)
}

function describeGroup ({ family: { name } }: Mount, group: Group): [tag: string, about: string] {
  const [end, what] = groups[group]
  return [name + end, `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${what}`]
}

function completeSchema (
  { prefix }: Mount,
  place: string,
  name: string,
  [tag, about]: readonly [string, string],
  schema: RouteSchema
): RouteSchema {
  const params = describePath(prefix, schema.params as TObject | undefined)
  return { operationId: makeOperationId(place, name), tags: [tag], [mark]: about, ...schema, ...(params && { params }) }
}

/** The parameters of a path, those in the prefix of the host among them. */
function describePath (prefix: string, own: TObject | undefined): TObject | undefined {
  const names = Array.from(prefix.matchAll(/(?<!:):(\w+)/g), ([, name]) => name as string)
  if (names.length === 0) return own
  const ofPrefix = names.map(name => [name, Type.String({ description: `The ${name} in the path` })])
  return Type.Object({ ...Object.fromEntries(ofPrefix), ...own?.properties })
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
