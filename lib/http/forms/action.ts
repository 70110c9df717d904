import type { TObject } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { compileParams } from '../../core/family/params.js'
import type { Outcome } from '../../core/service/execute.js'
import { readTarget } from '../../core/service/record.js'
import { addArticle } from '../../core/values/words.js'
import type { Exchange, Mount } from '../mount.js'
import { describeNothing, describeWriteProblems } from '../openapi/answers.js'
import { describeRequestHeaders, writeConditions } from '../openapi/parameters.js'
import { describeSharedRoute } from '../openapi/route.js'
import { describeId, describeNew, nameSchema } from '../openapi/schemas.js'
import { readIdempotencyKey } from '../request.js'
import type { Endpoint } from '../routes.js'
import { requireId } from '../urls.js'
import { readJsonParams } from './body.js'
import { writeHandler } from './write.js'

/** `POST /command/{action}/` for every operation, creating and deleting: properties as the body, 200 without one. */
export function actionEndpoints (mount: Mount): Endpoint[] {
  const { singular, operations, lifecycle } = mount.family
  const endpoints = Array.from(operations.values(), ({ operation: { action, summary, name }, params }) =>
    makeEndpoint(mount, action, summary ?? name, addId(mount, params.schema), true))
  if (lifecycle === undefined) return endpoints
  const { createAction, deletion, params } = lifecycle
  return [
    ...endpoints,
    makeEndpoint(mount, createAction, `Create ${addArticle(singular)}`, params.schema, false),
    makeEndpoint(
      mount, deletion.operation.action, `Delete ${addArticle(singular)}`, addId(mount, deletion.params.schema), true
    )
  ]
}

/** @param isTargeted whether it is for an item that exists */
function makeEndpoint (mount: Mount, action: string, summary: string, schema: TObject, isTargeted: boolean): Endpoint {
  const { family } = mount
  const body = compileParams(schema)
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
        ...describeWriteProblems(mount, action, 'cross-site', 'id-reused', 'invalid-header')
      }
    })
  }
}

function addId (mount: Mount, { properties }: TObject): TObject {
  const { description } = describeId(mount) as { description: string }
  return Type.Object({ id: { ...mount.family.idSchema, description }, ...properties })
}

// Where a new item is, the client cannot know.
function answerNothing ({ mount: { family, urls }, request, reply }: Exchange, { record }: Outcome): FastifyReply {
  const isCreated = record.action === family.lifecycle?.createAction
  if (isCreated) reply.header('location', urls.item(request, readTarget(family, record)))
  return reply.code(200).send()
}
