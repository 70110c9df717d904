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

/** An operation of the family, or the deletion, which has only a noun. */
export interface Offer {
  readonly operation: NounOperation & Partial<Pick<Operation<Members>, 'verb' | 'participle'>>
  readonly params: Params
  /** Why the state does not allow it now; undefined where it does. */
  readonly reason: string | undefined
}

/** Operations that the caller may run, if the state allows it. `named`: the actions that the grant names. */
export async function findOffers (exchange: Exchange, item: Stored, named?: readonly string[]): Promise<Offer[]> {
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

/** `item` is undefined for a creation or a list. */
export async function mayOffer (
  { mount, request }: Pick<Exchange, 'mount' | 'request'>,
  action: string,
  item?: Stored
): Promise<boolean> {
  if (!mount.isGuarded) return true
  const intent = { family: mount.family.name, action, id: item?.id, params: {}, tentative: true } as const
  // Where `authorize` fails, it is offered: the command is authorized again, with its parameters.
  return await isGranted(request, mount.caller(request), intent, item === undefined ? [] : [item], true)
}

/** `otherwise` is the result where `authorize` itself fails. */
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

/** The deletion has no form. */
export interface OperationAddress {
  readonly method: string
  readonly href: string
  readonly form?: string
}

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
