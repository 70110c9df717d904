import { createHash } from 'node:crypto'
import type { Family } from '../family/family.js'
import { notFound, Problem } from '../problems.js'
import { matcher } from '../storage/match.js'
import type { Storage } from '../storage/storage.js'
import type { Grant } from './caller.js'
import type { Command, CommandRecord } from './command.js'
import { isSameCommand } from './command.js'
import { readTarget } from './record.js'

/**
 * The record of a command that was settled under this id before, so that it is not done again. An id that stands for
 * something else is a problem.
 */
export async function findReplay (
  storage: Storage,
  family: Family,
  command: Command & { readonly id: string },
  grant: Grant
): Promise<CommandRecord | undefined> {
  const record = await storage.get('commands', command.id) as CommandRecord | undefined
  if (record === undefined) return undefined
  const { target, key } = command
  const isVisible = await mayHear(storage, family, record, grant)
  // What the request names and may not see is not there; of what it only guesses by a key, it learns nothing.
  if (!isVisible && target !== undefined && record.target === String(target)) throw notFound(family.singular, target)
  if (!isVisible || !isSameCommand(record, family, command, grant.principal)) {
    throw new Problem('id-reused', key === undefined
      ? `The command id "${command.id}" was used for another command`
      : 'This Idempotency-Key was used for another request')
  }
  return record
}

// A grant's conditions hold for repeated answers too; of what is gone, only who made the command may hear.
async function mayHear (
  storage: Storage,
  family: Family,
  record: CommandRecord,
  { where = [] }: Grant
): Promise<boolean> {
  if (where.length === 0) return true
  const item = await storage.get(family.name, readTarget(family, record))
  return item === undefined ? record.principal !== undefined : matcher(where)(item)
}

/** The command id that a key stands for: always the same for one principal, and no other principal's. */
export function makeIdOfKey (key: string, principal: string | undefined): string {
  const hash = createHash('sha256').update(JSON.stringify([principal ?? null, key])).digest('hex')
  // In the shape of a UUID of version 8, which is free for such uses.
  const variant = (8 | parseInt(hash[16] as string, 16) & 3).toString(16)
  const [version, rest] = [`8${hash.slice(13, 16)}`, `${variant}${hash.slice(17, 20)}`]
  return [hash.slice(0, 8), hash.slice(8, 12), version, rest, hash.slice(20, 32)].join('-')
}
