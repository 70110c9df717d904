import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { customers, deals } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import type { TableMappings } from '../../lib/storage/sqlite/sqlite-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { loadItems } from '../../lib/tools/index.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { isFast } from '../size.js'

/** Storages with nothing in them but what our own families make. */
const storages: Record<string, (t: Test, tables: TableMappings) => Promise<Storage>> = {
  async sqlite (t, tables) {
    const storage = sqliteStorage({ file: ':memory:', tables })
    t.teardown(() => storage.close())
    return storage
  },
  async postgres (t, tables) {
    const schema = newSchema()
    const storage = postgresStorage({ connectionString: await postgresUrl(), schema, tables, poolSize: 2 })
    t.teardown(async () => {
      await storage.close()
      await dropSchema(schema)
    })
    return storage
  }
}

const v1 = { version: 'v1' }

/** What uses the storage, and the name in `tables` that nothing of it has. */
const cases: Record<string, [(app: FastifyInstance, storage: Storage) => unknown, string, RegExp | undefined]> = {
  'a misspelt family': [
    (app, storage) => app.register(customers, { storage }),
    'custmers',
    /tables has "custmers", but .* known families are customers\. Did you mean "customers"\?/
  ],
  'a family that is mounted elsewhere': [
    (app, storage) => {
      app.register(customers, { storage })
      app.register(deals, { ...v1, storage: sqliteStorage({ file: ':memory:' }) })
    },
    'deals',
    /tables has "deals", but no family with that name is kept in this storage; known families are customers\.$/
  ],
  'the misspelt log': [
    (app, storage) => app.register(deals, { ...v1, storage }),
    'command',
    /known families are deals, commands\. Did you mean "commands"\?/
  ],
  'a family with a service': [
    (app, storage) => {
      app.register(customers, { storage })
      deals.service({ storage })
    },
    'deals',
    undefined
  ],
  'a family whose items were loaded': [
    async (app, storage) => {
      // There is no such table to load into.
      await loadItems(storage, deals, []).catch(() => {})
      app.register(customers, { storage })
    },
    'deals',
    undefined
  ],
  'a storage that requests choose': [
    (app, storage) => app.register(customers, { storage: () => storage }),
    'custmers',
    undefined
  ]
}

for (const [name, open] of Object.entries(storages)) {
  if (isFast && name === 'postgres') continue
  t.test(`tables that name no family: ${name}`, async t => {
    for (const [title, [use, unknown, message]] of Object.entries(cases)) {
      const app = Fastify()
      t.teardown(() => app.close())
      await use(app, await open(t, { [unknown]: { table: 'crm' } }))
      const ready = async () => await app.ready()
      if (message === undefined) await t.resolves(ready, title)
      else await t.rejects(ready, { code: 'FST_DEALBOOK_UNKNOWN_MAPPED_FAMILY', message }, title)
    }
  })
}
