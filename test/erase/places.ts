import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Test } from 'tap'
import { memoryStorage, type Storage, type Stored } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { isFast } from '../size.js'

/** A storage, and all that is kept for it, as text. */
export interface Place {
  readonly storage: Storage
  /** As a second process would open it. */
  another (): Storage
  dump (): Promise<string>
}

/** All rows of these, as a storage returns them. */
export async function readRows (
  storage: Storage, families: readonly string[]
): Promise<Record<string, readonly Stored[]>> {
  const order = [{ field: 'id', descending: false }]
  const rows: Record<string, readonly Stored[]> = {}
  // PostgreSQL numbers the entries by this.
  const where = [{ field: 'position', op: 'gte', value: 1 } as const]
  await storage.find('commands', { where, order, offset: 0, limit: 1, count: false })
  for (const family of families) {
    rows[family] = (await storage.find(family, { where: [], order, offset: 0, limit: 10_000, count: false })).items
  }
  return rows
}

/** @param families whose rows are dumped where there is no database */
type MakePlace = (t: Test, families: readonly string[]) => Promise<Place>

const all: readonly { readonly name: string, readonly make: MakePlace }[] = [
  {
    name: 'memory',
    async make (_t, families) {
      const storage = memoryStorage()
      return { storage, another: () => storage, dump: async () => JSON.stringify(await readRows(storage, families)) }
    }
  },
  {
    name: 'sqlite',
    async make (t) {
      const folder = await mkdtemp(join(tmpdir(), 'dealbook-erase-'))
      const file = join(folder, 'test.db')
      const opened: Storage[] = []
      const another = (): Storage => {
        const storage = sqliteStorage({ file })
        opened.push(storage)
        return storage
      }
      t.teardown(async () => {
        for (const storage of opened) await storage.close()
        await rm(folder, { recursive: true })
      })
      return {
        storage: another(),
        another,
        // All bytes of the file and of its log, after what the documentation says about free pages.
        async dump () {
          const database = new DatabaseSync(file)
          database.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
          database.close()
          const files = await readdir(folder)
          const parts = await Promise.all(files.map(name => readFile(join(folder, name), 'latin1')))
          return parts.join('\n')
        }
      }
    }
  },
  {
    name: 'postgres',
    async make (t) {
      const connectionString = await postgresUrl()
      const schema = newSchema()
      const opened: Storage[] = []
      const another = (): Storage => {
        const storage = postgresStorage({ connectionString, schema, poolSize: 4 })
        opened.push(storage)
        return storage
      }
      t.teardown(async () => {
        for (const storage of opened) await storage.close()
        await dropSchema(schema)
      })
      return {
        storage: another(),
        another,
        dump: () => withClient(async client => {
          const { rows: tables } = await client.query('SELECT tablename FROM pg_tables WHERE schemaname = $1', [schema])
          const texts: string[] = []
          for (const { tablename } of tables as { tablename: string }[]) {
            const { rows } = await client.query(`SELECT t::text AS row FROM "${schema}"."${tablename}" t`)
            texts.push(tablename, ...(rows as { row: string }[]).map(({ row }) => row))
          }
          return texts.join('\n')
        })
      }
    }
  }
]

export const places = isFast ? all.slice(0, 1) : all
