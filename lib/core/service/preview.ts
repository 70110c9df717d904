import type { Family } from '../family/family.js'
import { notFound } from '../problems.js'
import { matcher } from '../storage/conditions.js'
import type { Id } from '../storage/storage.js'
import type { Caller } from './caller.js'
import type { Command } from './command.js'
import { identifyCommand } from './command-id.js'
import type { Decision } from './decide.js'
import { decide } from './decide.js'
import type { LoadedOther } from './others.js'
import { authorizeOthers, loadOthers } from './others.js'

/** What a command would come to, and what else it was decided on. */
export interface Preview {
  /** The other items that it needs. */
  readonly others: readonly LoadedOther[]
  readonly decision: Decision
}

/** What a command would come to now, and the other items as they are. Nothing is done, and `authorize` knows that. */
export async function preview (
  family: Family,
  caller: Caller,
  command: Command
): Promise<Preview> {
  const { action = 'read', params, precondition } = command
  const id = command.target as Id
  const { where = [], principal } = await caller.authorize({
    family: family.name, action, id, params, tentative: true
  })
  const needed = await authorizeOthers({ family, caller }, command, { tentative: true })
  const storage = await caller.storage()
  const current = await storage.get(family.name, id, caller.signal)
  if (current === undefined || !matcher(where)(current)) throw notFound(family.singular, id)
  precondition?.(current)
  const { makers } = caller
  const name = identifyCommand(command, principal)?.id ?? makers.makeCommandId()
  const context = { now: makers.clock().toISOString(), command: name, principal, items: {} }
  const others = await loadOthers(needed, storage)
  return { others, decision: decide(family, current, command, context, others) }
}
