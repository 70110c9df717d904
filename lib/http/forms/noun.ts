import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { NounOperation } from '../../core/family/operation.js'
import type { Params } from '../../core/family/params.js'
import type { Outcome } from '../../core/service/execute.js'
import type { Exchange, Mount } from '../mount.js'
import {
  describeAnswer, describeCommand, describeUnchanged, minimal, preferenceHeader, redirected
} from '../openapi/answers.js'
import { replayHeader } from '../openapi/content.js'
import {
  conditionHeaders, describeIdParameter, jsonOrForm, keyHeader, preferHeader
} from '../openapi/parameters.js'
import { describeInUse, describeWriteProblems } from '../openapi/problems.js'
import { describeRoute } from '../openapi/route.js'
import { linkCommand, logEndpoints } from '../reads/log.js'
import type { RouteSchema } from '../routes.js'
import { readItemId } from '../urls.js'
import { sendPreferred } from './answer.js'
import { readKey, readSentParams } from './body.js'
import { describeParams } from './envelope.js'
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
  const headers = { ...preferenceHeader, ...replayHeader }
  return describeRoute(mount, 'operations', `noun-${operation.noun}-${mount.family.singular}`, {
    summary: operation.summary ?? operation.name,
    description: `${operationRule} The entry in the log is the answer.`,
    params: Type.Object({ id: describeIdParameter(mount) }),
    headers: Type.Object({ ...conditionHeaders, ...keyHeader, ...preferHeader }),
    consumes: jsonOrForm,
    body: describeParams(mount, operation.action, params),
    response: {
      200: describeAnswer(mount, 'one', {
        description: 'Nothing had to be changed', schema: describeUnchanged(mount), headers
      }),
      201: describeAnswer(mount, 'one', {
        description: 'The entry that was made',
        schema: describeCommand(mount),
        headers: { location: 'Where it is', ...headers }
      }),
      204: minimal,
      303: redirected,
      ...describeWriteProblems(
        mount, ...describeInUse(mount, operation.action), 'cross-site', 'id-reused', 'invalid-header'
      )
    }
  })
}
