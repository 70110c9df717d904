import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hideIn } from '../../core/family/narrow.js'
import { compileParams, readParams } from '../../core/family/params.js'
import { invalidBody, pointToCommand, Problem } from '../../core/problems.js'
import { type Caller, intendToRead } from '../../core/service/caller.js'
import type { Command } from '../../core/service/decide.js'
import type { Outcome } from '../../core/service/execute.js'
import { executeAll } from '../../core/service/execute-all.js'
import { authorizeReader, findReadable, type Reader } from '../../core/service/reader.js'
import { nameRecord, readTarget } from '../../core/service/record.js'
import { expectRevision } from '../../core/service/refusal.js'
import { endLongTurn } from '../../core/storage/turns.js'
import { hashText, textIdPattern } from '../../core/values/ids.js'
import { isObject, type Members } from '../../core/values/json.js'
import type { RouteTarget } from '../../representations/target.js'
import { getJsonBody, readKey } from '../body.js'
import { type Exchange, logOutcome, type Mount, showItem } from '../mount.js'
import { linkCommand, sendEntry } from '../reads/log.js'
import { answerRead, type Loading, type OneQuery, parseOne, type Read } from '../reads/read.js'
import { logFailure, send, toProblem } from '../reply.js'
import { readCommandId, readPreference, requireId } from '../request.js'
import { explainEnd, hasEnded, retire } from '../routes.js'
import { actionMembers, compileEnvelope } from './commands.js'
import { answerEntry, type Form, type FormEndpoint, sendSeen, startWrite, writeHandler } from './write.js'

/** `/rest/commands`: PUT and GET of one command, POST of many; the singular of the item selects the family. */
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
    neighbours.addCommands(mount, commands, { read: compileCommandReader(mount) })
    // The first mount at a prefix declares the routes for all families there.
    return [...isFirstToPut ? singleEndpoints(mount) : [], ...isFirst ? [manyEndpoint(mount)] : []]
  }
}

/** The families that a shared route leads to, for documents. */
function showOwners (known: ReadonlyMap<string, { readonly mount: Mount }>): RouteTarget[] {
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

function findOwner<T extends { readonly mount: Mount }> (
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
    if (itemReader.isNarrowed && await itemReader.get(id) === undefined) return undefined
  } catch (error) {
    // A refusal would reveal that the command of another principal exists.
    if (toProblem(error).statusCode >= 500 || await reader.getOwnCommand(name) !== undefined) throw error
    return undefined
  }
  // More may be hidden of this item.
  const shown = itemReader.family === family ? record : await itemReader.getCommand(name)
  return shown && { record: shown, id: nameRecord(shown, reader.grant.principal) }
}

/** `POST /rest/commands` with `{ "commands": [{ "id", "deal", "action", "params", "revision" }], "atomic" }`. */
function manyEndpoint (mount: Mount): FormEndpoint {
  return {
    method: 'POST',
    path: '/rest/commands',
    sharedBy: 'families',
    handler: (request, reply) => answerMany(mount, request, reply),
    documented: {
      kind: 'commands', isShared: true, forms: ['commands'], targets: () => showOwners(mount.neighbours.commands)
    }
  }
}

const id = Type.Optional(Type.String({ pattern: textIdPattern }))

function compileCommandReader ({ family, preconditions }: Mount): (sent: Members) => Command {
  const { singular, idSchema, lifecycle } = family
  const { createAction } = lifecycle ?? {}
  const revision = Type.Optional(Type.Integer())
  const readTargeted = compileEnvelope({ id, ...actionMembers, [singular]: idSchema, revision }, family.changes)
  const readNew = compileEnvelope({ id, ...actionMembers }, new Map(lifecycle && [[lifecycle.createAction, lifecycle]]))
  return sent => {
    if (createAction !== undefined && sent.action === createAction) {
      return { ...readNew(sent), at: '', target: undefined }
    }
    const { id, action, params, revision, [singular]: target } = readTargeted(sent)
    return {
      id,
      action,
      params,
      target: requireId(family, String(target)),
      precondition: expectRevision(singular, revision as number | undefined, preconditions === 'required')
    }
  }
}

