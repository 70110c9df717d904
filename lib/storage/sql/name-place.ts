import { errorCodes } from '../../core/errors.js'
import { BusyError } from '../../core/storage/storage.js'

/**
 * An error of the database as a host reads it at boot: with the place, which no driver names.
 *
 * @param place what database it is, and where; without a password
 */
export function namePlace (error: unknown, place: string): unknown {
  const { code } = error as { code?: string }
  // Our own say by themselves what they are about.
  if (error instanceof BusyError || (code !== undefined && Object.hasOwn(errorCodes, code))) return error
  const named = new Error(`${place}: ${describe(error)}`, { cause: error })
  return code === undefined ? named : Object.assign(named, { code })
}

// Of a host with several addresses each has its error, and the whole has no message.
function describe (error: unknown): string {
  const { message, errors = [], code } = error as Partial<AggregateError> & { code?: string }
  return message || errors.map(describe).join(', ') || String(code ?? error)
}
