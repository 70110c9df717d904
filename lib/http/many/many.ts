import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hideIn } from '../../core/family/narrow.js'
import { compileParams, readParams } from '../../core/family/params.js'
import { executeAll } from '../../core/many/execute-all.js'
import { invalidBody, pointToCommand, Problem } from '../../core/problems.js'
import type { Caller } from '../../core/service/caller.js'
import type { Command } from '../../core/service/decide.js'
import type { Outcome } from '../../core/service/execute.js'
import { findReadable } from '../../core/service/reader.js'
import { expectRevision } from '../../core/service/refusal.js'
import { endLongTurn } from '../../core/storage/turns.js'
import { hashText, textIdPattern } from '../../core/values/ids.js'
import { isObject, type Members } from '../../core/values/json.js'
import { getJsonBody, readKey } from '../body.js'
import { actionMembers, compileEnvelope } from '../forms/commands.js'
import { findOwner, showOwners } from '../forms/rest-commands.js'
import { sendSeen, startWrite } from '../forms/write.js'
import { type Exchange, logOutcome, type ManyPart, type Mount, showItem } from '../mount.js'
import { linkCommand } from '../reads/log.js'
import { logFailure, send, toProblem } from '../reply.js'
import { readPreference, requireId } from '../request.js'
import { type Endpoint, explainEnd, hasEnded, retire } from '../routes.js'

/** `POST /rest/commands` with `{ "commands": [{ "id", "deal", "action", "params", "revision" }], "atomic" }`. */
function endpoint (mount: Mount): Endpoint {
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

function compileManyReader ({ family, preconditions }: Mount): (sent: Members) => Command {
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

/** What mounts have of it. */
export const manyPart: ManyPart = { endpoint, compileReader: compileManyReader }
