import type { NounOperation, Operation } from '../../core/family/definition.js'
import type { Params } from '../../core/family/params.js'
import type { Caller } from '../../core/service/caller.js'
import { explainNow } from '../../core/service/refusal.js'
import { matcher } from '../../core/storage/conditions.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import type { Exchange } from '../mount.js'
import { toProblem } from '../reply.js'

/** Something that can be done with an item: an operation of the family, or the deletion, which has fewer words. */
export interface Offer {
  readonly operation: NounOperation & Partial<Pick<Operation<Members>, 'verb' | 'participle'>>
  readonly params: Params
  /** Why the item does not allow it now; undefined where it does. */
  readonly reason: string | undefined
}

/** Everything that could be done with an item, and whether its state allows it now. */
export function listOffers ({ mount: { family }, request }: Exchange, item: Stored): Offer[] {
  const report = (action: string) => (error: unknown) => {
    request.log.error({ err: error, action }, 'allowed failed for what is offered')
  }
  const offers: Offer[] = [...family.operations.values()].map(({ operation, params }) =>
    ({ operation, params, reason: explainNow(family, operation, item, report(operation.action)) }))
  if (family.lifecycle !== undefined) offers.push({ ...family.lifecycle.deletion, reason: undefined })
  return offers
}

/** Of these, what the caller may do. @param named the actions that the grant names, if it does */
export async function keepGranted (
  exchange: Exchange,
  item: Stored,
  offers: readonly Offer[],
  named: readonly string[] | undefined
): Promise<Offer[]> {
  if (named !== undefined) return offers.filter(({ operation }) => named.includes(operation.action))
  const caller = exchange.mount.caller(exchange.request)
  const granted = await Promise.all(offers.map(({ operation }) => mayOffer(exchange, operation.action, item, caller)))
  return offers.filter((_, index) => granted[index])
}

/**
 * Whether a page offers an action to its reader. Where `authorize` fails rather than refuses, it does: what is sent is
 * judged again, with its parameters.
 *
 * @param item undefined for a creation or a list
 */
export async function mayOffer (
  { mount, request }: Pick<Exchange, 'mount' | 'request'>,
  action: string,
  item?: Stored,
  caller: Caller = mount.caller(request)
): Promise<boolean> {
  if (!mount.isGuarded) return true
  try {
    const { where = [] } =
      await caller.authorize({ family: mount.family.name, action, id: item?.id, params: {}, tentative: true })
    return item === undefined || where.length === 0 || matcher(where)(item)
  } catch (error) {
    const { statusCode, cause } = toProblem(error)
    if (statusCode < 500) return false
    request.log.error({ err: cause ?? error, action }, 'authorize failed for what a page offers')
    return true
  }
}

/** Where an operation is done, and in which form; the deletion has none. */
export interface OperationAddress {
  readonly method: string
  readonly href: string
  readonly form?: string
}

/** How a program does it: in the first of these forms that is mounted. */
export function findAddress (
  { mount: { forms, urls }, request }: Exchange,
  id: Id,
  { verb, participle, noun }: Offer['operation']
): OperationAddress | undefined {
  const self = urls.item(request, id)
  if (verb === undefined) return { method: 'DELETE', href: self }
  if (forms.has('verb')) return { method: 'PUT', href: `${self}/${verb}`, form: 'verb' }
  if (forms.has('participle')) return { method: 'PUT', href: `${self}/${participle}`, form: 'participle' }
  if (forms.has('noun')) return { method: 'POST', href: `${self}/${noun}`, form: 'noun' }
  return forms.has('update') ? { method: 'PUT', href: self, form: 'update' } : undefined
}
