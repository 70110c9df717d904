import { type Family, listReferred, listRelated, listShapes } from '../family/family.js'
import { callRules, checkCallOptions, checkPrincipal } from '../service/arguments.js'
import { type Caller, checkGrant, type Grant, readMakers } from '../service/caller.js'
import type { CallOptions, ServiceOptions } from '../service/service.js'
import { guardOpening, makeStorageAccess, noteShapes, type StorageAccess } from '../service/storage-access.js'
import type { Book } from './book.js'
import { makeBook } from './make-book.js'

/** The book of a program, which names the caller in each call. */
export function makeService (family: Family, options: ServiceOptions): Book {
  checkCallOptions(family, options ?? {}, callRules.service)
  const { storage, authorize } = options
  const makers = readMakers(family, options)
  const accesses = new Map<Family, StorageAccess>()
  // The storage is prepared at the first call; an application may boot before that.
  for (const each of listRelated(family)) noteShapes(storage, listShapes(each))
  const related = [...listRelated(family), ...listReferred(family)]
  return makeBook(family, { open: makeCaller })

  function makeCaller (call: CallOptions, rule: keyof typeof callRules): Caller {
    checkCallOptions(family, call, callRules[rule])
    const principal = checkPrincipal(call.principal)
    const own: Grant = principal === undefined ? {} : { principal }
    return makeCallerOf(family)

    function makeCallerOf (family: Family): Caller {
      const access = accesses.get(family) ?? makeStorageAccess(listShapes(family))
      accesses.set(family, access)
      return {
        authorize: authorize === undefined
          ? () => own
          : async intent => {
            const grant = checkGrant(family, await authorize(call, intent))
            return grant.principal === undefined ? { ...grant, ...own } : grant
          },
        other (other) {
          const found = typeof other === 'string' ? related.find(({ name }) => name === other) : other
          return found && { family: found, caller: makeCallerOf(found) }
        },
        storage: () => guardOpening(access(storage)),
        signal: call.signal,
        makers,
        isGuarded: authorize !== undefined,
        isProgram: true,
        report (error, message) {
          process.emitWarning(`fastify-dealbook: ${message}: ${String(error)}`, { code: 'DEALBOOK_NOT_SHOWN' })
        }
      }
    }
  }
}
