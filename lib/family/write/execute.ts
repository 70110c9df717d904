import type { FastifyRequest } from 'fastify'
import { setTimeout as pause } from 'node:timers/promises'
import { writeMayGo } from '../../http/conditional.js'
import { idOfKey } from '../../http/idempotency.js'
import { Problem } from '../../problems.js'
import { matcher } from '../../storage/match.js'
import { ConflictError, DuplicateError } from '../../storage/storage.js'
import type { Id, Query, Storage, Stored } from '../../storage/storage.js'
import { uuidv7 } from '../../values/uuid.js'
import { visible } from '../mount/access.js'
import { isSameCommand } from '../model/command.js'
import type { Command, CommandRecord } from '../model/command.js'
import { decide, decideCreation } from '../model/decide.js'
import type { Decision } from '../model/decide.js'
import type { Family, Lifecycle } from '../model/family.js'
import type { Mount } from '../mount/mount.js'
import type { Context } from '../model/operation.js'
import type { Grant, Intent } from '../mount/options.js'
import { changesOf, problemOf, recordOf, targetOf } from '../model/record.js'
import { logCommand, tellHost } from './committed.js'
import { conditionsOf } from './sent.js'
import { spanned } from './span.js'
import { inTurn } from './turns.js'

/** What became of a command. */
export interface Result {
  readonly record: CommandRecord
  /** Whether the record stands in the log. */
  readonly recorded: boolean
  /** The item after it; undefined where it was deleted, and where an earlier answer is given again. */
  readonly item: Stored | undefined
  readonly replayed: boolean
}

/** Does what a command says, once: authorize, replay, load, precondition, decide, commit. */
export async function execute (mount: Mount, request: FastifyRequest, command: Command): Promise<Result> {
  const { family } = mount
  const grant = await mount.authorize(request, intentOf(family, command))
  const storage = await mount.storage(request)
  const chosen = command.id ?? (command.key === undefined ? undefined : idOfKey(command.key, grant.principal))
  const place = command.target !== undefined ? `${family.name}/${command.target}` : isCounted(family) ? family.name : chosen

  const result = await inTurn(storage, place, () => untilSettled(async () => {
    const replay = chosen === undefined ? undefined : await replayOf(storage, family, chosen, command, grant)
    if (replay !== undefined) return replay
    const { current, meant, granted } = command.target === undefined
      ? { current: undefined, meant: command, granted: grant }
      : await found(mount, request, storage, command, command.target, grant)
    const context: Context = { now: new Date().toISOString(), command: chosen ?? uuidv7(), principal: granted.principal }
    const decision = await spanned(request, 'decide', async () => current === undefined ? await created(family, storage, command, context) : decide(family, current, meant, context))
    const item = decision.outcome === 'done' ? decision.after : current
    if (item !== undefined && !matcher(granted.where ?? [])(item)) throw new Problem('forbidden', `You may not make the ${family.singular} this`)
    const record = recordOf(family, meant, context, current, decision)
    // Without an id of the client's there is nothing to be replayed, so only changes are recorded.
    const recorded = decision.outcome === 'done' || chosen !== undefined
    if (recorded) await spanned(request, 'commit', () => storage.commit(changesOf(family, current, decision, record)))
    if (decision.outcome === 'done') tellHost(mount, request, record, current, item)
    return { record, recorded, item, replayed: false }
  }))

  logCommand(family, request, result.record, result.replayed)
  if (result.record.outcome === 'refused') throw problemOf(result.record, result.replayed)
  return result
}

async function replayOf (storage: Storage, family: Family, id: string, command: Command, grant: Grant): Promise<Result | undefined> {
  const record = await storage.get('commands', id) as CommandRecord | undefined
  if (record === undefined) return undefined
  const repeatable = await mayRepeat(storage, family, record, grant)
  // What the request names and may not see is not there; of what it only guesses by a key, it learns nothing.
  if (!repeatable && command.target !== undefined && record.target === String(command.target)) throw notFound(family, command.target)
  if (!repeatable || !isSameCommand(record, family.name, command, grant.principal)) {
    throw new Problem('id-reused', command.id === undefined
      ? 'This Idempotency-Key was used for another request'
      : `The command id "${id}" was used for another command`)
  }
  return { record, recorded: true, item: undefined, replayed: true }
}

