import type { Caller, Grant } from '../../core/service/caller.js'
import { intendToRead } from '../../core/service/caller.js'
import type { Outcome } from '../../core/service/execute.js'
import { readTarget } from '../../core/service/record.js'
import { matcher } from '../../core/storage/conditions.js'
import type { Exchange } from '../mount.js'
import { toProblem } from '../to-problem.js'

/**
 * Whether the caller may read the item that a command has left: to be allowed to write it is another matter. The
 * command is done, so whatever fails here only takes the item from the answer.
 */
export function mayRead (exchange: Exchange, outcome: Outcome): true | Promise<boolean> {
  const { mount: { family, caller: makeCaller }, request } = exchange
  const caller = makeCaller(request)
  const granted = caller.authorize(intendToRead(family, readTarget(family, outcome.record)))
  // Where nobody has to be asked, nothing is waited for.
  const isOpen = !(granted instanceof Promise) && granted.where === undefined
  return isOpen || judge(exchange, caller, granted, outcome)
}

async function judge (
  { mount: { family }, request }: Exchange,
  caller: Caller,
  granted: Grant | Promise<Grant>,
  { record, item, replayed }: Outcome
): Promise<boolean> {
  try {
    const { where = [] } = await granted
    if (where.length === 0) return true
    const isVisible = matcher(where)
    if (item !== undefined && !isVisible(item)) return false
    if (!replayed) return item !== undefined
    // An earlier answer shows what the item was; who may see it depends on what it is now.
    const storage = await caller.storage()
    const now = await storage.get(family.name, readTarget(family, record), caller.signal)
    return now === undefined ? item !== undefined : isVisible(now)
  } catch (error) {
    const { statusCode, cause } = toProblem(error)
    if (statusCode >= 500) request.log.error({ err: cause ?? error }, 'What a command has left cannot be shown')
    return false
  }
}
