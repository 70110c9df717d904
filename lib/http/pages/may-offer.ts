import { matcher } from '../../core/storage/match.js'
import type { Stored } from '../../core/storage/storage.js'
import type { Exchange } from '../mount.js'
import { toProblem } from '../to-problem.js'

/**
 * Whether a page offers an action to who asks for the page. Where `authorize` breaks rather than refuses, it is
 * offered: when it is sent, it is judged again, with its parameters.
 *
 * @param item undefined for a creation
 */
export async function mayOffer (
  { mount, request }: Pick<Exchange, 'mount' | 'request'>,
  action: string,
  item?: Stored
): Promise<boolean> {
  const intent = { family: mount.family.name, action, id: item?.id, params: {}, tentative: true } as const
  try {
    const { where = [] } = await mount.caller(request).authorize(intent)
    return item === undefined || matcher(where)(item)
  } catch (error) {
    const { statusCode, cause } = toProblem(error)
    if (statusCode < 500) return false
    request.log.error({ err: cause ?? error, action }, 'authorize failed for what a page offers')
    return true
  }
}
