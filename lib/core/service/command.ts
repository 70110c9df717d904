import { createHash } from 'node:crypto'
import type { Family } from '../family/family.js'
import type { Changes } from '../family/params.js'
import type { ProblemCode, ProblemOptions } from '../problems.js'
import type { Id, Stored } from '../storage/storage.js'
import { hashText } from '../values/ids.js'
import { isObject, type Members } from '../values/json.js'

/** A request for a change, independent of the URL form. */
export interface Command {
  /** Of an operation, a creation or a deletion; undefined if it changes nothing. */
  readonly action: string | undefined
  /** Undefined for a creation. */
  readonly target: Id | undefined
  readonly params: Members
  readonly id?: string | undefined
  /** The Idempotency-Key, from which the id is derived. */
  readonly key?: string | undefined
  /** If the meaning depends on the item: returns the action and its parameters, or throws a problem. Pure. */
  readonly interpret?: ((current: Stored) => Pick<Command, 'action' | 'params'>) | undefined
  /** Throws a problem if the client does not know this revision of the item. Pure. */
  readonly precondition?: ((current: Stored) => void) | undefined
}

export interface KeptProblem extends Pick<ProblemOptions, 'status' | 'errors' | 'headers'> {
  readonly code: ProblemCode
  readonly detail: string
  readonly members: Members
}

/** A command in the log. Its revision is that of the item after it. */
export interface CommandRecord extends Stored {
  readonly id: string
  /** The id that its principal chose, if it differs from that of the row. */
  readonly chosenId?: string
  readonly family: string
  readonly target: string
  /** In the log of another item that it changed: the item of the command. */
  readonly about?: { readonly family: string, readonly id: Id }
  readonly action: string
  readonly params?: Members
  /** Identifies its parameters, whatever their size, where they are not in the log or not all of them. */
  readonly digest?: string
  readonly outcome: 'done' | 'unchanged' | 'refused'
  /** What it changed of an existing item; undefined in old entries. */
  readonly changes?: Changes
  readonly principal?: string
  readonly problem?: KeptProblem
  readonly result?: Stored
}

export function isSameCommand (
  record: CommandRecord,
  { name }: Family,
  command: Command,
  principal: string | undefined
): boolean {
  return record.family === name &&
    record.action === command.action &&
    record.principal === principal &&
    (command.target === undefined || record.target === String(command.target)) &&
    (record.digest ?? digestParams(record.params ?? {})) === digestParams(command.params)
}

/** The same for equal content: members are sorted, and -0 is written as 0. */
export function digestParams (params: Members): string {
  return hashText(JSON.stringify(params, (_name, value: unknown) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1)) : value))
}

export interface CommandId {
  readonly id: string
  readonly row: string
}

/** Undefined if the caller gave neither id nor key. */
export function identifyCommand ({ id, key }: Command, principal: string | undefined): CommandId | undefined {
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
