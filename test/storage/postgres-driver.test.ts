import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import pg from 'pg'
import t from 'tap'
import { Connections } from '../../lib/storage/postgres/connections.js'
import type { PostgresClient, PostgresPool } from '../../lib/storage/postgres/driver.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'

const gone = Object.assign(new Error('gone'), { code: 'ECONNRESET' })
const refused = Object.assign(new Error('no such column'), { severity: 'ERROR', code: '42703' })

// As sockets would: the clock of connections keeps no process alive.
const awake = setInterval(() => {}, 1000)
t.teardown(() => { clearInterval(awake) })

/** Connections of a pool with one client that answers nothing, and what it was released with. */
function makeConnections (): {
  connections: Connections
  client: EventEmitter
  released: unknown[]
  pool: PostgresPool
} {
  const released: unknown[] = []
  const client = Object.assign(new EventEmitter(), {
    query: () => new Promise(() => {}),
    release: (error: unknown) => { released.push(error) }
  })
  const pool = { connect: async () => client as unknown as PostgresClient } as unknown as PostgresPool
  const settings = { statementTimeout: 10, connectionTimeout: 1000, limitsTime: true, preparedStatements: true }
  return { connections: new Connections(pool, settings), client, released, pool }
}

t.test('a connection that broke is closed, and may break once more', async t => {
  const { connections, client, released } = makeConnections()
  await t.rejects(connections.use(() => Promise.reject(gone)), gone)
  t.strictSame(released, [gone])
  t.doesNotThrow(() => client.emit('error', gone), 'as it would without a listener')
})

t.test('a connection that serves on is kept for a moment, and given back as it was', async t => {
  const { connections, client, released } = makeConnections()
  t.equal(await connections.use(async () => 'done'), 'done')
  await t.rejects(connections.use(() => Promise.reject(refused)), refused, 'what the server refuses breaks nothing')
  t.strictSame([released, client.listenerCount('error')], [[], 1])
  while (released.length === 0) await new Promise(resolve => setTimeout(resolve, 10))
  t.strictSame([released, client.listenerCount('error')], [[undefined], 0])
})

t.test('a connection that breaks while it is kept is not used again', async t => {
  const { connections, client, released } = makeConnections()
  await connections.use(async () => {})
  client.emit('error', gone)
  await connections.use(async () => {})
  t.strictSame(released, [true])
})

t.test('a pool in which the host waits for a connection gets it back at once', async t => {
  const { connections, released, pool } = makeConnections()
  Object.assign(pool, { waitingCount: 1 })
  await connections.use(async () => {})
  t.strictSame(released, [undefined])
})

t.test('a server that does not answer is given up', async t => {
  const server = createServer(socket => {
    const ready = Buffer.from([...Buffer.from('R'), 0, 0, 0, 8, 0, 0, 0, 0, ...Buffer.from('Z'), 0, 0, 0, 5, 73])
    socket.on('error', () => {}).once('data', () => { socket.write(ready) })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const pool = new pg.Pool({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  pool.on('error', () => {})
  t.teardown(() => pool.end())
  const settings = { statementTimeout: 10, connectionTimeout: 1000, limitsTime: true, preparedStatements: true }
  const connections = new Connections(pool as unknown as PostgresPool, settings)
  const read = connections.use(connection => connections.read(connection, { text: 'SELECT 1', values: [] }))
  await t.rejects(read, /timeout/)
  t.equal(pool.totalCount, 0, 'its connection is closed')
})

t.test('a server that ends a connection as soon as it is there ends nothing else', async t => {
  const message = (type: string, ...parts: (string | number[])[]) => {
    const body = Buffer.concat(parts.map(part => Buffer.from(part as string)))
    const length = Buffer.alloc(4)
    length.writeInt32BE(body.length + 4)
    return Buffer.concat([Buffer.from(type), length, body])
  }
  // All in one piece, so that nothing can have been done in between.
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
