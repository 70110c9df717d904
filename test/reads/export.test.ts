import { once } from 'node:events'
import http from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions, Query, Storage } from '../../lib/index.js'
import { customers, defineFamily, memoryStorage } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { parseCsv } from '../csv.js'
import { people, storageOf } from '../customers-app.js'
import { createDeal, dealsApp, home } from '../deals/app.js'
import { countTurns } from '../loop-holds.js'
import { isLong } from '../size.js'

// Enough that the buffers of the sockets, which may be 20 MB, hold only a part of it.
const manyRows = 9000
const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() })
})

const manyNotes = memoryStorage()
const text = 'x'.repeat(3500)
await loadItems(manyNotes, notes, Array.from({ length: manyRows }, (_, index) => ({ id: index + 1, text })))

interface RecordedFinds { readonly storage: Storage, readonly queries: Query[] }

/** A storage that remembers what it was asked, and can be made to do something before it answers. */
function recordFinds (storage: Storage, before: (count: number) => Promise<void> = async () => {}): RecordedFinds {
  const queries: Query[] = []
  const { findText, ...others } = storage
  return {
    queries,
    storage: {
      ...others,
      async find (family, query) {
        queries.push(query)
        await before(queries.length)
        return await storage.find(family, query)
      }
    }
  }
}

async function serve (
  t: { teardown (close: () => Promise<unknown>): void },
  storage: Storage,
  logged: string[] = [],
  options: Partial<FamilyOptions> = {}
): Promise<{ app: FastifyInstance, address: string }> {
  const app = Fastify({
    forceCloseConnections: true,
    logger: {
      level: 'info',
      stream: {
        write: (line: string) => {
          logged.push(line)
        }
      }
    }
  })
  t.teardown(() => app.close())
  app.register(customers, { storage })
  app.register(notes, { storage, ...options })
  return { app, address: await app.listen({ port: 0 }) }
}

/** How many rows were asked for. */
function countRows (queries: readonly Query[]): number {
  return queries.reduce((rows, { limit }) => rows + limit, 0)
}

/** Waits until nothing is read any more: the buffers of the sockets between are full. */
async function untilStill (queries: readonly Query[]): Promise<void> {
  for (let before = -1; before !== queries.length; await pause(300)) before = queries.length
}

const idsOf = (ndjson: string) => ndjson.trimEnd().split('\n').map(line => (JSON.parse(line) as { id: number }).id)

t.test('everything that matches, line by line', async t => {
  const { storage, queries } = recordFinds(await storageOf(people(1234)))
  const { app } = await serve(t, storage)
  const ndjson = await app.inject('/customers.ndjson')
  t.equal(ndjson.headers['content-type'], 'application/x-ndjson; charset=utf-8')
  t.strictSame(ndjson.body.trimEnd().split('\n').map(line => JSON.parse(line) as object), people(1234))
  t.ok(
    queries.length <= 6 && queries.every(({ offset, limit }) => offset === 0 && limit <= 1000),
    'by key, a batch at a time'
  )

  const csv = parseCsv((await app.inject('/customers?format=csv')).body)
  t.strictSame(csv[0], ['id', 'age', 'children'], 'a row for the names')
  t.strictSame(csv.slice(1), people(1234).map(({ id, age, children }) => [String(id), String(age), String(children)]))

  t.strictSame(
    idsOf((await app.inject('/customers.ndjson?min-age=70')).body),
    people(1234)
      .filter(({ age }) => age >= 70)
      .map(({ id }) => id),
    'filtered'
  )
  t.strictSame(
    idsOf((await app.inject('/customers.ndjson?sort=-id')).body),
    people(1234)
      .map(({ id }) => id)
      .reverse(),
    'downwards'
  )
  t.strictSame(
    idsOf((await app.inject('/customers.ndjson?gt=1000&lt=1005')).body),
    [1001, 1002, 1003, 1004],
    'between two keys'
  )
  t.equal((await app.inject('/customers.csv?fields=age')).body.slice(0, 9), 'age\r\n37\r\n', 'some members')
  t.equal((await app.inject('/customers.csv?gt=5000')).body, 'id,age,children\r\n', 'nothing but the names')
  t.equal((await app.inject('/customers.ndjson?gt=5000')).body, '')

  t.equal(idsOf((await app.inject('/customers.ndjson?maxpagesize=3')).body).length, 3, 'with a size it is a page')
  t.match((await app.inject('/customers.csv?maxpagesize=3')).headers.link, /rel="next"/)
  t.strictSame(
    idsOf((await app.inject('/customers.ndjson?page=2')).body),
    people(100)
      .slice(50)
      .map(({ id }) => id),
    'a number asks for a page too'
  )
  t.strictSame(idsOf((await app.inject('/customers.ndjson?sort=-age&maxpagesize=2')).body).length, 2, 'in any order')
  t.strictSame(idsOf((await app.inject('/customers.ndjson?sort=-age')).body).length, 1234, 'all of them too')
  t.match(await app.inject({ method: 'HEAD', url: '/customers.csv' }), {
    statusCode: 200,
    headers: { 'content-type': 'text/csv; charset=utf-8' }
  })
})

