import type { FastifyReply } from 'fastify'
import type { Lifecycle } from '../../core/family/family.js'
import type { Outcome } from '../../core/service/execute.js'
import type { Stored } from '../../core/storage/storage.js'
import { addArticle } from '../../core/values/words.js'
import { makeEtag, writeHttpDate } from '../conditional.js'
import type { Exchange, Mount } from '../mount.js'
import { showItem } from '../mount.js'
import { describeAnswer, describeNothing, describeWriteProblems, redirected } from '../openapi/answers.js'
import { describeRequestHeaders, jsonOrForm, writeConditions } from '../openapi/parameters.js'
import { describeItemRoute, describeRoute } from '../openapi/route.js'
import { describeLinkedItem, describeNew } from '../openapi/schemas.js'
import type { Endpoint } from '../routes.js'
import { readItemId } from '../urls.js'
import { sendItem } from './answer.js'
import { readJsonParams, readKey, readSentParams } from './body.js'
import { makeWriteEndpoint } from './write.js'

/** `POST` on the collection creates, `DELETE` on an item deletes it. */
export function lifecycleEndpoints (mount: Mount): Endpoint[] {
  const { lifecycle } = mount.family
  return lifecycle === undefined ? [] : [makeCreateEndpoint(mount, lifecycle), makeDeleteEndpoint(mount, lifecycle)]
}

function makeCreateEndpoint (mount: Mount, { createAction, params }: Lifecycle): Endpoint {
  const { family } = mount
  return makeWriteEndpoint(mount, {
    method: 'POST',
    path: '',
    read: request => ({
      action: createAction,
      target: undefined,
      params: readSentParams(params, request),
      key: readKey(request)
    }),
    answer: answerCreated,
    schema: describeRoute(mount, 'items', `create-${family.singular}`, {
      summary: `Create ${addArticle(family.singular)}`,
      description: 'What the client does not send is given by the service. ' +
        'With an Idempotency-Key, the request can be repeated safely.',
      headers: describeRequestHeaders('idempotency-key', 'prefer'),
      consumes: jsonOrForm,
      body: describeNew(mount, params),
      response: {
        201: describeAnswer(
          mount, 'one', `The ${family.singular} as it was created, with links`, describeLinkedItem(mount),
          'location', 'etag', 'last-modified', 'preference-applied', 'idempotent-replayed'
        ),
        303: redirected,
        ...describeWriteProblems(mount, createAction, 'cross-site', 'id-reused', 'invalid-header')
      }
    })
  })
}

/** The new item, where it is, and its validators. */
async function answerCreated (exchange: Exchange, outcome: Outcome): Promise<FastifyReply> {
  const { mount, request, reply, choice } = exchange
  const created = outcome.item as Stored
  const document = showItem(mount, request, created)
  reply
    .header('location', document.links.self)
    .header('etag', makeEtag(created, document, choice.representation))
    .header('last-modified', writeHttpDate(created.updatedAt))
  return await sendItem(exchange, 201, outcome, document)
}

function makeDeleteEndpoint (mount: Mount, { deletion: { operation, params } }: Lifecycle): Endpoint {
  const { family } = mount
  return makeWriteEndpoint(mount, {
    method: 'DELETE',
    path: '/:id',
    read: request => ({
      action: operation.action,
      target: readItemId(family, request),
      params: readJsonParams(params, request)
    }),
    answer: ({ reply }) => reply.code(204).send(),
    schema: describeItemRoute(mount, 'items', `delete-${family.singular}`, {
      summary: `Delete ${addArticle(family.singular)}`,
      description: 'Its log stays.',
      headers: describeRequestHeaders(...writeConditions),
      response: {
        204: describeNothing('It is gone'),
        ...describeWriteProblems(mount, operation.action)
      }
    })
  })
}
