import { invalidBody } from '../../core/problems.js'
import { intendToRead } from '../../core/service/caller.js'
import type { Outcome } from '../../core/service/execute.js'
import { authorizeReader, type Reader } from '../../core/service/reader.js'
import { nameRecord, readTarget } from '../../core/service/record.js'
import type { RouteTarget } from '../../representations/target.js'
import { getJsonBody } from '../body.js'
import type { Mount } from '../mount.js'
import { sendEntry } from '../reads/log.js'
import { answerRead, type Loading, type OneQuery, parseOne, type Read } from '../reads/read.js'
import { toProblem } from '../reply.js'
import { readCommandId, requireId } from '../request.js'
import { retire } from '../routes.js'
import { actionMembers, compileEnvelope } from './commands.js'
import { answerEntry, type Form, type FormEndpoint, writeHandler } from './write.js'

/** `/rest/commands`: PUT and GET of one command, POST of many. The singular of the item selects the family. */
export const commands: Form<'commands'> = {
  name: 'commands',
  endpoints (mount) {
    const { family, family: { singular }, neighbours, unversioned } = mount
    if (unversioned === false) return []
    const { commands, puts } = neighbours
    const isFirst = commands.size === 0
    const isFirstToPut = puts.size === 0 && family.operations.size > 0
    const readEnvelope = compileEnvelope({ [singular]: family.idSchema, ...actionMembers }, family.operations)
    const put = writeHandler(mount, {
      read (request) {
        const id = readCommandId(request)
        const { action, params, at, [singular]: target } = readEnvelope(getJsonBody(request))
        return { action, params, at, id, target: requireId(family, String(target)) }
      },
      answer: answerEntry
    })
    if (family.operations.size > 0) neighbours.addCommands(mount, puts, { put })
    neighbours.addCommands(mount, commands, { read: mount.parts.many.compileReader(mount) })
    // The first mount at a prefix declares the routes for all families there.
    return [...isFirstToPut ? singleEndpoints(mount) : [], ...isFirst ? [mount.parts.many.endpoint(mount)] : []]
  }
}

/** The families that a shared route leads to, for documents. */
export function showOwners (known: ReadonlyMap<string, { readonly mount: Mount }>): RouteTarget[] {
  return Array.from(known.values(), ({ mount: { shown } }) => ({ mount: shown }))
}

/** `PUT /rest/commands/{command_id}` with `{ "deal", "action", "params" }`, and GET. */
function singleEndpoints (mount: Mount): FormEndpoint[] {
  const { neighbours: { commands, puts } } = mount
  const path = '/rest/commands/:command'
  return [
    {
      method: 'PUT',
      path,
      sharedBy: 'families',
      handler: async (request, reply) => {
        const body = getJsonBody(request)
        const { mount: { retirement }, put } = findOwner(puts, singular => Object.hasOwn(body, singular))
        retire(reply, retirement)
        return await put(request, reply)
      },
      documented: { kind: 'command', isShared: true, forms: ['commands'], targets: () => showOwners(puts) }
    },
    {
      method: 'GET',
      path,
      sharedBy: 'families',
      handler: async (request, reply) => {
        const [first, ...others] = [...commands.values()].map(({ mount }) => commandRead(mount))
        return await answerRead([first as Read<OneQuery>, ...others], request, reply)
      },
      documented: { kind: 'entry', isShared: true, targets: () => showOwners(commands) }
    }
  ]
}

export function findOwner<T extends { readonly mount: Mount }> (
  known: ReadonlyMap<string, T>,
  isMeant: (singular: string, family: T['mount']['family']) => boolean
): T {
  const [found, ...more] = [...known].filter(([singular, { mount: { family } }]) => isMeant(singular, family))
  if (found !== undefined && more.length === 0) return found[1]
  const detail = `must have one of these, with the id of the item: ${[...known.keys()].join(', ')}`
  throw invalidBody([{ pointer: '', detail }])
}

function commandRead (mount: Mount): Read<OneQuery> {
  const { family } = mount
  return {
    mount,
    kind: 'one',
    noun: 'command',
    parameter: 'command',
    intend: (_request, name) => intendToRead(family, undefined, { command: name }),
    aim: (_request, command) => ({ kind: 'command', command }),
    parse: (search, { logGrammar }) => parseOne(logGrammar, search),
    async load (loading) {
      const found = await findCommand(loading)
      return found && (exchange => {
        retire(exchange.reply, mount.retirement)
        return sendEntry(exchange, loading.query, found)
      })
    }
  }
}

/** By its id alone: of the caller, on an item that it may read. */
export async function findCommand (
  { mount: { family }, caller, reader, intent, name }: Loading<unknown>
): Promise<Pick<Outcome, 'record' | 'id'> | undefined> {
  const record = await reader.getCommand(name)
  if (record === undefined) return undefined
  const id = readTarget(family, record)
  let itemReader: Reader
  try {
    itemReader = await authorizeReader(family, caller, { ...intent, id })
    const isSeen = !itemReader.isNarrowed || await itemReader.get(id) !== undefined || await itemReader.hasLog(id)
    if (!isSeen) return undefined
  } catch (error) {
    // A refusal would reveal that the command of another principal exists.
    if (toProblem(error).statusCode >= 500 || await reader.getOwnCommand(name) !== undefined) throw error
    return undefined
  }
  // More may be hidden of this item.
  const shown = itemReader.family === family ? record : await itemReader.getCommand(name)
  return shown && { record: shown, id: nameRecord(shown, reader.grant.principal) }
}
