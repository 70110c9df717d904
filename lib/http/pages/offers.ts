import type { NounOperation, Operation } from '../../core/family/operation.js'
import type { Params } from '../../core/family/params.js'
import { explainNow } from '../../core/service/refusal.js'
import type { Stored } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import type { Exchange } from '../mount.js'
import { mayOffer } from './may-offer.js'

/** Something that can be done with an item: an operation of the family, or the deletion, which has fewer words. */
export interface Offer {
  readonly operation: NounOperation & Partial<Pick<Operation<Members>, 'verb' | 'participle'>>
  readonly params: Params
  /** Why the item does not allow it now; undefined where it does. */
  readonly reason: string | undefined
}

/** Everything that could be done with an item, and whether its state allows it now. */
export function listOffers ({ mount: { family }, request }: Exchange, item: Stored): Offer[] {
  const operations = [...family.operations.values()].map(({ operation, params }) => {
    const reason = explainNow(family, operation, item, error => {
      request.log.error({ err: error, action: operation.action }, 'allowed failed for what is offered')
    })
    return { operation, params, reason }
  })
  if (family.lifecycle === undefined) return operations
  return [...operations, { ...family.lifecycle.deletion, reason: undefined }]
}

/** Of these, what the caller may do. */
export async function keepGranted (exchange: Exchange, item: Stored, offers: readonly Offer[]): Promise<Offer[]> {
  const granted = await Promise.all(offers.map(({ operation }) => mayOffer(exchange, operation.action, item)))
  return offers.filter((_, index) => granted[index])
}
