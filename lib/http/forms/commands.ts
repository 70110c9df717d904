import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { invalidBody, notFound } from '../../core/problems.js'
import { intendToRead } from '../../core/service/caller.js'
import { Reader } from '../../core/service/reader.js'
import { nameRecord, readTarget } from '../../core/service/record.js'
import type { Mount, Neighbours } from '../mount.js'
import { describeCommandAnswers, describeResource } from '../openapi/answers.js'
import {
  commandIdParameter, describeQuerystring, describeRequestHeaders, readConditions, writeConditions
} from '../openapi/parameters.js'
import { describeSharedRoute } from '../openapi/route.js'
import { describeActions, describeCommand, describeId } from '../openapi/schemas.js'
import type { EntryQuery, LoadedEntry } from '../reads/log.js'
import { locateCommand, sendEntry } from '../reads/log.js'
import type { Read } from '../reads/read.js'
import { addHint, answerRead, parseOne } from '../reads/read.js'
import type { Endpoint } from '../routes.js'
import { retire } from '../routes.js'
import { toProblem } from '../to-problem.js'
import { readCommandId, requireId } from '../urls.js'
import { answerCommand } from './answer.js'
import { getJsonBody, hasMember } from './body.js'
import { commandRule, compileEnvelope } from './envelope.js'
import type { Form, FormEndpoint } from './write.js'
import { writeHandler } from './write.js'

const path = '/rest/commands/:command'

/** `PUT /rest/commands/{command_id}` with `{ "deal", "action", "params" }`; the singular says which family is meant. */
export const commands: Form<'commands'> = {
  name: 'commands',
  endpoints (mount) {
    const { family, neighbours, unversioned } = mount
    if (family.operations.size === 0 || unversioned === false) return []
    const { commands, commandSchemas: { bodies, answers } } = neighbours
    const isFirst = commands.size === 0
    if (neighbours.addCommands(mount, makePutHandler(mount))) {
      bodies.push(...describeActions(mount, 'Command', { [family.singular]: describeId(mount) }))
      answers.push(describeCommand(mount))
    }
    return isFirst ? makeEndpoints(mount, neighbours) : []
  }
}

/** What the first mount at a prefix makes for all that will be there, whatever their options. */
function makeEndpoints (mount: Mount, { commands, commandSchemas: { bodies, answers } }: Neighbours): FormEndpoint[] {
  const parameters = { command: commandIdParameter }
  // Every family that comes adds its own.
  const answer = Type.Unsafe({ anyOf: answers })
  return [
    {
      method: 'PUT',
      path,
      sharedBy: 'families',
      handler: async (request, reply) => {
        const { mount, put } = findFamily(commands, request)
        retire(reply, mount.retirement)
        return await put(request, reply)
      },
      schema: describeSharedRoute(mount, 'all commands', 'put-command', {
        summary: 'Command an item, under an id that the client chooses',
        description: `The member named like the family says what the command is for. ${commandRule}`,
        path: parameters,
        headers: describeRequestHeaders(...writeConditions, 'prefer'),
        body: { anyOf: bodies },
        response: describeCommandAnswers(mount, answer, 'taken', 'precondition-required', 'gone')
      })
    },
    {
      method: 'GET',
      path,
      sharedBy: 'families',
      handler: async (request, reply) => {
        const [first, ...others] = [...commands.values()].map(({ mount }) => makeRead(mount))
        return await answerRead([first as CommandRead, ...others], request, reply)
      },
      schema: describeSharedRoute(mount, 'all commands', 'read-command', {
        summary: 'Read a command',
        description: 'Of whichever family: what was asked for, and what became of it.',
        path: parameters,
        querystring: describeQuerystring(mount, 'log', 'one'),
        headers: describeRequestHeaders(...readConditions),
        response: describeResource(mount, 'one', 'The command', answer, 'gone')
      })
    }
  ]
}

// The member that names the item tells the family.
function findFamily<T> (families: ReadonlyMap<string, T>, request: FastifyRequest): T {
  const body = getJsonBody(request)
  const [family, ...others] = [...families].filter(([singular]) => hasMember(body, singular))
  if (family !== undefined && others.length === 0) return family[1]
  const detail = `must have one of these, to say what the command is for: ${[...families.keys()].join(', ')}`
  throw invalidBody([{ pointer: '', detail }])
}

function makePutHandler (mount: Mount): Endpoint['handler'] {
  const { family } = mount
  const { singular, idSchema } = family
  const readEnvelope = compileEnvelope(family, { [singular]: idSchema })
  return writeHandler(mount, {
    read (request) {
      const id = readCommandId(request)
      const { action, params, others } = readEnvelope(getJsonBody(request))
      return { action, params, target: requireId(family, String(others[singular])), id }
    },
    answer: answerCommand
  })
}

type CommandRead = Read<EntryQuery, LoadedEntry>

function makeRead (mount: Mount): CommandRead {
  const { family } = mount
  return {
    mount,
    kind: 'one',
    locate: locateCommand,
    intend: (_request, name) => intendToRead(family, undefined, { command: name }),
    parse: (search, representation) => parseOne(mount.logGrammar, search, representation).fields,
    async load ({ caller, reader, intent, name }) {
      const record = await reader.getCommand(name)
      if (record === undefined) return undefined
      const { principal } = reader
      const entry = { record, id: nameRecord(record, principal) }
      // Only now it is known which item it is about.
      const id = readTarget(family, record)
      try {
        const grant = await caller.authorize({ ...intent, id })
        if ((grant.where ?? []).length === 0) return entry
        const item = await new Reader(family, await caller.storage(), grant, caller.signal).get(id)
        return item === undefined ? undefined : entry
      } catch (error) {
        // Of what others did, a refusal would tell that it was done.
        if (record.principal === principal || toProblem(error).statusCode >= 500) throw error
        return undefined
      }
    },
    represent (exchange, fields, entry) {
      retire(exchange.reply, mount.retirement)
      return sendEntry(exchange, fields, entry)
    },
    miss: (name, refusal) => addHint(notFound('command', name), refusal)
  }
}
