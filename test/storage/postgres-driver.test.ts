import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import pg from 'pg'
import t, { type Test } from 'tap'
import { notes } from '../../lib/conformance/fixture.js'
import { Connections } from '../../lib/storage/postgres/connections.js'
import type { PostgresClient, PostgresPool } from '../../lib/storage/postgres/driver.js'
import { usePool } from '../../lib/storage/postgres/hosts.js'
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
  const connect = async (): Promise<PostgresClient> => client as unknown as PostgresClient
  const pool = Object.assign(new EventEmitter(), { connect }) as unknown as PostgresPool
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

t.test('a connection that is in use when only a primary will do is checked before it is used again', async t => {
  const { connections, released, pool } = makeConnections()
  let end = (): void => {}
  const using = connections.use(() => new Promise<void>(resolve => { end = resolve }))
  await connections.use(async () => {})
  Object.assign(pool, { mustWrite: true })
  end()
  await using
  t.strictSame(released, [undefined], 'given back, since the pool checks those that it gives')
  await connections.use(async () => {})
  t.strictSame(released, [undefined, undefined], 'so is one that was kept')
})

t.test('a connection of the host\'s pool that breaks while it is checked ends nothing else', async t => {
  const { client, released, pool } = makeConnections()
  const hosts = usePool(pool, 1000)
  hosts.mustWrite = true
  const handled: boolean[] = []
  const rows = [['off']]
  Object.assign(client, {
    async query () {
      // Without a listener, this throws. The client is from before the storage, and the pool does not listen now.
      handled.push(client.emit('error', gone))
      throw gone
    }
  })
  await t.rejects(hosts.connect(), gone)
  t.strictSame([handled, released], [[true], [true]])
  t.doesNotThrow(() => client.emit('error', gone), 'nor once it is closed')
  client.removeAllListeners()
  Object.assign(client, { query: async () => ({ rows }) })
  await hosts.connect()
  t.equal(client.listenerCount('error'), 0, 'a good one is as it was')
})

/** The port of a server that accepts connections after so many milliseconds, and then answers nothing. */
async function startMute (t: Test, after: number): Promise<number> {
  const ready = Buffer.from([...Buffer.from('R'), 0, 0, 0, 8, 0, 0, 0, 0, ...Buffer.from('Z'), 0, 0, 0, 5, 73])
  const server = createServer(socket => {
    socket.on('error', () => {}).once('data', () => { setTimeout(() => { socket.write(ready) }, after) })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

t.test('hosts that accept connections and answer nothing: the error names them, and why', async t => {
  const hosts = [await startMute(t, 200), await startMute(t, 200)].map(port => `127.0.0.1:${port}`)
  const connectionString = `postgres://ann@${hosts.join()}/crm`
  // A tenth of this is left for a slow machine: all the hosts have nine tenths of it.
  const storage = postgresStorage({ connectionString, connectionTimeout: 10_000, preparedStatements: false })
  const why = 'The server did not answer before the timeout'
  await t.rejects(storage.prepare(notes), {
    message: `PostgreSQL, ${hosts.join()}/crm: ${hosts.map(host => `${host}: ${why}`).join('; ')}`
  })
  await storage.close()
})

t.test('a server that does not answer is given up', async t => {
  const pool = new pg.Pool({ host: '127.0.0.1', port: await startMute(t, 0) })
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
  for (const storage of [postgresStorage({ connectionString }), postgresStorage({ pool })]) {
    await t.rejects(storage.prepare(notes), /connection/i)
    await storage.close()
  }
  t.ok(connections >= 2, `${connections} connections`)
})