// A grant's conditions hold for repeated answers too; of what is gone, only who made the command may hear.
async function mayRepeat (storage: Storage, family: Family, record: CommandRecord, { where = [] }: Grant): Promise<boolean> {
  if (where.length === 0) return true
  const item = await storage.get(family.name, targetOf(family, record))
  return item === undefined ? record.principal !== undefined : matcher(where)(item)
}

function notFound ({ singular }: Family, id: Id): Problem {
  return new Problem('not-found', `There is no ${singular} "${id}"`)
}

async function created (family: Family, storage: Storage, { params }: Command, context: Context): Promise<Decision> {
  const id = isCounted(family) ? await nextInteger(family, storage) : family.makeId?.() ?? uuidv7()
  return { outcome: 'done', after: decideCreation(family.lifecycle as Lifecycle, family, id, params, context) }
}

/** The item as it is, what the command means for it, and what the request may do with it. */
async function found (mount: Mount, request: FastifyRequest, storage: Storage, command: Command, target: Id, grant: Grant): Promise<{ current: Stored, meant: Command, granted: Grant }> {
  const { family } = mount
  const current = await visible(storage, family.name, target, grant)
  if (current === undefined) throw notFound(family, target)
  const conditions = conditionsOf(request)
  if (mount.preconditions === 'required' && conditions['if-match'] === undefined) {
    throw new Problem('precondition-required', `Send If-Match with the revision that you know of the ${family.singular}`)
  }
  if (!writeMayGo(conditions, current, command.id === undefined)) {
    throw new Problem('precondition-failed', `The ${family.singular} is not what the precondition says; it is at revision ${current.revision}`, { members: { revision: current.revision } })
  }
  const meant = command.interpret === undefined ? command : { ...command, ...command.interpret(current) }
  if (meant.action === command.action) return { current, meant, granted: grant }
  // Reading was asked for above; changing is another matter, with conditions of its own.
  const granted = await mount.authorize(request, intentOf(family, meant))
  if (!matcher(granted.where ?? [])(current)) throw notFound(family, target)
  return { current, meant, granted }
}

function intentOf (family: Family, { action = 'read', target, params }: Command): Intent {
  return { family: family.name, action, id: target, params }
}

// Whether the next id depends on those before it, so that creations wait for each other.
function isCounted ({ idKind, makeId }: Family): boolean {
  return idKind === 'integer' && makeId === undefined
}

async function nextInteger (family: Family, storage: Storage): Promise<number> {
  const last = await first(storage, family.name, { where: [], order: [{ field: 'id', descending: true }] })
  let id = last === undefined ? 1 : last.id as number + 1
  // What was deleted keeps its log, so its id is not given again. Doubling the step passes over many in few reads.
  for (let step = 1; await first(storage, 'commands', logOf(family, id)) !== undefined; step *= 2) id += step
  return id
}

async function first (storage: Storage, family: string, query: Pick<Query, 'where' | 'order'>): Promise<Stored | undefined> {
  return (await storage.find(family, { ...query, offset: 0, limit: 1, count: false })).items[0]
}

function logOf ({ name }: Family, id: Id): Pick<Query, 'where' | 'order'> {
  return {
    where: [{ field: 'family', op: 'eq', values: [name] }, { field: 'target', op: 'eq', values: [String(id)] }],
    order: [{ field: 'revision', descending: false }, { field: 'id', descending: false }]
  }
}

// Each attempt that fails means that another process succeeded in between.
const maxAttempts = 30

/** Decides again from what is there now, as long as another writer was faster. */
async function untilSettled<T> (attempt: () => Promise<T>): Promise<T> {
  for (let failures = 0; failures < maxAttempts; failures++) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof ConflictError || error instanceof DuplicateError)) throw error
      if (failures > 2) await pause(Math.random() * 2 * failures)
    }
  }
  throw new Problem('busy', 'Others kept changing it at the same time; nothing was done', { headers: { 'retry-after': '1' } })
}
