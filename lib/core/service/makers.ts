import { types } from 'node:util'
import { errorCodes } from '../errors.js'
import type { Family } from '../family/family.js'
import type { Id } from '../storage/storage.js'
import { isTextId, textIdRule, uuidv7 } from '../values/ids.js'

/** Where moments and ids come from; a host may have its own. */
export interface Makers {
  /** The time, for decisions and for the end of a version. */
  clock (): Date
  /** The id of a new item; undefined where it is the next integer, or a UUID. */
  readonly makeId: (() => Id) | undefined
  /** The id of a command without one. */
  makeCommandId (): string
}

interface MakerOptions {
  readonly clock?: (() => Date) | undefined
  readonly makeId?: (() => Id) | undefined
  readonly makeCommandId?: (() => string) | undefined
}

/** Those of the host, or the usual ones. */
export function readMakers (family: Family, { clock, makeId = family.makeId, makeCommandId }: MakerOptions): Makers {
  return {
    clock: clock === undefined ? () => new Date() : () => checkMoment(family, clock()),
    makeId,
    makeCommandId: makeCommandId === undefined ? () => uuidv7() : () => checkCommandId(family, makeCommandId())
  }
}

function checkMoment ({ name }: Family, moment: unknown): Date {
  if (types.isDate(moment) && !Number.isNaN(moment.getTime())) return moment
  const flaw = 'the option "clock" did not return a valid Date'
  throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(name, flaw)
}

function checkCommandId ({ name }: Family, id: unknown): string {
  if (typeof id === 'string' && isTextId(id)) return id
  const flaw = `the option "makeCommandId" returned ${JSON.stringify(id)}; a command id ${textIdRule}`
  throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(name, flaw)
}
