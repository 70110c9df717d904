import { errorCodes } from '../errors.js'
import { ConflictError, ConstraintError, DuplicateError, ReadOnlyError, type Storage } from '../storage/storage.js'

// Errors that a retry would get again.
const lasting = [ConflictError, ConstraintError, DuplicateError, ReadOnlyError]

/**
 * The same storage, for a long job that can be called again: if the storage fails, such as in a restart, the error
 * (`FST_DEALBOOK_INTERRUPTED`) says to do that.
 *
 * @param call the name of the function
 * @example
 * export async function archive (storage: Storage) {
 *   const resumable = makeResumable(storage, 'archive')
 *   // …
 * }
 */
export function makeResumable (storage: Storage, call: string): Storage {
  const explain = (error: unknown): never => {
    const { code = '', message } = error as { code?: string, message: string }
    if (lasting.some(known => error instanceof known) || Object.hasOwn(errorCodes, code)) throw error
    throw new errorCodes.FST_DEALBOOK_INTERRUPTED(call, message, { cause: error })
  }
  return {
    prepare: shape => storage.prepare(shape).catch(explain),
    find: (...given) => storage.find(...given).catch(explain),
    get: (...given) => storage.get(...given).catch(explain),
    commit: changes => storage.commit(changes).catch(explain),
    ...storage.chain === true && { chain: true },
    close: () => storage.close()
  }
}
