import { isDeepStrictEqual } from 'node:util'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { errorCodes } from '../errors.js'
import type { CompiledOperation, Family } from '../family/family.js'
import type { Context, Operation } from '../family/operation.js'
import { compileParams, readParams } from '../family/params.js'
import type { RouteSchema } from '../http/routes.js'
import type { Mount } from '../mount/mount.js'
import { hasAllWords } from '../mount/requests.js'
import { readItemId } from '../mount/urls.js'
import { describeWriteProblems } from '../openapi/answers.js'
import { conditionHeaders, describeId, preferHeader } from '../openapi/parameters.js'
import { describeRoute } from '../openapi/route.js'
import type { Problem } from '../problems.js'
import { invalidBody } from '../problems.js'
import type { Command } from '../service/command.js'
import type { Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { MemberFlaw } from '../values/json.js'
import { didYouMean } from '../values/nearest.js'
import { answerItem, describeItemAnswers } from './answer.js'
import { getJsonBody } from './body.js'
import type { Form } from './form.js'
import { makeWriteEndpoint } from './form.js'

/**
 * `PUT …/{id}` (or a merge patch) with members of the item as they are wanted. What differs from the item is turned
 * into the one operation that it stands for; what is left out stays, and what another operation changes is refused.
 */
export const attributes: Form<'attributes'> = {
  name: 'attributes',
  makeWriter: ({ family, urls, makers }) => (request, { operation, item, params }) => {
    if (item === undefined || !hasAllWords(operation)) return undefined
    const context = { now: makers.clock().toISOString(), command: 'sample', principal: undefined }
    const body = findPatch(family, item, { operation, params, context })
    return body && { method: 'PATCH', url: urls.item(request, item.id), body, type: 'application/merge-patch+json' }
  },
  endpoints (mount) {
    const { family } = mount
    if (family.operations.size === 0) return []
    const read = compileReader(family)
    const common = { path: '/:id', read, answer: answerItem }
    return [
      makeWriteEndpoint(mount, { ...common, method: 'PUT', schema: describePut(mount) }),
      makeWriteEndpoint(mount, { ...common, method: 'PATCH', schema: describePatch(mount) })
    ]
  }
}

/** The members that say the same as an operation does; undefined where none do. */
function findPatch (
  family: Family,
  item: Stored,
  { operation, params, context }: { operation: Operation<Members>, params: Members, context: Context }
): Members | undefined {
  try {
    const after = operation.apply(Object.freeze({ ...item }), params, context)
    const names = family.ownFields.map(({ name }) => name).filter(name => !isDeepStrictEqual(after[name], item[name]))
    const wanted = Object.fromEntries(names.map(name => [name, after[name]]).filter(([, value]) => value !== undefined))
    const removed = names.filter(name => after[name] === undefined)
    const meant = interpret(family, item, wanted, removed)
    if (meant.action !== operation.action || !isDeepStrictEqual(meant.params, params)) return undefined
    return { ...wanted, ...Object.fromEntries(removed.map(name => [name, null])) }
  } catch {
    // What is refused cannot be said so.
    return undefined
  }
}

function compileReader (family: Family): (request: FastifyRequest) => Command {
  const schema = compileParams(Type.Partial(family.schema))
  return request => {
    const target = readItemId(family, request)
    const { members, removed } = splitNulls(family, request)
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
        const wanted = 'params' in read ? read.params : readParams(schema, omitSame(members, current))
        return interpret(family, current, wanted, removed)
      }
    }
  }
}

function omitSame (members: Members, current: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([name, value]) => !isDeepStrictEqual(value, current[name])))
}

// In a merge patch, null takes an optional member away (RFC 7396); so it does wherever a member is edited.
function splitNulls (family: Family, request: FastifyRequest): { members: Members, removed: string[] } {
  const body = getJsonBody(request)
  const removed = family.fields
    .filter(({ name, optional }) => optional && body[name] === null)
    .map(({ name }) => name)
    .filter(name => request.method === 'PATCH' || isEdited(family, name))
  return { members: Object.fromEntries(Object.entries(body).filter(([name]) => !removed.includes(name))), removed }
}

