import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { isDeepStrictEqual } from 'node:util'
import type { Stored } from '../../storage/storage.js'
import type { MemberFlaw } from '../../values/validate.js'
import type { Command } from '../model/command.js'
import type { Family } from '../model/family.js'
import type { Mount } from '../mount/mount.js'
import { compileParams } from '../model/params.js'
import type { Members } from '../model/params.js'
import { targetOfPath } from '../mount/paths.js'
import { bodyOf, invalidBody, readSent } from '../write/sent.js'

/**
 * `PUT …/{id}` (or a merge patch) with members of the item as they are wanted. What differs from the item is turned into
 * the operation that it stands for; what is left out stays, and what another operation changes is refused.
 */
export function attributeReader (mount: Mount): (request: FastifyRequest) => Command {
  const { family } = mount
  const sent = compileParams(Type.Partial(family.schema))

  return request => {
    const target = targetOfPath(mount, request)
    const { members, removed } = splitNulls(family, request)
    const wanted = readSent(sent, members)
    return { action: undefined, target, params: {}, interpret: current => interpret(family, current, wanted, removed) }
  }
}

function interpret (family: Family, current: Stored, wanted: Members, removed: readonly string[]): Pick<Command, 'action' | 'params'> {
  const differing = [
    ...Object.keys(wanted).filter(name => !isDeepStrictEqual(wanted[name], current[name])),
    ...removed.filter(name => current[name] !== undefined)
  ]
  const own = family.attributes?.fields ?? []
  const flaws = differing.filter(name => !own.includes(name)).map(name => misplaced(family, name))
  if (flaws.length > 0) throw invalidBody(flaws)
  if (differing.length === 0) return { action: undefined, params: {} }

  const merged: Record<string, unknown> = { ...current, ...wanted }
  for (const name of removed) delete merged[name]
  const reading = family.attributes?.read(merged, current)
  if (reading === undefined || 'field' in reading) throw invalidBody([{ pointer: `/${reading?.field}`, detail: reading?.detail ?? '' }])
  const operation = [...family.operations.values()].find(({ operation }) => operation.name === reading.operation)
  if (operation === undefined) throw new TypeError(`${family.name}: attributes names the operation "${reading.operation}", which there is not`)
  return { action: operation.operation.action, params: readSent(operation.params, reading.params) }
}

// In a merge patch, null takes an optional member away (RFC 7396).
function splitNulls ({ fields }: Family, request: FastifyRequest): { members: Members, removed: string[] } {
  const body = bodyOf(request)
  if (request.method !== 'PATCH') return { members: body, removed: [] }
  const removed = fields.filter(({ name, optional }) => optional && body[name] === null).map(({ name }) => name)
  return { members: Object.fromEntries(Object.entries(body).filter(([name]) => !removed.includes(name))), removed }
}

function misplaced ({ operations }: Family, name: string): MemberFlaw {
  const owners = [...operations.values()].filter(({ operation }) => operation.changes?.includes(name)).map(({ operation }) => operation.name)
  const detail = owners.length === 0 ? 'cannot be changed' : `is changed by the operation ${owners.join(' or ')}, not by an update`
  return { pointer: `/${name}`, detail }
}
