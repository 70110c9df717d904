import { isDeepStrictEqual } from 'node:util'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { Family } from '../../core/family/family.js'
import { compileParams, readParams } from '../../core/family/params.js'
import { invalidBody } from '../../core/problems.js'
import type { Command } from '../../core/service/command.js'
import { addArticle } from '../../core/values/article.js'
import type { Members } from '../../core/values/json.js'
import { escapePointer } from '../../core/values/json.js'
import type { ItemLinks, Mount } from '../mount.js'
import { linkItem } from '../mount.js'
import { describeItemAnswers } from '../openapi/answers.js'
import { describeRequestHeaders, writeConditions } from '../openapi/parameters.js'
import type { Description } from '../openapi/route.js'
import { describeItemRoute } from '../openapi/route.js'
import { describeItemLinks, nameItem, nameSchema } from '../openapi/schemas.js'
import type { RouteSchema } from '../routes.js'
import { readItemId } from '../urls.js'
import { answerItem } from './answer.js'
import { getJsonBody } from './body.js'
import type { Form } from './form.js'
import { makeWriteEndpoint } from './form.js'
import { interpret, isEdited } from './interpret.js'

/**
 * `PUT …/{id}` (or a merge patch) with members of the item as they are wanted. What differs from the item is turned
 * into the one operation that it stands for; what is left out stays, and what another operation changes is refused.
 */
export const attributes: Form<'attributes'> = {
  name: 'attributes',
  endpoints (mount) {
    if (mount.family.operations.size === 0) return []
    const read = compileReader(mount)
    const common = { path: '/:id', read, answer: answerItem }
    return [
      makeWriteEndpoint(mount, { ...common, method: 'PUT', schema: describePut(mount) }),
      makeWriteEndpoint(mount, { ...common, method: 'PATCH', schema: describePatch(mount) })
    ]
  }
}

function compileReader (mount: Mount): (request: FastifyRequest) => Command {
  const { family } = mount
  const schema = compileParams(Type.Partial(family.schema))
  return request => {
    const target = readItemId(family, request)
    const { links, ...body } = getJsonBody(request)
    const { members, removed } = splitNulls(family, request.method, body)
    const read = schema.read(members)
    // A member that is wrong may be just what is stored, from before a field became stricter; one that is unknown not.
    if ('flaws' in read && Object.keys(members).some(name => !family.members.includes(name))) {
      throw invalidBody(read.flaws)
    }
    return {
      action: undefined,
      target,
      params: {},
      interpret (current) {
        refuseOtherLinks(links, linkItem(mount, request, current))
        const wanted = 'params' in read ? read.params : readParams(schema, omitSame(members, current))
        return interpret(family, current, wanted, removed)
      }
    }
  }
}

// An item may be sent back as it was shown; its links are for reading.
function refuseOtherLinks (sent: unknown, links: ItemLinks): void {
  if (sent === undefined) return
  const detail = 'must be as it was read, or be left out'
  if (typeof sent !== 'object' || sent === null) throw invalidBody([{ pointer: '/links', detail }])
  const changed = Object.entries(sent).filter(([name, url]) => !Object.hasOwn(links, name) || links[name] !== url)
  if (changed.length === 0) return
  throw invalidBody(changed.map(([name]) => ({ pointer: `/links/${escapePointer(name)}`, detail })))
}

function omitSame (members: Members, current: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([name, value]) => !isDeepStrictEqual(value, current[name])))
}

// In a merge patch, null takes an optional member away (RFC 7396); so it does wherever a member is edited.
function splitNulls (family: Family, method: string, body: Members): { members: Members, removed: string[] } {
  const removed = family.fields
    .filter(({ name, optional }) => optional && body[name] === null)
    .map(({ name }) => name)
    .filter(name => method === 'PATCH' || isEdited(family, name))
  return { members: Object.fromEntries(Object.entries(body).filter(([name]) => !removed.includes(name))), removed }
}

function describePut (mount: Mount): RouteSchema {
  return describeItemRoute(mount, 'operations', `update-${mount.family.singular}`, {
    ...describeCommon(mount),
    summary: `Change ${addArticle(mount.family.singular)}`,
    description: 'Without an action, the members as they are wanted.'
  })
}

function describePatch (mount: Mount): RouteSchema {
  const { singular, attributes, edit } = mount.family
  const changeable = [...attributes?.fields ?? [], ...edit?.operation.changes ?? []].join(', ') || 'none'
  return describeItemRoute(mount, 'operations', `patch-${singular}`, {
    ...describeCommon(mount),
    summary: `Change members of ${addArticle(singular)}`,
    description: `A JSON merge patch (RFC 7396). Members that can be changed so: ${changeable}; ` +
      'the others must be as they are.',
    consumes: ['application/merge-patch+json', 'application/json']
  })
}

function describeCommon (mount: Mount): Description {
  const { schema, edit } = mount.family
  const links = describeItemLinks(mount)
  // What is left out stays as it is, whatever a new item would have.
  const members = Object.entries(schema.properties).map(([name, { default: _, ...member }]) => [name, member])
  const edited = edit?.params.schema.properties ?? {}
  const changes = Type.Partial(Type.Object({ ...Object.fromEntries(members), ...edited, links }))
  return {
    headers: describeRequestHeaders(...writeConditions, 'prefer'),
    body: nameSchema(mount, `${nameItem(mount)}Changes`, changes),
    response: describeItemAnswers(mount)
  }
}
