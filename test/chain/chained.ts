import type { Test } from 'tap'
import type { Change, Condition, Storage, Stored } from '../../lib/index.js'
import { type StorageFixture, storages } from '../storages.js'

export type Entry = Stored & { readonly position: number, readonly hash: string }

/** An entry after what someone does to it who can write the database; undefined if it is gone. */
export type Tampered = Readonly<Record<string, unknown>> | undefined

export interface Chained {
  readonly name: string
  readonly fixture: StorageFixture
  readonly storage: Storage
  /** Replaces, deletes or adds rows of the log, by SQL where there is any. */
  tamper (rows: ReadonlyMap<string, Tampered>): Promise<void>
}

/** Runs tests on each storage, with a chained log. */
export function testChained (name: string, test: (t: Test, chained: Chained) => Promise<void>, root: Test): void {
  for (const { name: storageName, make } of storages) {
    root.test(`${storageName}: ${name}`, async t => {
      const fixture = await make({ chain: true })
      t.teardown(() => fixture.dispose())
      await test(t, makeChained(storageName, fixture))
    })
  }
}

export function makeChained (name: string, fixture: StorageFixture): Chained {
  const { storage, sql } = fixture
  return {
    name,
    fixture,
    storage,
    async tamper (rows) {
      if (sql !== undefined) return await sql([...rows].map(([id, row]) => writeSql(id, row)).join('; '))
      for (const change of await listChanges(storage, rows)) await storage.commit([change])
    }
  }
}

async function listChanges (storage: Storage, rows: ReadonlyMap<string, Tampered>): Promise<Change[]> {
  const deleted = await Promise.all(Array.from(rows.keys(), async (id): Promise<Change[]> => {
    const current = await storage.get('commands', id)
    return current === undefined ? [] : [{ type: 'delete', family: 'commands', id, expected: current.revision }]
  }))
  const added = [...rows.values()].filter(row => row !== undefined) as Stored[]
  return [...deleted.flat(), ...added.map((item): Change => ({ type: 'insert', family: 'commands', item }))]
}

function writeSql (id: string, row: Tampered): string {
  const deleted = `DELETE FROM commands WHERE id = ${quote(id)}`
  if (row === undefined) return deleted
  const given = Object.entries(row).filter(([, value]) => value !== undefined)
  const names = given.map(([name]) => `"${name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)}"`)
  const values = given.map(([, value]) => quote(value))
  return `${deleted}; INSERT INTO commands (${names.join(', ')}) VALUES (${values.join(', ')})`
}

function quote (value: unknown): string {
  if (typeof value === 'number') return String(value)
  return `'${(typeof value === 'string' ? value : JSON.stringify(value)).replaceAll("'", "''")}'`
}

/** All entries, in their order, also those of erasures. */
export async function readLog (storage: Storage): Promise<Entry[]> {
  const where: Condition[] =
    [{ field: 'position', op: 'gte', value: 1 }, { field: 'id', op: 'ne', values: ['$pruned'] }]
  const order = [{ field: 'position', descending: false }]
  return (await storage.find('commands', { where, order, offset: 0, limit: 10_000, count: false })).items as Entry[]
}

export async function getHead (storage: Storage): Promise<Pick<Entry, 'position' | 'hash'>> {
  const { position, hash } = (await readLog(storage)).at(-1) as Entry
  return { position, hash }
}
