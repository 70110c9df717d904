import type { FastifyRequest } from 'fastify'
import type { NounOperation, Operation } from '../../core/family/definition.js'
import type { Params } from '../../core/family/params.js'
import type { Caller, Intent } from '../../core/service/caller.js'
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

/** What the caller may do with an item, if its state allows it. @param named the actions that the grant names */
export async function findOffers (
  exchange: Exchange,
  item: Stored,
  named: readonly string[] | undefined
): Promise<Offer[]> {
  const { mount: { family }, request } = exchange
  const all: Omit<Offer, 'reason'>[] = [...family.operations.values()]
  if (family.lifecycle !== undefined) all.push(family.lifecycle.deletion)
  const granted = await Promise.all(all.map(({ operation: { action } }) =>
    named?.includes(action) ?? mayOffer(exchange, action, item)))
  return all.filter((_, index) => granted[index]).map(({ operation, params }) => {
    const reason = explainNow(family, operation as Operation<Members>, item, error => {
      request.log.error({ err: error, action: operation.action }, 'allowed failed for what is offered')
    })
    return { operation, params, reason }
  })
}

/** Whether a page offers an action to its reader. @param item undefined for a creation or a list */
export async function mayOffer (
  { mount, request }: Pick<Exchange, 'mount' | 'request'>,
  action: string,
  item?: Stored
): Promise<boolean> {
  if (!mount.isGuarded) return true
  const intent = { family: mount.family.name, action, id: item?.id, params: {}, tentative: true } as const
  // Where `authorize` fails, it is offered: what is sent is judged again, with its parameters.
  return await isGranted(request, mount.caller(request), intent, item === undefined ? [] : [item], true)
}

/** Whether the caller may do this with these items. @param otherwise the answer where `authorize` itself fails */
export async function isGranted (
  request: FastifyRequest,
  caller: Caller,
  intent: Intent,
  items: readonly Stored[],
  otherwise: boolean
): Promise<boolean> {
  try {
    const { where = [] } = await caller.authorize(intent)
    return items.every(matcher(where))
  } catch (error) {
    const { statusCode, cause } = toProblem(error)
    if (statusCode < 500) return false
    request.log.error({ err: cause ?? error, action: intent.action }, 'authorize failed for what a page shows')
    return otherwise
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
