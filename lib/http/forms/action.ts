import type { TObject } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { Family } from '../../core/family/family.js'
import { compileParams } from '../../core/family/params.js'
import type { Outcome } from '../../core/service/execute.js'
import { readTarget } from '../../core/service/record.js'
import { addArticle } from '../../core/values/article.js'
import type { Exchange, Mount } from '../mount.js'
import { describeInUse, describeNothing, describeWriteProblems } from '../openapi/answers.js'
import { describeRequestHeaders, writeConditions } from '../openapi/parameters.js'
import { describeSharedRoute } from '../openapi/route.js'
import { describeId, describeNew, nameSchema } from '../openapi/schemas.js'
import { readIdempotencyKey } from '../request.js'
import type { Endpoint } from '../routes.js'
import { requireId } from '../urls.js'
import { readJsonParams } from './body.js'
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
  const headers = isTargeted ? ['idempotent-replayed'] as const : ['location', 'idempotent-replayed'] as const
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
      headers: describeRequestHeaders(...writeConditions, 'idempotency-key'),
      body: isTargeted ? nameSchema(mount, `${action}Properties`, body.schema) : describeNew(mount, body),
      response: {
        200: describeNothing('Done; there is no body', ...headers),
        ...describeWriteProblems(
          mount, ...describeInUse(mount, action), 'cross-site', 'id-reused', 'invalid-header'
        )
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
