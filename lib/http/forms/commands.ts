import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { Deletion, Family } from '../../core/family/family.js'
import { compileParams, type Params, readParams } from '../../core/family/params.js'
import { invalidBody } from '../../core/problems.js'
import { intendToRead } from '../../core/service/caller.js'
import type { Command } from '../../core/service/command.js'
import { authorizeReader } from '../../core/service/reader.js'
import { nameRecord, readTarget } from '../../core/service/record.js'
import { isObject, type Members } from '../../core/values/json.js'
import { addArticle, didYouMean } from '../../core/values/words.js'
import { getJsonBody, readJsonParams } from '../body.js'
import type { Mount } from '../mount.js'
import {
  commandIdParameter, describeAnswer, describeCommandAnswers, describeForm, describeItemRoute, describeNothing,
  describeRequestHeaders, describeSharedRoute, describeShortly, writeConditions
} from '../openapi/routes.js'
import {
  describeAction, describeActions, describeCommand, describeId, describeNew, nameSchema
} from '../openapi/schemas.js'
import { sendEntry } from '../reads/log.js'
import { answerRead, type OneQuery, parseOne, type Read } from '../reads/read.js'
import { toProblem } from '../reply.js'
import { readCommandId, readIdempotencyKey, readItemId, requireId } from '../request.js'
import { type Endpoint, retire, type RouteSchema } from '../routes.js'
import { answerEntry, type Form, makeItemEndpoint, makeWriteEndpoint, writeHandler } from './write.js'

/** Reads `{ "action": "HoldDeal", "params": { … } }`. If `isNamed`, the body names the item, by the singular. */
function compileEnvelope (family: Family, isNamed = false): (request: FastifyRequest) => Command {
  const { singular, idSchema, operations } = family
  const envelope = compileParams(Type.Object({
    ...(isNamed ? { [singular]: idSchema } : {}),
    action: Type.String(),
    params: Type.Optional(Type.Object({}))
  }))
  return request => {
    const sent = readParams(envelope, getJsonBody(request)) as { action: string, params?: Members }
    const { action, params = {} } = sent
    const read = readAction(operations, action, params)
    const target = isNamed
      ? requireId(family, String((sent as Members)[singular]))
      : readItemId(family, request)
    return { action, params: read, target }
  }
}

export function readAction (
  actions: ReadonlyMap<string, { readonly params: Params }>,
  action: string,
  params: Members
): Members {
  const found = actions.get(action)
  if (found !== undefined) return readParams(found.params, params, '/params')
  const known = [...actions.keys()]
  const detail = `must be one of ${known.join(', ')}.${didYouMean(action, known)}`
  throw invalidBody([{ pointer: '/action', detail }])
}

/** `PUT …/{id}` with `{ "action", "params" }`. */
export const update: Form<'update'> = {
  name: 'update',
  endpoints (mount) {
    const { family } = mount
    return [makeItemEndpoint(mount, 'update', `update-${family.singular}`, {
      method: 'PUT',
      path: '/:id',
      accepts: body => isObject(body) && Object.hasOwn(body, 'action'),
      read: compileEnvelope(family)
    }, {
      summary: `Change ${addArticle(family.singular)}`,
      description: 'With an action: runs that operation.',
      body: describeAction(mount)
    })]
  }
}

/** `PUT …/{id}/commands/{command_id}` with `{ "action", "params" }`: the client chooses the id of the command. */
export const command: Form<'command'> = {
  name: 'command',
  endpoints (mount) {
    const { family } = mount
    const readEnvelope = compileEnvelope(family)
    return [makeWriteEndpoint(mount, {
      method: 'PUT',
      path: '/:id/commands/:command',
      read: request => ({ ...readEnvelope(request), id: readCommandId(request) }),
      answer: answerEntry,
      schema: describeForm(mount, 'command', describeItemRoute(mount, 'operations', `put-${family.singular}-command`, {
        summary: `Change ${addArticle(family.singular)}`,
        description: commandRule,
        path: { command: commandIdParameter },
        headers: describeRequestHeaders(...writeConditions, 'prefer'),
        body: describeAction(mount),
        response: describeCommandAnswers(mount, 'command', describeCommand(mount))
      }))
    })]
  }
}

const commandRule = 'You choose the id of the command, which makes retries safe.'

const path = '/rest/commands/:command'

