import type { Field, Order } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { readValue } from './values.js'

/** A place in an order, as text for a URL: the values that an item has in the fields of the order. */
export function writeCursor (order: readonly Order[], item: Members): string {
  return Buffer.from(JSON.stringify(order.map(({ field }) => item[field]))).toString('base64url')
}

/** The values that a cursor has for the fields of the order; undefined where it is none. */
export function readCursor (fields: readonly Field[], order: readonly Order[], text: string): Members | undefined {
  const values = parseList(Buffer.from(text, 'base64url').toString())
  if (values?.length !== order.length) return undefined
  const entries = order.map(({ field }, index) => [field, values[index]] as const)
  const isFit = ([name, value]: readonly [string, unknown]) => {
    const read = readValue(fields.find(field => field.name === name) as Field, String(value))
    return 'value' in read && read.value === value
  }
  return entries.every(isFit) ? Object.fromEntries(entries) : undefined
}

function parseList (text: string): readonly unknown[] | undefined {
  try {
    const parsed = JSON.parse(text) as unknown
    return Array.isArray(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
