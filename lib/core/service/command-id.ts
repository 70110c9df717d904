import { createHash } from 'node:crypto'
import type { Command } from './command.js'

/** The id of a command: as its caller knows it, and as its row in the storage has it. */
export interface CommandId {
  readonly id: string
  readonly row: string
}

/** The id of a command that is to be done once; undefined where the caller gave neither id nor key. */
export function identifyCommand ({ id, key }: Command, principal: string | undefined): CommandId | undefined {
  if (key !== undefined) {
    // No other principal can have it, so the row is shown by it.
    const derived = deriveId([principal ?? null, key])
    return { id: derived, row: derived }
  }
  return id === undefined ? undefined : { id, row: nameRow(id, principal) }
}

/**
 * The row of a command by the id that its principal chose: the same for one principal, different for every other. Where
 * there is no principal, the id itself is the row, unless it looks like a derived one.
 */
export function nameRow (id: string, principal: string | undefined): string {
  return principal === undefined && !derivedId.test(id) ? id : deriveId([principal ?? null, 'command', id])
}

/** The row of a command in the log of a different item than its own. @param row that of the command itself */
export function nameOtherRow (row: string, family: string, target: string): string {
  return deriveId([row, 'with', family, target])
}

const derivedId = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function deriveId (content: readonly (string | null)[]): string {
  const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex')
  // In the shape of a UUID of version 8, which is free for such uses.
  const variant = (8 | parseInt(hash[16] as string, 16) & 3).toString(16)
  const [version, rest] = [`8${hash.slice(13, 16)}`, `${variant}${hash.slice(17, 20)}`]
  return [hash.slice(0, 8), hash.slice(8, 12), version, rest, hash.slice(20, 32)].join('-')
}
