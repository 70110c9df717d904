import { EventEmitter } from 'node:events'
import t from 'tap'
import type { PostgresClient, PostgresPool } from '../../lib/storage/postgres/driver.js'
import { useClient } from '../../lib/storage/postgres/driver.js'

const broken = Object.assign(new Error('gone'), { code: 'ECONNRESET' })

t.test('a connection that broke may break once more', async t => {
  const client = Object.assign(new EventEmitter(), { release: (end: unknown) => { t.equal(end, broken) } })
  const pool = { connect: async () => client as unknown as PostgresClient } as unknown as PostgresPool
  await t.rejects(useClient(pool, () => Promise.reject(broken), () => false), broken)
  t.doesNotThrow(() => client.emit('error', broken), 'as it would where nobody listens')
})

t.test('a connection that serves on is left as it was', async t => {
  const client = Object.assign(new EventEmitter(), { release: (end: unknown) => { t.equal(end, false) } })
  const pool = { connect: async () => client as unknown as PostgresClient } as unknown as PostgresPool
  t.equal(await useClient(pool, async () => 'done', () => false), 'done')
  t.equal(client.listenerCount('error'), 0)
})
