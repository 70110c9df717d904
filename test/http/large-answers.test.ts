import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { defineFamily, loadItems, memoryStorage } from '../../lib/index.js'
import { measureLoopHolds } from '../loop-holds.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() })
})
const storage = memoryStorage()
// A page of 1000 is more than the system keeps of a connection, many times over.
await loadItems(storage, notes, Array.from({ length: 1000 }, (_, id) => ({ id, text: 'x'.repeat(9000) })))
const large = '/notes?maxpagesize=1000'

async function serve (t: Test, exportTimeout: number): Promise<{ url: string, logged: string[] }> {
  const logged: string[] = []
  const app = Fastify({
    forceCloseConnections: true,
    logger: { level: 'info', stream: { write: (line: string) => { logged.push(line) } } }
  })
  t.teardown(() => app.close())
  app.register(notes, { storage, exportTimeout })
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), logged }
}

/** Asks, and takes nothing but the beginning of the answer. */
async function askAndWait (url: string): Promise<IncomingMessage> {
  const request = http.get(url, { agent: false })
  const [response] = await once(request, 'response') as [IncomingMessage]
  return response.on('error', () => {})
}

for (const representation of ['json', 'xml']) {
  t.test(`${representation}: many who ask for much and read nothing do not fill the memory`, async t => {
    const { url } = await serve(t, 60_000)
    const responses: IncomingMessage[] = []
    for (let n = 0; n < 8; n++) responses.push(await askAndWait(`${url}${large}&format=${representation}`))
    const statuses = responses.map(({ statusCode }) => statusCode)
    const served = statuses.indexOf(503)
    t.ok(served > 1 && served < 8, `${served} are served`)
    t.strictSame(new Set(statuses.slice(served)), new Set([503]))
    const refused = responses.at(-1) as IncomingMessage
    t.equal(refused.headers['retry-after'], '1')
    let problem = ''
    for await (const part of refused.setEncoding('utf8')) problem += part
    t.match(problem, 'Too much waits for other clients to take it')
    t.equal((await fetch(`${url}/notes?maxpagesize=5`)).status, 200, 'what is small is served all the time')
    const finds = t.capture(storage, 'find', storage.find.bind(storage))
    t.equal((await fetch(`${url}${large}&format=${representation}`)).status, 503)
    t.equal(finds().length, 0, 'and nothing is read for who is refused')
    // One that goes makes room, and so does one that reads.
    responses[0]?.destroy()
    let answer = await fetch(url + large)
    for (; answer.status === 503; answer = await fetch(url + large)) await delay(20)
    t.equal((await answer.json() as { items: unknown[] }).items.length, 1000)
    for (const response of responses) response.destroy()
  })
}

t.test('a client that takes nothing of a page for too long is cut off', async t => {
  const { url, logged } = await serve(t, 300)
  const response = await askAndWait(url + large)
  while (!logged.join('').includes('has taken nothing for 300 ms')) await delay(20)
  await t.rejects(async () => { for await (const part of response) t.ok(part) })
})

t.test('one that reads slowly is not', async t => {
  const { url } = await serve(t, 1000)
  const response = await askAndWait(url + large)
  let [bytes, taken] = [0, 0]
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length
    taken += part.length
    if (taken < 1_500_000) continue
    taken = 0
    await delay(150)
  }
  t.ok(bytes > 9_000_000)
})

t.test('to write a large page holds up nobody', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const odd = memoryStorage()
  // Each character of it takes several to write.
  await loadItems(odd, notes, Array.from({ length: 1000 }, (_, id) => ({ id, text: '"'.repeat(4000) })))
  await app.register(notes, { storage: odd })
  // In a table for people, long texts are cut.
  for (const [format, length] of [['html', 1_000_000], ['xml', 20_000_000]] as const) {
    const before = process.cpuUsage()
    const longest = await measureLoopHolds(async () => {
      const { statusCode, body } = await app.inject(`${large}&format=${format}`)
      t.equal(statusCode, 200)
      t.ok(body.length > length)
    })
    const { user, system } = process.cpuUsage(before)
    t.ok(longest < 0.6 * (user + system) / 1000, `${format}: ${longest} of ${(user + system) / 1000} ms in one go`)
  }
})
