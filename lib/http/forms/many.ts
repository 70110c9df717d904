import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { compileParams, readParams } from '../../core/family/params.js'
import {
  idReused, invalidBody, pointToCommand, preconditionFailed, preconditionRequired, Problem
} from '../../core/problems.js'
import type { Caller } from '../../core/service/caller.js'
import type { Command } from '../../core/service/command.js'
import type { Outcome } from '../../core/service/execute.js'
import { executeAll } from '../../core/service/execute-all.js'
import { hashText } from '../../core/values/ids.js'
import { isObject, type Members } from '../../core/values/json.js'
import { getJsonBody } from '../body.js'
import { type Exchange, type Mount, showItem } from '../mount.js'
import { describeProblems } from '../openapi/problems.js'
import {
  commandIdParameter, describeAnswer, describeForm, describeRequestHeaders, describeSharedRoute
} from '../openapi/routes.js'
import {
  describeCommand, describeId, describeLinkedItem, describeNew, describeParams, nameItem, nameSchema, ProblemSchema
} from '../openapi/schemas.js'
import { linkCommand } from '../reads/log.js'
import { sendSeen } from '../reads/read.js'
import { logFailure, send, toProblem } from '../reply.js'
import { readIdempotencyKey, readPreference, requireId } from '../request.js'
import { explainEnd, hasEnded, retire, type RouteSchema } from '../routes.js'
import { readAction } from './commands.js'
import { type Form, logOutcome, mayRead, startWrite } from './write.js'

/** `POST /rest/commands` with `{ "commands": [{ "id", "deal", "action", "params", "revision" }], "atomic" }`. */
export const many: Form<'commands'> = {
  name: 'commands',
  endpoints (mount) {
    const { neighbours, neighbours: { senders, manySchemas: { sent, answers } }, unversioned } = mount
    if (unversioned === false) return []
    const isFirst = senders.size === 0
    if (neighbours.addSender(mount, compileReader(mount))) {
      sent.push(...describeSent(mount))
      answers.push(describeResult(mount))
    }
    // The first mount at a prefix declares the route for all families there.
    if (!isFirst) return []
    return [{
      method: 'POST',
      path: '/rest/commands',
      sharedBy: 'families',
      handler: (request, reply) => answerMany(mount, request, reply),
      schema: describeMany(mount)
    }]
  }
}

const members = { id: Type.Optional(commandIdParameter), action: Type.String(), params: Type.Optional(Type.Object({})) }

function listActions ({ operations, lifecycle }: Mount['family']) {
  const deletion = lifecycle?.deletion
  return new Map([...operations, ...deletion === undefined ? [] : [[deletion.operation.action, deletion] as const]])
}

function compileReader ({ family, preconditions }: Mount): (sent: Members) => Command {
  const { singular, idSchema, lifecycle } = family
  const actions = listActions(family)
  const revision = Type.Optional(Type.Integer())
  const targeted = compileParams(Type.Object({ ...members, [singular]: idSchema, revision }))
  const creating = compileParams(Type.Object(members))
  return sent => {
    if (lifecycle !== undefined && sent.action === lifecycle.createAction) {
      const { id, action, params = {} } = readParams(creating, sent) as Sent
      return { id, action, target: undefined, params: readParams(lifecycle.params, params, '/params') }
    }
    const { id, action, params = {}, revision, [singular]: target } = readParams(targeted, sent) as Sent
    return {
      id,
      action,
      params: readAction(actions, action, params),
      target: requireId(family, String(target)),
      precondition ({ revision: current }) {
        if (revision === undefined && preconditions === 'required') throw preconditionRequired(singular, 'revision')
        if (revision !== undefined && revision !== current) throw preconditionFailed(singular, current)
      }
    }
  }
}

interface Sent {
  readonly id?: string
  readonly action: string
  readonly params?: Members
  readonly revision?: number
  readonly [singular: string]: unknown
}

const body = compileParams(Type.Object({
  commands: Type.Array(Type.Unknown()), atomic: Type.Optional(Type.Boolean())
}))

const conditions = ['if-match', 'if-none-match', 'if-unmodified-since'] as const

async function answerMany (mount: Mount, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const exchange = startWrite(mount, request, reply)
  const { headers } = request
  if (conditions.some(name => headers[name] !== undefined)) {
    throw new Problem('invalid-header', 'Preconditions are for one item; give each command the revision you know')
  }
  const { commands, atomic } = readParams(body, getJsonBody(request)) as { commands: unknown[], atomic?: boolean }
  const max = findMax(mount)
  if (commands.length === 0 || commands.length > max) {
    throw invalidBody([{ pointer: '/commands', detail: `must have 1 to ${max} commands` }])
  }
  const key = readIdempotencyKey(headers)
  const callers = new Map<Mount, Caller>()
  const exchanges: Exchange[] = []
  const results = await executeAll(commands, (sent, index) => {
    const { mount: its, read } = findSender(mount, sent)
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
    ? showProblem(exchange, result.reason)
    : showOutcome(exchanges[index] as Exchange, result.value, preference === 'minimal')))
  if (items.every(({ replayed }) => replayed === true)) reply.header('idempotent-replayed', 'true')
  if (preference !== undefined) reply.header('preference-applied', `return=${preference}`)
  for (const caller of callers.values()) await sendSeen(reply, caller)
  return await send(exchange, { kind: 'one', name: 'commands', document: { items } })
}