function interpret (
  family: Family,
  current: Stored,
  wanted: Members,
  removed: readonly string[]
): Pick<Command, 'action' | 'params'> {
  const differing = [
    ...Object.keys(wanted).filter(name => !isDeepStrictEqual(wanted[name], current[name])),
    ...removed.filter(name => current[name] !== undefined)
  ]
  const { attributes, edit } = family
  const edited = differing.filter(name => isEdited(family, name))
  const others = differing.filter(name => !edited.includes(name))
  const flaws = others.filter(name => attributes?.fields.includes(name) !== true)
    .map(name => explainMisplaced(family, name))
  if (flaws.length > 0) throw invalidBody(flaws)

  const merged: Record<string, unknown> = { ...current, ...wanted }
  for (const name of removed) delete merged[name]
  const meant = attributes === undefined || others.length === 0 ? undefined : attributes.read(merged, current)
  if (meant !== undefined && 'field' in meant) {
    throw invalidBody([{ pointer: `/${meant.field}`, detail: meant.detail }])
  }
  if (edit !== undefined && edited.length > 0) {
    if (meant !== undefined) throw refuseTwo(meant.operation, others, edit.operation.name, edited)
    const params = Object.fromEntries(edited.map(name => [name, merged[name] ?? null]))
    return { action: edit.operation.action, params: readParams(edit.params, params) }
  }
  if (meant === undefined) return { action: undefined, params: {} }
  const { operation, params } = getOperationByName(family, meant.operation)
  return { action: operation.action, params: readParams(params, meant.params) }
}

function isEdited ({ edit }: Family, name: string): boolean {
  return edit?.operation.changes?.includes(name) === true
}

// An update is one operation, or else half of it might be refused.
function refuseTwo (one: string, its: readonly string[], another: string, others: readonly string[]): Problem {
  const explain = (own: string, other: string) => (name: string): MemberFlaw => ({
    pointer: `/${name}`,
    detail: `is changed by the operation ${own}, and another member here by ${other}; send one after the other`
  })
  return invalidBody([...its.map(explain(one, another)), ...others.map(explain(another, one))])
}

function getOperationByName ({ name: family, operations }: Family, name: string): CompiledOperation {
  const all = [...operations.values()]
  const found = all.find(({ operation }) => operation.name === name)
  if (found !== undefined) return found
  const hint = didYouMean(name, all.map(({ operation }) => operation.name))
  throw new errorCodes.FST_DEALBOOK_UNKNOWN_OPERATION(family, name, hint)
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

function describePut (mount: Mount): RouteSchema {
  return describeRoute(mount, `update-${mount.family.singular}`, {
    ...describeCommon(mount),
    summary: `Change a ${mount.family.singular}`,
    description: 'Without an action, the members as they are wanted.'
  })
}

function describePatch (mount: Mount): RouteSchema {
  const { singular, attributes, edit } = mount.family
  const changeable = [...attributes?.fields ?? [], ...edit?.operation.changes ?? []].join(', ') || 'none'
  return describeRoute(mount, `patch-${singular}`, {
    ...describeCommon(mount),
    summary: `Change members of a ${singular}`,
    description: `A JSON merge patch (RFC 7396). Members that can be changed so: ${changeable}; ` +
      'the others must be as they are.',
    consumes: ['application/merge-patch+json', 'application/json']
  })
}

function describeCommon (mount: Mount): RouteSchema {
  const { schema, edit } = mount.family
  return {
    params: Type.Object({ id: describeId(mount) }),
    headers: Type.Object({ ...conditionHeaders, ...preferHeader }),
    body: Type.Partial(Type.Object({ ...schema.properties, ...edit?.params.schema.properties })),
    response: { ...describeItemAnswers(mount), ...describeWriteProblems(mount) }
  }
}
