import type { TProperties } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { CompiledOperation, Family } from '../../core/family/family.js'
import { compileParams, readParams } from '../../core/family/params.js'
import { invalidBody } from '../../core/problems.js'
import type { Command } from '../../core/service/command.js'
import type { Members } from '../../core/values/json.js'
import { addArticle, didYouMean } from '../../core/values/words.js'
import { describeCommandAnswers, describeItemAnswers } from '../openapi/answers.js'
import { commandIdParameter, describeRequestHeaders, writeConditions } from '../openapi/parameters.js'
import { describeItemRoute } from '../openapi/route.js'
import { describeActions, describeCommand } from '../openapi/schemas.js'
import { readCommandId, readItemId } from '../urls.js'
import { answerCommand, answerItem } from './answer.js'
import { getJsonBody, hasMember } from './body.js'
import type { Form } from './write.js'
import { makeWriteEndpoint, operationRule } from './write.js'

/** A body that names its operation: `{ "action": "HoldDeal", "params": { … } }`. */
interface Envelope {
  readonly action: string
  readonly params: Members
  /** Members besides action and params. */
  readonly others: Members
}

/** @param others further members that the body must have */
export function compileEnvelope (family: Family, others: TProperties = {}): (body: Members) => Envelope {
  const schema = Type.Object({ ...others, action: Type.String(), params: Type.Optional(Type.Object({})) })
  const envelope = compileParams(schema)

  return body => {
    const { action, params = {}, ...rest } = readParams(envelope, body) as { action: string, params?: Members }
    const { params: expected } = getOperationByAction(family, action)
    return { action, params: readParams(expected, params, '/params'), others: rest }
  }
}

/** Reads a request with such a body, for the item that its path names. */
export function compileItemEnvelope (family: Family): (request: FastifyRequest) => Command {
  const readEnvelope = compileEnvelope(family)
  return request => {
    const { action, params } = readEnvelope(getJsonBody(request))
    return { action, params, target: readItemId(family, request) }
  }
}

function getOperationByAction ({ operations }: Family, action: string): CompiledOperation {
  const operation = operations.get(action)
  if (operation !== undefined) return operation
  const known = [...operations.keys()]
  const detail = `must be one of ${known.join(', ')}.${didYouMean(action, known)}`
  throw invalidBody([{ pointer: '/action', detail }])
}

/** `PUT …/{id}` with `{ "action", "params" }`. */
export const update: Form<'update'> = {
  name: 'update',
  endpoints (mount) {
    const { family } = mount
    if (family.operations.size === 0) return []
    return [makeWriteEndpoint(mount, {
      method: 'PUT',
      path: '/:id',
      accepts: body => hasMember(body, 'action'),
      read: compileItemEnvelope(family),
      answer: answerItem,
      schema: describeItemRoute(mount, 'operations', `update-${family.singular}`, {
        summary: `Change ${addArticle(family.singular)}`,
        description: 'With an action, the operation that it names.',
        headers: describeRequestHeaders(...writeConditions, 'prefer'),
        body: Type.Union(describeActions(mount, 'Action')),
        response: describeItemAnswers(mount)
      })
    })]
  }
}

/** `PUT …/{id}/commands/{command_id}` with `{ "action", "params" }`: a command that the client names. */
export const command: Form<'command'> = {
  name: 'command',
  endpoints (mount) {
    const { family } = mount
    if (family.operations.size === 0) return []
    const readItemEnvelope = compileItemEnvelope(family)
    return [makeWriteEndpoint(mount, {
      method: 'PUT',
      path: '/:id/commands/:command',
      read: request => ({ ...readItemEnvelope(request), id: readCommandId(request) }),
      answer: answerCommand,
      schema: describeItemRoute(mount, 'commands', `put-${family.singular}-command`, {
        summary: `Command ${addArticle(family.singular)}, under an id that the client chooses`,
        description: `${operationRule} ${commandRule}`,
        path: { command: commandIdParameter },
        headers: describeRequestHeaders(...writeConditions, 'prefer'),
        body: Type.Union(describeActions(mount, 'Action')),
        response: describeCommandAnswers(mount, describeCommand(mount))
      })
    })]
  }
}

/** The sentence that is true of commands that are put. */
export const commandRule = 'Put again, the same command is answered again and not done again; ' +
  'another one under its id is refused.'