/** The least of those that the families have. */
function findMax ({ neighbours: { senders } }: Mount): number {
  const given = Array.from(senders.values(), ({ mount: { maxCommands } }) => maxCommands ?? Infinity)
  const least = Math.min(...given)
  return least === Infinity ? 100 : least
}

/** The singular selects the family, or the action of a creation. */
function findSender ({ neighbours: { senders } }: Mount, sent: unknown) {
  const { action, ...others } = isObject(sent) ? sent : {}
  const [found, ...more] = [...senders.values()].filter(({ mount: { family: { singular, lifecycle } } }) =>
    Object.hasOwn(others, singular) || (action !== undefined && action === lifecycle?.createAction))
  if (found !== undefined && more.length === 0) return found
  const detail = `must have one of these, with the id of the item: ${[...senders.keys()].join(', ')}`
  throw invalidBody([{ pointer: '', detail }])
}

function showProblem ({ request }: Exchange, error: unknown, replayed = false): Members {
  const problem = toProblem(error)
  if (problem.statusCode >= 500 || problem.code === 'constraint') logFailure(request, problem)
  return { status: problem.statusCode, ...(replayed && { replayed }), problem: problem.document() }
}

async function showOutcome (exchange: Exchange, outcome: Outcome, isMinimal: boolean): Promise<Members> {
  const { replayed, problem, secrets, loadItem } = outcome
  logOutcome(exchange, outcome)
  if (problem !== undefined) return showProblem(exchange, problem, replayed)
  // As of a command that is put: 201 for a new entry of the log.
  const answer = { status: replayed || outcome.id === undefined ? 200 : 201, ...(replayed && { replayed }) }
  if (isMinimal) return answer
  const item = outcome.item ?? await loadItem?.().catch(() => undefined)
  const isShown = item !== undefined && await mayRead(exchange, { ...outcome, item })
  return {
    ...answer,
    command: { ...linkCommand(exchange, outcome), ...secrets },
    ...(isShown && { item: showItem(exchange.mount, exchange.request, item) })
  }
}

function describeSent (mount: Mount): TSchema[] {
  const { family, family: { singular, lifecycle } } = mount
  const actions = listActions(family)
  const params = Array.from(actions, ([action, { params }]) => describeParams(mount, action, params))
  const targeted = {
    id: members.id,
    [singular]: describeId(mount),
    action: Type.Unsafe<string>({ type: 'string', enum: [...actions.keys()] }),
    params: Type.Optional(Type.Unsafe<object>({ anyOf: params })),
    revision: Type.Optional(Type.Integer({ description: 'The revision you know' }))
  }
  const name = (name: string, properties: TProperties) =>
    nameSchema(mount, `Sent${name}`, Type.Object(properties, { additionalProperties: false }))
  const sent = actions.size === 0 ? [] : [name(`${nameItem(mount)}Command`, targeted)]
  if (lifecycle === undefined) return sent
  const action = Type.Literal(lifecycle.createAction)
  const creating = { id: members.id, action, params: describeNew(mount, lifecycle.params) }
  return [...sent, name(lifecycle.createAction, creating)]
}

function describeResult (mount: Mount): TSchema {
  return nameSchema(mount, `${nameItem(mount)}Result`, Type.Object({
    status: Type.Integer({ description: 'As of the command alone' }),
    replayed: Type.Optional(Type.Boolean({ description: 'Whether it ran before' })),
    command: Type.Optional(describeCommand(mount)),
    item: Type.Optional(describeLinkedItem(mount)),
    problem: Type.Optional(nameSchema(mount, 'Problem', ProblemSchema))
  }))
}

function describeMany (mount: Mount): RouteSchema {
  const { sent, answers } = mount.neighbours.manySchemas
  const flaw = invalidBody([{ pointer: '/params/reason', detail: 'is required' }])
  return describeForm(mount, 'commands', describeSharedRoute(mount, 'all commands', 'send-commands', {
    summary: 'Send many commands',
    description: 'In this order, each for itself; with atomic all in one commit, or none.',
    headers: describeRequestHeaders('idempotency-key', 'prefer'),
    body: Type.Object({
      // Later families add theirs.
      commands: Type.Array(Type.Unsafe({ anyOf: sent }), { minItems: 1 }),
      atomic: Type.Optional(Type.Boolean({ default: false }))
    }, { additionalProperties: false }),
    response: {
      200: describeAnswer(mount, 'written', 'The outcome of each, in this order',
        Type.Object({ items: Type.Array(Type.Unsafe({ anyOf: answers })) })),
      ...mount.recommendedForm === 'commands' &&
        describeProblems(mount, 'SentCommands', {
          'invalid-body': () => pointToCommand(3, flaw),
          'id-reused': () => pointToCommand(3, idReused(commandIdParameter.examples?.[0]))
        })
    }
  }))
}
