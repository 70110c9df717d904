import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../problems.js'
import type { Endpoint } from '../../http/routes.js'
import { visible } from '../mount/access.js'
import { answerCommand } from '../write/answers.js'
import type { CommandRecord } from '../model/command.js'
import { addSharedSchemas, describeSharedCommand, describeSharedEntry } from '../openapi/writes.js'
import { compileEnvelope } from '../write/envelope.js'
import { sendEntry } from '../read/log.js'
import type { Mount } from '../mount/mount.js'
import { targetOf } from '../model/record.js'
import { firstOf, readSuffixed } from '../read/understand.js'
import { commandOfPath } from '../mount/paths.js'
import { bodyOf, invalidBody } from '../write/sent.js'
import type { Unversioned } from '../mount/unversioned.js'
import { writeHandler } from '../write/pipeline.js'

/** `PUT /rest/commands/{command_id}` with `{ "deal", "action", "params" }`; the singular says which family is meant. */
export function commandsEndpoints (mount: Mount, { commands, schemas }: Unversioned): Endpoint[] {
  const isFirst = commands.known.length === 0
  const isNew = commands.claim(mount.family.singular, mount, { mount, put: putHandler(mount) })
  if (isNew) addSharedSchemas(schemas, mount)
  if (!isFirst) return []
  const path = '/rest/commands/:command'
  return [
    {
      method: 'PUT',
      path,
      schema: describeSharedCommand(mount, schemas),
      handler: async (request, reply) => {
        const body = bodyOf(request)
        const [named, ...others] = commands.known.filter(singular => Object.hasOwn(body, singular))
        if (named === undefined || others.length > 0) throw invalidBody([{ pointer: '', detail: `must have one of these, to say what the command is for: ${commands.known.join(', ')}` }])
        commands.retire(named, reply)
        return await commands.owner(named).put(request, reply)
      }
    },
    {
      method: 'GET',
      path,
      schema: describeSharedEntry(mount, schemas),
      handler: async (request, reply) => await readCommand(commands, request, reply)
    }
  ]
}

function putHandler (mount: Mount): Endpoint['handler'] {
  const { family } = mount
  const readEnvelope = compileEnvelope(family, { [family.singular]: family.idKind === 'integer' ? Type.Integer() : Type.String() })
  return writeHandler(mount, {
    read (request) {
      const id = commandOfPath(request)
      const { action, params, others } = readEnvelope(bodyOf(request))
      const target = family.readId(String(others[family.singular]))
      if (target === undefined) throw new Problem('not-found', `There is no ${family.singular} "${String(others[family.singular]).slice(0, 100)}"`)
      return { action, params, target, id }
    },
    answer: answerCommand
  })
}

async function readCommand (commands: Unversioned['commands'], request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const text = (request.params as { command: string }).command
  const found = await firstOf(commands.known, async singular => {
    const { mount } = commands.owner(singular)
    const entry = await visibleEntry(mount, request, text)
    if (entry === undefined) return undefined
    commands.retire(singular, reply)
    return { mount, ...entry }
  })
  if (found === undefined) throw new Problem('not-found', `There is no command "${text}"`)
  return await sendEntry(found.mount, request, reply, found.item, found.suffix)
}

async function visibleEntry (mount: Mount, request: FastifyRequest, text: string): Promise<{ item: CommandRecord, suffix: string | undefined } | undefined> {
  const { family } = mount
  const intent = { family: family.name, action: 'read', params: { command: text } }
  await mount.authorize(request, { ...intent, id: undefined })
  const storage = await mount.storage(request)
  const found = await readSuffixed(text, async id => {
    const record = await storage.get('commands', id) as CommandRecord | undefined
    return record?.family === family.name ? record : undefined
  })
  if (found === undefined) return undefined
  // Only now it is known which item it is about.
  const id = targetOf(family, found.item)
  const grant = await mount.authorize(request, { ...intent, id })
  const isThere = (grant.where ?? []).length === 0 || await visible(storage, family.name, id, grant) !== undefined
  return isThere ? found : undefined
}