/** `PUT /rest/commands/{command_id}` with `{ "deal", "action", "params" }`; the singular selects the family. */
export const commands: Form<'commands'> = {
  name: 'commands',
  endpoints (mount) {
    const { family, neighbours, unversioned } = mount
    if (unversioned === false) return []
    const { commands, commandSchemas: { bodies, answers } } = neighbours
    const isFirst = commands.size === 0
    const readEnvelope = compileEnvelope(family, true)
    const put = writeHandler(mount, {
      read: request => ({ id: readCommandId(request), ...readEnvelope(request) }),
      answer: answerEntry
    })
    if (neighbours.addCommands(mount, put)) {
      bodies.push(...describeActions(mount, 'Command', { [family.singular]: describeId(mount) }))
      answers.push(describeCommand(mount))
    }
    // The first mount at a prefix declares the routes for all families there.
    if (!isFirst) return []
    const parameters = { command: commandIdParameter }
    // Later families add theirs.
    const answer = Type.Unsafe({ anyOf: answers })
    return [
      {
        method: 'PUT',
        path,
        sharedBy: 'families',
        handler: async (request, reply) => {
          const body = getJsonBody(request)
          const [family, ...others] = [...commands.keys()].filter(singular => Object.hasOwn(body, singular))
          const found = commands.get(family ?? '')
          if (found === undefined || others.length > 0) {
            const detail = `must have one of these, with the id of the item: ${[...commands.keys()].join(', ')}`
            throw invalidBody([{ pointer: '', detail }])
          }
          retire(reply, found.mount.retirement)
          return await found.put(request, reply)
        },
        schema: describeForm(mount, 'commands', describeSharedRoute(mount, 'all commands', 'put-command', {
          summary: 'Change an item of any family',
          description: commandRule,
          path: parameters,
          headers: describeRequestHeaders(...writeConditions, 'prefer'),
          body: { anyOf: bodies },
          response: describeCommandAnswers(mount, 'commands', answer)
        }))
      },
      {
        method: 'GET',
        path,
        sharedBy: 'families',
        handler: async (request, reply) => {
          const [first, ...others] = [...commands.values()].map(({ mount }) => commandRead(mount))
          return await answerRead([first as Read<OneQuery>, ...others], request, reply)
        },
        schema: describeShortly(mount, describeSharedRoute(mount, 'all commands', 'read-command', {
          summary: 'Read a command',
          description: 'The request and its outcome.',
          path: parameters,
          response: { 200: describeAnswer(mount, 'one', 'The command', answer) }
        }))
      }
    ]
  }
}

function commandRead (mount: Mount): Read<OneQuery> {
  const { family } = mount
  return {
    mount,
    kind: 'one',
    noun: 'command',
    parameter: 'command',
    intend: (_request, name) => intendToRead(family, undefined, { command: name }),
    parse: (search, representation) => parseOne(mount.logGrammar, search, representation),
    async load ({ caller, reader, intent, name, query }) {
      const record = await reader.getCommand(name)
      if (record === undefined) return undefined
      const { principal } = reader
      const id = readTarget(family, record)
      try {
        const itemReader = await authorizeReader(family, caller, { ...intent, id })
        if (itemReader.isNarrowed && await itemReader.get(id) === undefined) return undefined
      } catch (error) {
        // A refusal would reveal that the command of another principal exists.
        if (record.principal === principal || toProblem(error).statusCode >= 500) throw error
        return undefined
      }
      return exchange => {
        retire(exchange.reply, mount.retirement)
        return sendEntry(exchange, query, { record, id: nameRecord(record, principal) })
      }
    }
  }
}

/** `POST /command/{action}/` for every operation, creation and deletion; the response is 200 without a body. */
export function actionEndpoints (mount: Mount): Endpoint[] {
  const { operations, lifecycle } = mount.family
  const makeOperationEndpoint = ({ operation, params }: Deletion) =>
    makeEndpoint(mount, operation.action, params, true)
  const endpoints = Array.from(operations.values(), makeOperationEndpoint)
  if (lifecycle === undefined) return endpoints
  const { createAction, deletion, params } = lifecycle
  endpoints.push(makeEndpoint(mount, createAction, params, false))
  if (deletion !== undefined) endpoints.push(makeOperationEndpoint(deletion))
  return endpoints
}

function makeEndpoint (mount: Mount, action: string, own: Params, isTargeted: boolean): Endpoint {
  const { family, urls, neighbours } = mount
  const body = isTargeted ? compileParams(Type.Object({ id: family.idSchema, ...own.schema.properties })) : own
  neighbours.addAction(mount, action, isTargeted
    ? nameSchema(mount, `${action}Properties`, body.schema)
    : describeNew(mount, body))
  return {
    method: 'POST',
    path: `/command/${action}`,
    sharedBy: 'versions',
    handler: writeHandler(mount, {
      read (request) {
        const sent = readJsonParams(body, request)
        const key = readIdempotencyKey(request.headers)
        if (!isTargeted) return { action, target: undefined, params: sent, key }
        const { id, ...params } = sent
        return { action, target: requireId(family, String(id)), params, key }
      },
      answer ({ request, reply }, { record }) {
        // The client cannot know the address of a new item.
        if (!isTargeted) reply.header('location', urls.item(request, readTarget(family, record)))
        return reply.code(200).send()
      }
    }),
    schema: { hide: true }
  }
}

/** One path for the actions of all families at a prefix; each has a route, which documents do not show. */
export function describeActionRoute (mount: Mount): RouteSchema {
  const { names, bodies } = mount.neighbours.actions
  return describeSharedRoute(mount, 'all commands', 'command', {
    summary: 'Change an item of any family by its action',
    description: 'The bodies are in the order of the words.',
    // Later families add theirs.
    path: { word: Type.Unsafe<string>({ type: 'string', enum: names }) },
    headers: describeRequestHeaders('idempotency-key'),
    body: { anyOf: bodies },
    response: { 200: describeNothing('Done') }
  })
}
