import { type TProperties, Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type { CompiledChange } from '../../core/family/family.js'
import { compileParams, type Params, readParams } from '../../core/family/params.js'
import { invalidBody } from '../../core/problems.js'
import { readTarget } from '../../core/service/record.js'
import { isObject, type Members } from '../../core/values/json.js'
import { didYouMean } from '../../core/values/words.js'
import { getJsonBody, readJsonParams } from '../body.js'
import type { Mount } from '../mount.js'
import { readCommandId, readItemId, requireId } from '../request.js'
import { documentRoute, type Endpoint, type RouteSettings } from '../routes.js'
import { answeredByItem, answerEntry, type Form, makeWriteEndpoint, writeHandler } from './write.js'

const at = '/params'

interface Envelope {
  readonly action: string
  readonly params: Members
  /** Where they are in the body. */
  readonly at: typeof at
  readonly id?: string
  readonly revision?: number
  readonly [singular: string]: unknown
}

export const actionMembers = { action: Type.String(), params: Type.Object({}) }

/** Reads `{ "action": "HoldDeal", "params": { … } }`, and other members. */
export function compileEnvelope (
  members: TProperties & typeof actionMembers,
  actions: ReadonlyMap<string, { readonly params: Params }>
): (sent: Members) => Envelope {
  const envelope = compileParams(Type.Object(members))
  const known = [...actions.keys()]
  return sent => {
    const read = readParams(envelope, { params: {}, ...sent }) as Envelope
    const found = actions.get(read.action)
    if (found !== undefined) return { ...read, params: readParams(found.params, read.params, at), at }
    const detail = `must be one of ${known.join(', ')}.${didYouMean(read.action, known)}`
    throw invalidBody([{ pointer: '/action', detail }])
  }
}

/** `PUT …/{id}` with `{ "action", "params" }`. */
export const update: Form<'update'> = {
  name: 'update',
  endpoints (mount) {
    const { family } = mount
    const readEnvelope = compileEnvelope(actionMembers, family.operations)
    return [makeWriteEndpoint(mount, {
      method: 'PUT',
      path: '/:id',
      accepts: body => isObject(body) && Object.hasOwn(body, 'action'),
      read: request => ({ ...readEnvelope(getJsonBody(request)), target: readItemId(family, request) }),
      ...answeredByItem,
      documented: { kind: 'update', forms: ['update'] }
    })]
  }
}

/** `PUT …/{id}/commands/{command_id}` with `{ "action", "params" }`: the client chooses the id of the command. */
export const command: Form<'command'> = {
  name: 'command',
  endpoints (mount) {
    const { family } = mount
    const readEnvelope = compileEnvelope(actionMembers, family.operations)
    return [makeWriteEndpoint(mount, {
      method: 'PUT',
      path: '/:id/commands/:command',
      read: request => ({
        ...readEnvelope(getJsonBody(request)), target: readItemId(family, request), id: readCommandId(request)
      }),
      answer: answerEntry,
      documented: { kind: 'command', forms: ['command'] }
    })]
  }
}

/** `POST /command/{action}/` for every operation, creation and deletion; the response is 200 without a body. */
export function actionEndpoints (mount: Mount): Endpoint[] {
  const { operations, lifecycle } = mount.family
  const makeOperationEndpoint = ({ operation, params }: CompiledChange) =>
    makeEndpoint(mount, operation.action, params, true)
  const endpoints = Array.from(operations.values(), makeOperationEndpoint)
  if (lifecycle === undefined) return endpoints
  const { createAction, deletion, params } = lifecycle
  endpoints.push(makeEndpoint(mount, createAction, params, false))
  if (deletion !== undefined) endpoints.push(makeOperationEndpoint(deletion))
  return endpoints
}

function makeEndpoint (mount: Mount, action: string, own: Params, isTargeted: boolean): Endpoint {
  const { family, urls, neighbours: { actions }, unversioned } = mount
  const body = isTargeted ? compileParams(Type.Object({ id: family.idSchema, ...own.schema.properties })) : own
  if (!actions.has(action) || unversioned === true) actions.set(action, mount)
  return {
    method: 'POST',
    path: `/command/${action}`,
    sharedBy: 'versions',
    handler: writeHandler(mount, {
      read (request) {
        const sent = readJsonParams(body, request)
        if (!isTargeted) return { action, target: undefined, params: sent }
        const { id, ...params } = sent
        return { action, target: requireId(family, String(id)), params }
      },
      answer ({ request, reply }, { record }) {
        // The client cannot know the address of a new item.
        if (!isTargeted) reply.header('location', urls.item(request, readTarget(family, record)))
        return reply.code(200).send()
      }
    })
  }
}

/** One path for the actions of all families at a prefix; each has a route, which documents do not show. */
export function documentActions (app: FastifyInstance, settings: RouteSettings, mount: Mount): void {
  const { actions } = mount.neighbours
  documentRoute(app, settings, '/command/:word', {
    kind: 'action',
    isShared: true,
    targets: () => Array.from(actions, ([action, { shown }]) => ({ mount: shown, action, word: action }))
  })
}
