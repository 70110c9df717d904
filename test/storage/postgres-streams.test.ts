import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import Fastify from 'fastify'
import t from 'tap'
import { deals } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { readEvents } from '../feed/events.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

/** A way to a server that can be made to hang: connections stay, and nothing goes through. */
async function hangable (url: URL): Promise<{ readonly url: string, hang (): void, resume (): void, close (): void }> {
  const sockets = new Set<Socket>()
  let isHanging = false
  const proxy = createServer(client => {
    const server = connect(Number(url.port), url.hostname)
    for (const [from, to] of [[client, server], [server, client]] as const) {
      sockets.add(from)
      from.on('data', part => to.write(part)).on('close', () => to.destroy()).on('error', () => {})
      if (isHanging) from.pause()
    }
  })
  await new Promise<void>(resolve => { proxy.listen(0, '127.0.0.1', resolve) })
  const own = new URL(url)
  own.host = `127.0.0.1:${(proxy.address() as { port: number }).port}`
  return {
    url: own.href,
    hang () { isHanging = true; for (const socket of sockets) socket.pause() },
    resume () { isHanging = false; for (const socket of sockets) socket.resume() },
    close () { proxy.close(); for (const socket of sockets) socket.destroy() }
  }
}

t.test('streams outlive a server that hangs, and begin meanwhile', async t => {
  const schema = newSchema()
  t.teardown(() => dropSchema(schema))
  const direct = await postgresUrl()
  const way = await hangable(new URL(direct))
  // With so few connections, it asks for new entries every second.
  const storage = postgresStorage({ connectionString: way.url, schema, poolSize: 3 })
  const app = Fastify({ forceCloseConnections: true })
  await app.register(deals, { storage, version: 'v1', timeout: 1000 })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const other = postgresStorage({ connectionString: direct, schema, poolSize: 1 })
  t.teardown(async () => {
    await app.close()
    way.close()
    await Promise.all([storage.close(), other.close()])
  })
  const book = deals.service({ storage: other })
  const { item: { id } } = await book.create({ name: 'a', price: 1 })
  // On a busy machine, the first connections may take longer than a request may.
  while ((await app.inject('/rest/commands')).statusCode !== 200) await delay(50)
  const stream = await readEvents(`${address}/rest/commands`)
  await book.run('hold', id, { reason: 'b' })
  const [held] = await stream.take(1)
  way.hang()
  const readLate = async () => (await app.inject(`/rest/v1/deals/${id}`)).statusCode
  t.equal(await readLate(), 503)
  const cursor = { 'last-event-id': held?.id as string }
  const again = await readEvents(`${address}/rest/commands`, cursor)
  const ofItem = await readEvents(`${address}/rest/v1/deals/${id}/commands`, cursor)
  await book.run('unhold', id)
  // Longer than a request may take, and after the storage was asked again, which it is every second.
  t.strictSame([await readLate(), await readLate()], [503, 503])
  way.resume()
  for (const each of [stream, again, ofItem]) {
    t.strictSame((await each.take(1)).map(({ event }) => event), ['UnholdDeal'])
    each.close()
  }
})
