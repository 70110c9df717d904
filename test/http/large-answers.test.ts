import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import http from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import type { Representation } from '../../lib/index.js'
import { defineFamily, json, loadItems, memoryStorage } from '../../lib/index.js'

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

t.test('what is read for an answer counts before it is written', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  let written = 0
  let open = (): void => {}
  const opened = new Promise<void>(resolve => { open = resolve })
  const slow: Representation = {
    name: 'slow',
    extension: 'slow',
    mediaTypes: ['text/plain'],
    async page () {
      written++
      await opened
      return 'done'
    }
  }
  await app.register(notes, { storage, representations: [json, slow] })
  // Until those before have gone.
  while ((await app.inject(large)).statusCode === 503) await delay(20)
  const answers = Array.from({ length: 12 }, async () => (await app.inject(`${large}&format=slow`)).statusCode)
  const refused = await Promise.race(answers)
  t.equal(refused, 503, 'some are refused while others are written')
  open()
  const statuses = await Promise.all(answers)
  t.strictSame(statuses.filter(status => status === 200).length, written)
  t.ok(written >= 2 && written <= 6, `${written} were written at once`)
})

t.test('of many who read part after part at the same time, some are served', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(notes, { storage })
  while ((await app.inject(large)).statusCode === 503) await delay(20)
  const answers = await Promise.all(Array.from({ length: 120 }, async () => (await app.inject(large)).statusCode))
  t.ok(answers.includes(200), `${answers.filter(status => status === 200).length} are served`)
})

t.test('who leaves before a large answer is there takes no room', async t => {
  const { url } = await serve(t, 60_000)
  let left = 0
  for (let n = 0; n < 12; n++) {
    const request = http.get(`${url}${large}&format=xml`, { agent: false }).on('error', () => { left++ })
    await once(request, 'socket')
    await once(request.socket as Socket, 'connect')
    await delay(5)
    request.destroy()
    // What is written meanwhile comes to its end.
    while ((await fetch(`${url}/notes/1`)).status !== 200) await delay(5)
  }
  t.equal(left, 12)
  let answer = await fetch(url + large)
  for (let n = 0; n < 100 && answer.status === 503; n++) {
    await delay(20)
    answer = await fetch(url + large)
  }
  t.equal(answer.status, 200)
  await answer.body?.cancel()
})

t.test('many exports that nobody reads do not fill the memory', async t => {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  const wide = memoryStorage()
  await loadItems(wide, notes, Array.from({ length: 8 }, (_, id) => ({ id, text: 'x'.repeat(900_000) })))
  app.register(notes, { storage: wide })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const responses: IncomingMessage[] = []
  for (let n = 0; n < 36; n++) responses.push(await askAndWait(`${url}/notes.ndjson`))
  const refused = responses.filter(({ statusCode }) => statusCode === 503)
  t.ok(refused.length > 4 && refused.length < 30, `${refused.length} are refused`)
  for (const response of responses) response.destroy()
  let answer = await fetch(`${url}/notes.ndjson`)
  for (; answer.status === 503; answer = await fetch(`${url}/notes.ndjson`)) await delay(20)
  t.equal((await answer.text()).trimEnd().split('\n').length, 8, 'when they have gone there is room again')
})

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
