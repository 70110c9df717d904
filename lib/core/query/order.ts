import type { Order } from '../storage/storage.js'

/** One field of an order as it is written: `-age` for descending. */
export function readOrder (text: string): Order {
  return text.startsWith('-') ? { field: text.slice(1), descending: true } : { field: text, descending: false }
}

/** The same as text. */
export function writeOrder (order: readonly Order[]): string {
  return order.map(({ field, descending }) => descending ? `-${field}` : field).join()
}

/** The order with the id at its end, which breaks ties; whatever comes after it decides nothing. */
export function toTotalOrder (order: readonly Order[]): Order[] {
  const end = order.findIndex(({ field }) => field === 'id')
  return end === -1 ? [...order, { field: 'id', descending: false }] : order.slice(0, end + 1)
}
