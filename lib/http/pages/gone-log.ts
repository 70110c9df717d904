import { intendToRead } from '../../core/service/caller.js'
import { authorizeReader } from '../../core/service/reader.js'
import type { Id } from '../../core/storage/storage.js'
import type { Exchange } from '../mount.js'
import { toProblem } from '../to-problem.js'

/** Where the log of an item is that may be gone; undefined where there is none, or not for who asks. */
export async function findGoneLog (
  { mount: { family, urls, caller }, request }: Pick<Exchange, 'mount' | 'request'>,
  id: Id
): Promise<string | undefined> {
  try {
    const reader = await authorizeReader(family, caller(request), intendToRead(family, id))
    await reader.checkLog(id)
    return `${urls.item(request, id)}/commands`
  } catch (error) {
    // It is only a link.
    const { statusCode, cause } = toProblem(error)
    if (statusCode >= 500) request.log.error({ err: cause ?? error }, 'The log of what is gone cannot be found')
    return undefined
  }
}
