import { createHash } from 'node:crypto'
import type { Command } from './decide.js'

// The rows of commands in the log, by what their callers chose.

export interface CommandId {
  readonly id: string
  readonly row: string
}

/** Undefined if the caller gave neither id nor key. */
export function identifyCommand (
  { id, key }: Pick<Command, 'id' | 'key'>,
  principal: string | undefined
): CommandId | undefined {
  if (key !== undefined) {
    // No other principal can have it, so it is the row as well.
    const derived = deriveId([principal ?? null, key])
    return { id: derived, row: derived }
  }
  return id === undefined ? undefined : { id, row: nameRow(id, principal) }
}

/** Different for every principal. Without one, the id is the row, unless it looks like a derived one. */
export function nameRow (id: string, principal: string | undefined): string {
  return principal === undefined && !derivedId.test(id) ? id : deriveId([principal ?? null, 'command', id])
}

/** @param row that of the command */
export function nameOtherRow (row: string, family: string, target: string): string {
  return deriveId([row, 'with', family, target])
}

const derivedId = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function deriveId (content: readonly (string | null)[]): string {
  const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex')
  // UUID version 8 is free for such uses.
  const variant = (8 | parseInt(hash[16] as string, 16) & 3).toString(16)
  const [version, rest] = [`8${hash.slice(13, 16)}`, `${variant}${hash.slice(17, 20)}`]
  return [hash.slice(0, 8), hash.slice(8, 12), version, rest, hash.slice(20, 32)].join('-')
}
