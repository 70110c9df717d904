import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { MemoryOptions, Storage } from '../lib/index.js'
import { memoryStorage } from '../lib/index.js'
import { postgresStorage } from '../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../lib/storage/sqlite/sqlite-storage.js'
import { dropSchema, makeDatabase, newSchema, withClient } from './postgres/schema.js'
import { postgresUrl } from './postgres/url.js'
import { isFast, isLong } from './size.js'

type Chained = Pick<MemoryOptions, 'chain'>

/** An empty storage that shares nothing with any other. */
export interface StorageFixture {
  readonly storage: Storage
  /** Opens another storage on the same data, as a second process would; undefined where that cannot be. */
  readonly another: ((options?: Chained) => Storage) | undefined
  /** Runs SQL beside the storage; undefined where that cannot be. */
  readonly sql: ((text: string) => Promise<void>) | undefined
  dispose (): Promise<void>
}

const all: readonly { readonly name: string, make (options?: Chained): Promise<StorageFixture> }[] = [
  {
    name: 'memory',
    async make (options) {
      const storage = memoryStorage(options)
      return { storage, another: undefined, sql: undefined, dispose: () => storage.close() }
    }
  },
  {
    name: 'sqlite',
    async make (options) {
      const folder = await mkdtemp(join(tmpdir(), 'dealbook-'))
      const file = join(folder, 'test.db')
      const open = (more?: Chained): Storage => sqliteStorage({ file, ...options, ...more })
      return shared(open, () => rm(folder, { recursive: true }), async sql => {
        const database = new DatabaseSync(file)
        database.exec(sql)
        database.close()
      })
    }
  },
  {
    name: 'postgres',
    async make (options) {
      const connectionString = await postgresUrl()
      const schema = newSchema()
      const open = (more?: Chained): Storage =>
        postgresStorage({ connectionString, schema, poolSize: 5, ...options, ...more })
      return shared(open, () => dropSchema(schema), sql => withClient(async client => {
        await client.query(`SET LOCAL search_path = "${schema}"; ${sql}`)
      }))
    }
  }
]

/** Every storage of the package, for what depends on the storage: keys, concurrency, models, a whole application. */
export const storages = isFast ? all.slice(0, 1) : all

/** For what holds over any storage: the memory storage; in `npm run test:long`, every one. */
export const anyStorage = isLong ? all : all.slice(0, 1)

type Teardown = Parameters<typeof makeDatabase>[0]

/** Empty databases for servers in processes of their own: what STORAGE is set to. */
export const places: Readonly<Record<'sqlite' | 'postgres', (t: Teardown) => Promise<string>>> = {
  async sqlite (t) {
    const folder = await mkdtemp(join(tmpdir(), 'dealbook-place-'))
    t.teardown(() => rm(folder, { recursive: true }))
    return `sqlite:${join(folder, 'shared.db')}`
  },
  postgres: makeDatabase
}

function shared (
  open: (options?: Chained) => Storage, clear: () => Promise<void>, sql: (text: string) => Promise<void>
): StorageFixture {
  const opened: Storage[] = []
  const another = (options?: Chained): Storage => {
    const storage = open(options)
    opened.push(storage)
    return storage
  }
  return {
    storage: another(),
    another,
    sql,
    async dispose () {
      for (const storage of opened) await storage.close()
      await clear()
    }
  }
}