t.test('logs and results too', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const { id } = await createDeal(app, { name: '=1+1' })
  const rounds = isLong ? 300 : 120
  for (let round = 0; round < rounds; round++) {
    await app.inject({ method: 'POST', url: `${home}/${id}/holds`, payload: { reason: `-${round}` } })
    await app.inject({ method: 'POST', url: `${home}/${id}/unholds` })
  }
  const log = (await app.inject(`${home}/${id}/commands.ndjson`)).body
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { revision: number })
  t.strictSame(
    log.map(({ revision }) => revision),
    Array.from({ length: 2 * rounds + 1 }, (_, index) => index + 1),
    'the whole log in its order'
  )
  const [head, first] = parseCsv((await app.inject(`${home}/${id}/holds.csv`)).body) as [string[], string[]]
  t.strictSame(
    [first[head.indexOf('action')], first[head.indexOf('params')], first[head.indexOf('problem')]],
    ['HoldDeal', '{"reason":"-0"}', '']
  )
  t.strictSame(parseCsv((await app.inject('/query/deals-by-status/open.csv?fields=name,price')).body), [
    ['name', 'price'],
    ["'=1+1", '100']
  ])
  t.equal((await app.inject('/query/deals-by-status/completed.csv')).statusCode, 404, 'an empty result is not there')
  const strict = await dealsApp(memoryStorage(), { emptyList: 'not-found' })
  t.teardown(() => strict.close())
  t.equal((await strict.inject(`${home}.csv`)).statusCode, 404, 'nor an empty list, where the option says so')
})

t.test('what is added or deleted meanwhile moves nothing', async t => {
  const inner = await storageOf(people(3000))
  const { storage } = recordFinds(inner, async count => {
    // Behind what was sent, and ahead of it.
    if (count === 3) {
      await inner.commit([
        { type: 'delete', family: 'customers', id: 10, expected: 1 },
        { type: 'delete', family: 'customers', id: 2900, expected: 1 }
      ])
      await loadItems(inner, customers, [{ id: -5, age: 1, children: 1 }, { id: 9000, age: 1, children: 1 }])
    }
  })
  const { app } = await serve(t, storage)
  const expected = [...people(3000).map(({ id }) => id).filter(id => id !== 2900), 9000]
  t.strictSame(idsOf((await app.inject('/customers.ndjson')).body), expected)
})

t.test('a client that does not read is not read ahead of', async t => {
  const { storage, queries } = recordFinds(manyNotes)
  const { address } = await serve(t, storage)
  for (const suffix of ['ndjson', 'csv']) {
    queries.length = 0
    const request = http.get(`${address}/notes.${suffix}`)
    const [response] = await once(request, 'response') as [http.IncomingMessage]
    await untilStill(queries)
    const rows = countRows(queries)
    t.ok(rows < 0.9 * manyRows, `${suffix}: ${rows} of ${manyRows} rows are read while nobody takes them`)
    let text = ''
    response.setEncoding('utf8').on('data', (part: string) => { text += part })
    await once(response, 'end')
    t.equal(
      text.trimEnd().split('\n').length,
      manyRows + (suffix === 'csv' ? 1 : 0),
      `${suffix}: and all of it comes at last`
    )
    t.ok(countRows(queries) >= manyRows)
  }
})

t.test('a client that goes away ends the reading', async t => {
  const { storage, queries } = recordFinds(manyNotes)
  const { address } = await serve(t, storage)
  const request = http.get(`${address}/notes.ndjson`)
  const [response] = await once(request, 'response') as [http.IncomingMessage]
  await once(response, 'readable')
  request.destroy()
  await once(request, 'close')
  await untilStill(queries)
  const rows = countRows(queries)
  t.ok(rows < manyRows, `${rows} of ${manyRows} rows`)
})

