import type { FastifyReply } from 'fastify'
import type { NounOperation } from '../../core/family/operation.js'
import type { Params } from '../../core/family/params.js'
import type { Outcome } from '../../core/service/execute.js'
import type { Exchange, Mount } from '../mount.js'
import { describeAnswer, describeInUse, describeWriteProblems, minimal, redirected } from '../openapi/answers.js'
import { describeRequestHeaders, jsonOrForm, writeConditions } from '../openapi/parameters.js'
import { describeItemRoute } from '../openapi/route.js'
import { describeCommand, describeParams, describeUnchanged } from '../openapi/schemas.js'
import { linkCommand, logEndpoints } from '../reads/log.js'
import type { RouteSchema } from '../routes.js'
import { readItemId } from '../urls.js'
import { sendPreferred } from './answer.js'
import { readKey, readSentParams } from './body.js'
import type { Form } from './form.js'
import { makeWriteEndpoint, operationRule } from './form.js'

/** `POST …/{id}/holds` with the parameters as the body, and the holds there have been, to read. */
export const noun: Form<'noun'> = {
  name: 'noun',
  endpoints (mount) {
    const { family } = mount
    const deletion = family.lifecycle === undefined ? [] : [family.lifecycle.deletion]
    return [...family.operations.values(), ...deletion].flatMap(({ operation, params }) => [
      makeWriteEndpoint(mount, {
        method: 'POST',
        path: `/:id/${operation.noun}`,
        read: request => ({
          action: operation.action,
          target: readItemId(family, request),
          params: readSentParams(params, request),
          key: readKey(request)
        }),
        answer: (exchange, outcome) => answerNoun(exchange, outcome, operation.noun),
        schema: describeNoun(mount, operation, params)
      }),
      ...logEndpoints(mount, operation)
    ])
  }
}

/** An entry of the noun's sub-collection; only a change makes one. */
async function answerNoun (exchange: Exchange, outcome: Outcome, noun: string): Promise<FastifyReply> {
  const document = linkCommand(exchange, outcome, noun)
  if (outcome.record.outcome !== 'done') return await sendPreferred(exchange, 200, 'command', document)
  exchange.reply.header('location', document.links.self)
  return await sendPreferred(exchange, 201, 'command', document)
}

function describeNoun (mount: Mount, operation: NounOperation, params: Params): RouteSchema {
  const headers = ['preference-applied', 'idempotent-replayed'] as const
  return describeItemRoute(mount, 'operations', `noun-${operation.noun}-${mount.family.singular}`, {
    summary: operation.summary ?? operation.name,
    description: `${operationRule} The entry in the log is the answer.`,
    headers: describeRequestHeaders(...writeConditions, 'idempotency-key', 'prefer'),
    consumes: jsonOrForm,
    body: describeParams(mount, operation.action, params),
    response: {
      200: describeAnswer(mount, 'one', 'Nothing had to be changed', describeUnchanged(mount), ...headers),
      201: describeAnswer(mount, 'one', 'The entry that was made', describeCommand(mount), 'location', ...headers),
      204: minimal,
      303: redirected,
      ...describeWriteProblems(
        mount, ...describeInUse(mount, operation.action), 'cross-site', 'id-reused', 'invalid-header'
      )
    }
  })
}
