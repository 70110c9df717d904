import { isDeepStrictEqual } from 'node:util'
import { Type } from '@sinclair/typebox'
import { errorCodes } from '../../core/errors.js'
import type { Family } from '../../core/family/family.js'
import { getWholeItem, hideIn, narrowFamily } from '../../core/family/narrow.js'
import { compileParams, readParams } from '../../core/family/params.js'
import { invalidBody, type Problem } from '../../core/problems.js'
import type { Command } from '../../core/service/decide.js'
import { digestParams } from '../../core/service/record.js'
import type { Stored } from '../../core/storage/storage.js'
import { escapePointer, type MemberFlaw, type Members } from '../../core/values/json.js'
import { didYouMean } from '../../core/values/words.js'
import { getJsonBody } from '../body.js'
import { type ItemLinks, linkItem, type Mount } from '../mount.js'
import { readItemId } from '../request.js'
import { answeredByItem, type Form, makeWriteEndpoint, type Write } from './write.js'

/** `PUT …/{id}` or a merge patch with members of the item. The differences must amount to one operation. */
export const attributes: Form<'attributes'> = {
  name: 'attributes',
  endpoints (mount) {
    const documented = { kind: 'update', forms: ['attributes'] } as const
    const common = { path: '/:id', read: compileReader(mount), ...answeredByItem, documented }
    const consumes = ['application/merge-patch+json', 'application/json']
    return [
      makeWriteEndpoint(mount, { ...common, method: 'PUT' }),
      makeWriteEndpoint(mount, { ...common, method: 'PATCH', consumes })
    ]
  }
}

function compileReader (mount: Mount): Write['read'] {
  const { family } = mount
  const schema = compileParams(Type.Partial(Type.Pick(family.schema, [...family.members])))
  return request => {
    const target = readItemId(family, request)
    const sent = getJsonBody(request)
    const { links, ...body } = sent
    // In a merge patch, null removes an optional member (RFC 7396), also every edited member.
    const removed = family.fields
      .filter(({ name, optional }) => optional && body[name] === null)
      .map(({ name }) => name)
      .filter(name => request.method === 'PATCH' || isEdited(family, name))
    const members = keepMembers(body, name => !removed.includes(name))
    const read = schema.read(members)
    // An invalid member may equal the stored one, from before a field became stricter; an unknown one cannot.
    if ('flaws' in read && Object.keys(members).some(name => !family.members.includes(name))) {
      throw invalidBody(read.flaws)
    }
    return {
      action: undefined,
      target,
      params: {},
      // In a PATCH, null may mean something else.
      content: () => `${request.method} ${digestParams(sent)}`,
      named: body,
      interpret (current, hide) {
        const seen = narrowFamily(family, hide)
        const shown = hideIn(seen, current)
        refuseOtherLinks(links, linkItem(mount, request, shown))
        const isChanged = (name: string): boolean => !isDeepStrictEqual(members[name], shown[name])
        const wanted = 'params' in read
          ? keepMembers(read.params, isChanged)
          : readParams(schema, keepMembers(members, isChanged))
        return interpret(seen, shown, wanted, removed)
      }
    }
  }
}

// An item may be sent back unchanged, with its links.
function refuseOtherLinks (sent: unknown, links: ItemLinks): void {
  if (sent === undefined) return
  const detail = 'must be unchanged, or omitted'
  if (typeof sent !== 'object' || sent === null) throw invalidBody([{ pointer: '/links', detail }])
  const changed = Object.entries(sent).filter(([name, url]) => !Object.hasOwn(links, name) || links[name] !== url)
  if (changed.length === 0) return
  throw invalidBody(changed.map(([name]) => ({ pointer: `/links/${escapePointer(name)}`, detail })))
}

function keepMembers (members: Members, isKept: (name: string) => boolean): Members {
  return Object.fromEntries(Object.entries(members).filter(([name]) => isKept(name)))
}

/**
 * Finds the operation that changes these members; throws a problem if none does.
 *
 * @param current as the caller sees it
 */
export function interpret (
  family: Family,
  current: Stored,
  wanted: Members,
  removed: readonly string[]
): Pick<Command, 'action' | 'params'> {
  // Checks add members with a default, be they hidden or not.
  const sent = family.hiding === undefined ? wanted : hideIn(family, wanted)
  const differing = [
    ...Object.keys(wanted).filter(name => !isDeepStrictEqual(sent[name], current[name])),
    ...removed.filter(name => current[name] !== undefined)
  ]
  const { attributes, edit } = family
  const edited = differing.filter(name => isEdited(family, name))
  const others = differing.filter(name => !edited.includes(name))
  const flaws = others.filter(name => attributes?.fields.includes(name) !== true)
    .map(name => explainMisplaced(family, name))
  if (flaws.length > 0) throw invalidBody(flaws)

  const whole = getWholeItem(current)
  const merged: Record<string, unknown> = { ...whole, ...wanted }
  for (const name of removed) delete merged[name]
  const meant = others.length === 0 ? undefined : attributes?.read(merged, whole)
  if (meant !== undefined && 'field' in meant) {
    throw invalidBody([{ pointer: `/${meant.field}`, detail: meant.detail }])
  }
  if (edit !== undefined && edited.length > 0) {
    if (meant !== undefined) throw refuseTwo(meant.operation, others, edit.operation.name, edited)
    const params = Object.fromEntries(edited.map(name => [name, merged[name] ?? null]))
    return { action: edit.operation.action, params: readParams(edit.params, params) }
  }
  if (meant === undefined) return { action: undefined, params: {} }
  const all = [...family.operations.values()]
  const found = all.find(({ operation }) => operation.name === meant.operation)
  if (found !== undefined) return { action: found.operation.action, params: readParams(found.params, meant.params) }
  const hint = didYouMean(meant.operation, all.map(({ operation }) => operation.name))
  throw new errorCodes.FST_DEALBOOK_UNKNOWN_OPERATION(family.name, meant.operation, hint)
}

function isEdited ({ edit }: Family, name: string): boolean {
  return edit?.operation.changes?.includes(name) === true
}

// An update is one operation; otherwise half of it might be refused.
function refuseTwo (one: string, its: readonly string[], another: string, others: readonly string[]): Problem {
  const explain = (own: string, other: string) => (name: string): MemberFlaw => ({
    pointer: `/${name}`,
    detail: `is changed by the operation ${own}, and a different member by ${other}; send two requests`
  })
  return invalidBody([...its.map(explain(one, another)), ...others.map(explain(another, one))])
}

function explainMisplaced ({ operations }: Family, name: string): MemberFlaw {
  const owners = [...operations.values()]
    .filter(({ operation }) => operation.changes?.includes(name))
    .map(({ operation }) => operation.name)
  const detail = owners.length === 0
    ? 'cannot be changed'
    : `is changed by the operation ${owners.join(' or ')}, not by an update`
  return { pointer: `/${name}`, detail }
}