t.test('wide rows are read few at a time, so that a client that does not read holds little', async t => {
  const wide = memoryStorage()
  const length = 100_000
  const text = 'y'.repeat(length)
  const narrow = 300
  const wideRows = isLong ? 600 : 100
  await loadItems(wide, notes, Array.from({ length: narrow }, (_, index) => ({ id: index + 1, text: 'n' })))
  await loadItems(wide, notes, Array.from({ length: wideRows }, (_, index) => ({ id: narrow + index + 1, text })))
  const { storage, queries } = recordFinds(wide)
  const { app } = await serve(t, storage)
  const { body } = await app.inject('/notes.ndjson')
  t.strictSame(idsOf(body), Array.from({ length: narrow + wideRows }, (_, index) => index + 1))
  const limits = queries.map(({ limit }) => limit)
  t.equal(Math.max(...limits), 50, 'narrow rows more than wide ones, but not so many that they could not be wide')
  t.ok(limits.slice(12).every(limit => limit <= 2), 'wide rows, few')
})

t.test('rows that are short whatever is in them are read many at a time', async t => {
  const { storage, queries } = recordFinds(await storageOf(people(3000)))
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(customers, { storage })
  const { body } = await app.inject('/customers.ndjson')
  t.equal(idsOf(body).length, 3000)
  t.strictSame(queries.map(({ limit }) => limit).slice(0, 5), [4, 20, 100, 500, 500])
})

t.test('a client that does not read for too long is cut off', async t => {
  const logged: string[] = []
  const { storage, queries } = recordFinds(manyNotes)
  const { address } = await serve(t, storage, logged, { timeout: 200 })
  const request = http.get(`${address}/notes.ndjson`)
  const [response] = await once(request, 'response') as [http.IncomingMessage]
  // Reads nothing; what has come so far can still be read when the connection has ended.
  while (!logged.join('').includes('did not read it for too long')) await pause(50)
  const read = countRows(queries)
  t.ok(read < manyRows)
  await t.rejects(async () => { for await (const part of response) t.ok(part) }, 'and not for the end of it')
  t.equal(countRows(queries), read, 'nothing more is read')
})

t.test('and so is one whose request came behind another on its connection', async t => {
  const logged: string[] = []
  const { storage } = recordFinds(manyNotes)
  const { address } = await serve(t, storage, logged, { timeout: 200 })
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname).pause()
  t.teardown(() => socket.destroy())
  const ask = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  socket.on('error', () => {}).write(ask('/notes?maxpagesize=1') + ask('/notes.ndjson'))
  while (!logged.join('').includes('did not read it for too long')) await pause(50)
})

t.test('one that reads slowly is not', async t => {
  const { storage } = recordFinds(manyNotes)
  const { address } = await serve(t, storage, [], { timeout: 1000 })
  const [response] = await once(http.get(`${address}/notes.ndjson`), 'response') as [http.IncomingMessage]
  let bytes = 0
  let taken = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length
    taken += part.length
    if (taken < 3_000_000) continue
    taken = 0
    await pause(150)
  }
  t.ok(bytes > manyRows * text.length)
})

t.test('a storage that fails at once is a problem', async t => {
  const logged: string[] = []
  const { storage } = recordFinds(await storageOf(people(10)), async () => { throw new Error('no disk') })
  const { app } = await serve(t, storage, logged)
  t.match(await app.inject('/customers.csv'), { statusCode: 503, headers: { 'content-type': /problem\+json/ } })
  t.match(logged.join(''), 'no disk')
})

t.test('a storage that fails midway breaks the connection, so that no client takes a part for the whole', async t => {
  const logged: string[] = []
  const { storage } = recordFinds(await storageOf(people(2000)), async count => {
    if (count === 3) throw new Error('no disk')
  })
  const { app, address } = await serve(t, storage, logged)
  const response = await fetch(`${address}/customers.ndjson`)
  t.equal(response.status, 200, 'it began well')
  await t.rejects(response.text(), 'and did not end well')
  t.match(logged.join(''), 'no disk', 'the cause is logged')
  t.equal((await app.inject('/customers/1')).statusCode, 200, 'the server goes on')
})

t.test('others go on meanwhile, though the storage has everything there and the clients take all at once', async t => {
  const rows = isLong ? 30_000 : 20_000
  const { app } = await serve(t, await storageOf(people(rows)))
  for (const type of ['csv', 'ndjson']) {
    const turns = await countTurns(async () => {
      const all = await Promise.all(Array.from({ length: 3 }, () => app.inject(`/customers.${type}`)))
      for (const { statusCode, body } of all) t.ok(statusCode === 200 && body.split('\n').length > rows)
    })
    t.ok(turns > 5, `${type}: ${turns} turns`)
  }
})
