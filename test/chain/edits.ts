import { isDeepStrictEqual } from 'node:util'
import { sealEntry, type Stored } from '../../lib/index.js'
import type { Entry, Tampered } from './chained.js'

export const isErasure = ({ action }: Stored): boolean => action === 'Erase'

const changed = (members: Record<string, unknown>) => (entry: Entry): Tampered => ({ ...entry, ...members })

/** What can be done to one entry. */
export const edits: Readonly<Record<string, (entry: Entry, log: readonly Entry[]) => Tampered>> = {
  'its parameters': changed({ params: { name: 'Eve' } }),
  'what it changed': changed({ changes: { name: { from: 'zq', to: 'Eve' } } }),
  'who sent it': changed({ principal: 'eve' }),
  'who sent it, left out': ({ principal, ...entry }) => ({ ...entry, principal: undefined }),
  'its action': changed({ action: 'LeavePerson' }),
  'its item': changed({ target: '99' }),
  'its outcome': changed({ outcome: 'refused' }),
  'its revision': entry => ({ ...entry, revision: entry.revision + 1 }),
  'its time': changed({ createdAt: '2020-01-01T00:00:00.000Z' }),
  'its result': changed({ result: { id: 1, revision: 1 } }),
  'its salt': changed({ salt: 'ab' }),
  'its seal': changed({ seal: 'ab' }),
  'its hash': changed({ hash: 'ab' }),
  'its position': entry => ({ ...entry, position: entry.position + 1000 }),
  'as if it were erased, without a salt': entry => ({ ...entry, params: { name: 'Eve' }, salt: undefined }),
  'as if a different erasure had been of it': (entry, log) =>
    ({ ...entry, params: { name: 'Eve' }, erasure: log.find(isErasure)?.id }),
  'sealed again': entry => {
    const { salt, seal, hash, ...others } = entry
    return { ...sealEntry({ ...others, params: { name: 'Eve' } } as unknown as Stored), hash }
  }
}

const clean = (row: Tampered): unknown => JSON.parse(JSON.stringify(row))

/** Where the chain may break after an edit of an entry: nowhere if that changes nothing. */
export function listBroken (entry: Entry, edited: Tampered, log: readonly Entry[]): number[] {
  if (isDeepStrictEqual(clean(entry), clean(edited))) return []
  // What an erasure has left is not proved without its entry.
  const erased = log.filter(({ erasure }) => erasure === entry.id)
  return [entry, ...erased].map(({ position }) => position)
}
