import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import pg from 'pg'
import t from 'tap'
import type { PostgresClient, PostgresPool } from '../../lib/storage/postgres/driver.js'
import { useClient } from '../../lib/storage/postgres/driver.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'

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

t.test('a server that ends a connection as soon as it is there ends nothing else', async t => {
  const message = (type: string, ...parts: (string | number[])[]) => {
    const body = Buffer.concat(parts.map(part => Buffer.from(part as string)))
    const length = Buffer.alloc(4)
    length.writeInt32BE(body.length + 4)
    return Buffer.concat([Buffer.from(type), length, body])
  }
  // All in one piece, so that nobody can have done anything in between.
  const greeting = Buffer.concat([
    message('R', [0, 0, 0, 0]),
    message('Z', 'I'),
    message('E', 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')
  ])
  let connections = 0
  const server = createServer(socket => {
    connections++
    socket.on('error', () => {}).once('data', () => { socket.end(greeting) })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const connectionString = `postgres://ann:secret@127.0.0.1:${(server.address() as AddressInfo).port}/none`
  const pool = new pg.Pool({ connectionString })
  t.teardown(() => pool.end())
  const fields = ['id', 'revision'].map(name => ({ name, kind: 'integer' as const, optional: false }))
  const times = ['createdAt', 'updatedAt'].map(name => ({ name, kind: 'date-time' as const, optional: false }))
  const shape = { name: 'notes', fields: [...fields, ...times], indexes: [] }
  for (const storage of [postgresStorage({ connectionString }), postgresStorage({ pool })]) {
    await t.rejects(storage.prepare(shape), /connection/i)
    await storage.close()
  }
  t.ok(connections >= 2, `${connections} connections`)
})