const body = compileParams(Type.Object({
  commands: Type.Array(Type.Unknown()), atomic: Type.Optional(Type.Boolean())
}))

const conditions = ['if-match', 'if-none-match', 'if-unmodified-since'] as const

async function answerMany (mount: Mount, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const exchange = startWrite(mount, request, reply)
  const key = readKey(request)
  const { headers } = request
  if (conditions.some(name => headers[name] !== undefined)) {
    throw new Problem('invalid-header', 'Preconditions are for one item; give each command the revision you know')
  }
  const { commands, atomic } = readParams(body, getJsonBody(request)) as { commands: unknown[], atomic?: boolean }
  // The least of those that the families have.
  const given = Array.from(mount.neighbours.commands.values(), ({ mount }) => mount.maxCommands ?? Infinity)
  const max = given.every(each => each === Infinity) ? 100 : Math.min(...given)
  if (commands.length === 0 || commands.length > max) {
    throw invalidBody([{ pointer: '/commands', detail: `must have 1 to ${max} commands` }])
  }
  // Awaiting undefined would also pause, and all lists that arrive together would be read in one turn.
  const pause = endLongTurn()
  if (pause !== undefined) await pause
  const callers = new Map<Mount, Caller>()
  const exchanges: Exchange[] = []
  const results = await executeAll(commands, (sent, index) => {
    const { action, ...others } = isObject(sent) ? sent : {}
    const { mount: its, read } = findOwner(mount.neighbours.commands, (singular, { lifecycle }) =>
      // The action of a creation selects the family too.
      Object.hasOwn(others, singular) || (action !== undefined && action === lifecycle?.createAction))
    const { family, retirement } = its
    if (hasEnded(retirement)) throw explainEnd(retirement)
    if (!callers.has(its)) retire(reply, retirement)
    const caller = callers.get(its) ?? its.caller(request)
    callers.set(its, caller)
    exchanges[index] = { ...exchange, mount: its }
    const command = read(sent as Members)
    const isKeyed = key !== undefined && command.id === undefined
    return { family, caller, command: isKeyed ? { ...command, key: hashText(JSON.stringify([key, index])) } : command }
  }, atomic === true, (error, index, isRead) => {
    const problem = toProblem(error)
    return problem.statusCode >= 500 ? error : pointToCommand(index, problem, isRead === true ? '' : '/params')
  })
  const preference = readPreference(headers)
  const items = await Promise.all(results.map((result, index) => result.status === 'rejected'
    ? showFailure(exchange, result.reason)
    : showOutcome(exchanges[index] as Exchange, result.value, preference === 'minimal')))
  if (items.every(({ replayed }) => replayed === true)) reply.header('idempotent-replayed', 'true')
  if (preference !== undefined) reply.header('preference-applied', `return=${preference}`)
  for (const caller of callers.values()) await sendSeen(reply, caller)
  return await send(exchange, { kind: 'one', name: 'commands', document: { items }, mount: mount.shown })
}

function showFailure ({ request }: Exchange, error: unknown, replayed = false): Members {
  const problem = toProblem(error)
  if (problem.statusCode >= 500 || problem.code === 'constraint') logFailure(request, problem)
  return { status: problem.statusCode, ...(replayed && { replayed }), problem: problem.document() }
}

async function showOutcome (exchange: Exchange, outcome: Outcome, isMinimal: boolean): Promise<Members> {
  const { replayed, problem, secrets, loadItem } = outcome
  logOutcome(exchange, outcome)
  if (problem !== undefined) return showFailure(exchange, problem, replayed)
  // As of a command that is put: 201 for a new entry of the log.
  const answer = { status: replayed || outcome.id === undefined ? 200 : 201, ...(replayed && { replayed }) }
  if (isMinimal) return answer
  const item = outcome.item ?? await loadItem?.().catch(() => undefined)
  const { mount, mount: { family, caller }, request } = exchange
  const shown = item && await findReadable({ family, caller: caller(request) }, { ...outcome, item })
  return {
    ...answer,
    command: { ...linkCommand(exchange, outcome), ...secrets },
    ...(shown && { item: showItem(mount.as(shown), request, hideIn(shown, item)) })
  }
}
