import { randomUUID } from 'node:crypto'
import type { Change } from '../../lib/index.js'

const year = 365 * 24 * 3600 * 1000
export const old = new Date(Date.now() - year).toISOString()
export const later = new Date(Date.now() - year / 2)

/** Entries of a year ago, of the log of a deal that is gone. */
export function makeOld (count: number, outcome = 'done'): Change[] {
  return Array.from({ length: count }, (_, index) => ({
    type: 'insert',
    family: 'commands',
    item: {
      id: randomUUID(),
      family: 'deals',
      target: 'gone',
      action: 'HoldDeal',
      params: { reason: 'a' },
      outcome,
      revision: index + 1,
      createdAt: old,
      updatedAt: old
    }
  }))
}
