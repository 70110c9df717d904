import { type Change, defineFamily, shapeOf, type Static, type Storage, type Stored, Type } from '../index.js'
import { keepRow } from '../tools/index.js'

const DeliveryFields = Type.Object({
  id: Type.String({ maxLength: 200, description: 'The id of the delivery, for send-again' }),
  webhook: Type.String({ maxLength: 100, description: 'The webhook' }),
  entry: Type.String({ maxLength: 100, description: 'The command that the event is about' }),
  event: Type.String({ maxLength: 400, description: 'The id of the event, the same however often it is sent' }),
  type: Type.String({ maxLength: 200, description: 'The type of the event, such as deal.holded' }),
  status: Type.Union([Type.Literal('delivered'), Type.Literal('waiting'), Type.Literal('failed')], {
    description: 'Whether it arrived, is to be tried again, or is not'
  }),
  attempts: Type.Integer({ description: 'How often it was tried' }),
  responseStatus: Type.Optional(Type.Integer({ description: 'The status of the last response' })),
  error: Type.Optional(Type.String({ maxLength: 500, description: 'Why the last attempt failed' })),
  duration: Type.Integer({ description: 'How long the last attempt took, in milliseconds' }),
  at: Type.String({ format: 'date-time', description: 'When it was last tried' })
})

/** Read at `…/webhooks/{id}/deliveries`; written by the sender only. */
export const deliveries = defineFamily({
  name: 'deliveries',
  singular: 'delivery',
  fields: DeliveryFields,
  states: { delivered: 'good', waiting: 'warning', failed: 'bad' },
  title: 'type',
  list: ['type', 'status', 'attempts', 'responseStatus', 'error', 'at'],
  order: ['-id'],
  indexes: [['webhook', 'id']]
})

export type Delivery = Stored & Static<typeof DeliveryFields>

// A host may have deliveries, too.
const table = 'webhook-deliveries'
export const deliveriesTable = { ...shapeOf(deliveries), name: table }

/** For the family: the storage in which its items have their own table. */
export function openDeliveries (storage: Storage): Storage {
  return {
    // It is one of the tables of the webhooks.
    prepare: async () => {},
    find: (_family, query, signal) => storage.find(table, query, signal),
    get: (_family, id, signal) => storage.get(table, id, signal),
    commit: changes => storage.commit(changes),
    close: async () => {}
  }
}

/** Sorted like the positions of the entries. */
export function nameDelivery (webhook: string, position: number): string {
  return `${webhook}~${String(position).padStart(16, '0')}`
}

export async function getDelivery (storage: Storage, id: string): Promise<Delivery | undefined> {
  return await storage.get(table, id) as Delivery | undefined
}

const maxKept = 100

/** In place of the oldest one of the webhook. */
export async function saveDelivery (
  storage: Storage, delivery: Static<typeof DeliveryFields>, before: Delivery | undefined
): Promise<void> {
  await storage.commit([keepRow(table, delivery, before), ...await listDeletions(storage, delivery.webhook, maxKept)])
}

export async function deleteDeliveries (storage: Storage, webhook: string): Promise<void> {
  for (;;) {
    const deletions = await listDeletions(storage, webhook, 0)
    if (deletions.length === 0) return
    await storage.commit(deletions)
  }
}

/** Of all but the newest ones. */
async function listDeletions (storage: Storage, webhook: string, offset: number): Promise<Change[]> {
  const where = [{ field: 'webhook', op: 'eq', values: [webhook] } as const]
  const order = [{ field: 'id', descending: true }]
  const { items } = await storage.find(table, { where, order, offset, limit: 500, count: false })
  return items.map(({ id, revision: expected }) => ({ type: 'delete', family: table, id, expected }))
}
