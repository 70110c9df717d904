import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Storage } from '../lib/index.js'
import { memoryStorage } from '../lib/index.js'
import { postgresStorage } from '../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../lib/storage/sqlite/sqlite-storage.js'
import { dropSchema, makeDatabase, newSchema } from './postgres/schema.js'
import { postgresUrl } from './postgres/url.js'
import { isFast, isLong } from './size.js'

/** An empty storage that shares nothing with any other. */
export interface StorageFixture {
  readonly storage: Storage
  /** Opens another storage on the same data, as a second process would; undefined where that cannot be. */
  readonly another: (() => Storage) | undefined
  dispose (): Promise<void>
}

const all: readonly { readonly name: string, make (): Promise<StorageFixture> }[] = [
  {
    name: 'memory',
    async make () {
      const storage = memoryStorage()
      return { storage, another: undefined, dispose: () => storage.close() }
    }
  },
  {
    name: 'sqlite',
    async make () {
      const folder = await mkdtemp(join(tmpdir(), 'dealbook-'))
      return shared(() => sqliteStorage({ file: join(folder, 'test.db') }), () => rm(folder, { recursive: true }))
    }
  },
  {
    name: 'postgres',
    async make () {
      const connectionString = await postgresUrl()
      const schema = newSchema()
      return shared(() => postgresStorage({ connectionString, schema, poolSize: 5 }), () => dropSchema(schema))
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

function shared (open: () => Storage, clear: () => Promise<void>): StorageFixture {
  const opened: Storage[] = []
  const another = (): Storage => {
    const storage = open()
    opened.push(storage)
    return storage
  }
  return {
    storage: another(),
    another,
    async dispose () {
      for (const storage of opened) await storage.close()
      await clear()
    }
  }
}
