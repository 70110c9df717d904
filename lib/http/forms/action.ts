import type { TObject } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { Family } from '../../core/family/family.js'
import { compileParams } from '../../core/family/params.js'
import type { Outcome } from '../../core/service/execute.js'
import { readTarget } from '../../core/service/record.js'
import { addArticle } from '../../core/values/article.js'
import type { Exchange, Mount } from '../mount.js'
import { describeHeaders, replayHeader } from '../openapi/content.js'
import { nameSchema } from '../openapi/mark.js'
import { conditionHeaders, describeId, keyHeader } from '../openapi/parameters.js'
import { describeInUse, describeWriteProblems } from '../openapi/problems.js'
import { describeSharedRoute } from '../openapi/route.js'
import { readIdempotencyKey } from '../request.js'
import type { RequestWriter } from '../requests.js'
import type { Endpoint } from '../routes.js'
import { requireId } from '../urls.js'
import { readJsonParams } from './body.js'
import { describeNew } from './envelope.js'
import { writeHandler } from './write.js'

/** What can be said under `/command`. */
interface Action {
  readonly action: string
  readonly summary: string
  readonly schema: TObject
  /** Whether it is for an item that is there already. */
  readonly isTargeted: boolean
}

/** `POST /command/{action}/` for every operation, creating and deleting: properties as the body, 200 without one. */
export function actionEndpoints (mount: Mount): Endpoint[] {
  return listActions(mount.family).map(action => makeEndpoint(mount, action))
}

/** Says the same under `/command`. */
export function makeActionWriter (mount: Mount): RequestWriter {
  const { family: { lifecycle }, neighbours, urls } = mount
  return (request, { operation, item, params }) => {
    const action = operation?.action ?? lifecycle?.createAction as string
    // Another version would do it.
    if (!neighbours.isOwner(mount, 'POST', `/command/${action}`)) return undefined
    const body = item === undefined ? params : { id: item.id, ...params }
    return { method: 'POST', url: urls.shared(request, `/command/${action}/`), body }
  }
}

function listActions ({ singular, operations, lifecycle }: Family): Action[] {
  const listed = [...operations].map(([action, { operation, params: { schema } }]) =>
    ({ action, summary: operation.summary ?? operation.name, schema, isTargeted: true }))
  if (lifecycle === undefined) return listed
  const { createAction, deletion, params } = lifecycle
  return [
    ...listed,
    { action: createAction, summary: `Create ${addArticle(singular)}`, schema: params.schema, isTargeted: false },
    {
      action: deletion.operation.action,
      summary: `Delete ${addArticle(singular)}`,
      schema: deletion.params.schema,
      isTargeted: true
    }
  ]
}

function makeEndpoint (mount: Mount, { action, summary, schema, isTargeted }: Action): Endpoint {
  const { family } = mount
  const body = compileParams(isTargeted ? addId(mount, schema) : schema)
  const headers = { ...(isTargeted ? {} : { location: 'Where it is' }), ...replayHeader }
  return {
    method: 'POST',
    path: `/command/${action}`,
    sharedBy: 'versions',
    handler: writeHandler(mount, {
      read (request) {
        const { id, ...params } = readJsonParams(body, request)
        const target = isTargeted ? requireId(family, String(id)) : undefined
        return { action, target, params, key: readIdempotencyKey(request.headers) }
      },
      answer: answerNothing
    }),
    schema: describeSharedRoute(mount, 'commands', `command-${action}`, {
      summary: `${summary} (without an answer)`,
      description: 'The same as in every other form, answered by its status alone.',
      headers: Type.Object({ ...conditionHeaders, ...keyHeader }),
      body: isTargeted ? nameSchema(mount, `${action}Properties`, body.schema) : describeNew(mount, body),
      response: {
        200: { type: 'null', description: 'Done; there is no body', headers: describeHeaders(headers) },
        ...describeWriteProblems(mount, ...describeInUse(mount, action), 'cross-site', 'id-reused', 'invalid-header')
      }
    })
  }
}

function addId (mount: Mount, { properties }: TObject): TObject {
  const { description } = describeId(mount) as { description: string }
  return Type.Object({ id: { ...mount.family.idSchema, description }, ...properties })
}

// A creation still says where, since the client cannot know.
function answerNothing ({ mount: { family, urls }, request, reply }: Exchange, { record }: Outcome): FastifyReply {
  const isCreated = record.action === family.lifecycle?.createAction
  if (isCreated) reply.header('location', urls.item(request, readTarget(family, record)))
  return reply.code(200).send()
}
