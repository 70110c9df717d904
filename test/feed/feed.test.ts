import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { Condition, FamilyOptions, FollowedCommand, Query, Storage } from '../../lib/index.js'
import { deals, defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'
import { prune } from '../../lib/tools/index.js'
import { storages } from '../storages.js'
import { readEvents } from './events.js'
import { later, makeOld } from './old-entries.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.String(), text: Type.String() }),
  create: ['text'],
  edit: ['text']
})

interface Entry {
  readonly id: string
  readonly family?: string
  readonly deal?: string
  readonly action: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly revision: number
}

interface Page {
  readonly items: readonly Entry[]
  readonly links: Readonly<Record<string, string>>
}

async function makeApp (
  t: Test, storage: Storage, options: Partial<FamilyOptions> = {}
): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(deals, { storage, version: 'v1', ...options } as FamilyOptions)
  await app.register(notes, { storage, version: 'v1', ...options } as FamilyOptions)
  return app
}

async function create (app: FastifyInstance, name: string, headers: Record<string, string> = {}): Promise<string> {
  const made = await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name, price: 1 }, headers })
  return made.json<{ id: string }>().id
}

async function hold (app: FastifyInstance, id: string): Promise<void> {
  await app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}/hold`, payload: { reason: 'Papers' } })
}

async function read (app: FastifyInstance, url: string): Promise<Page> {
  const answer = await app.inject(url)
  if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode} ${answer.body}`)
  return answer.json<Page>()
}

const name = ({ action, params }: Entry): string => `${action} ${String(params?.name ?? params?.text ?? '')}`.trim()

for (const { name: storageName, make } of storages) {
  t.test(storageName, async t => {
    t.test('one resource at three levels, in order, and links.follow leads on', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const app = await makeApp(t, storage)
      const id = await create(app, 'Tea')
      await app.inject({ method: 'POST', url: '/rest/v1/notes', payload: { text: 'Call' } })
      await hold(app, id)
      const all = await read(app, '/rest/commands')
      t.strictSame(all.items.map(name), ['CreateDeal Tea', 'CreateNote Call', 'HoldDeal'])
      t.strictSame(all.items.map(({ family }) => family), ['deals', 'notes', 'deals'])
      const own = await read(app, '/rest/v1/deals/commands')
      t.strictSame(own.items.map(name), ['CreateDeal Tea', 'HoldDeal'])
      const log = await read(app, `/rest/v1/deals/${id}/commands`)
      t.strictSame(log.items, own.items)
      for (const { links } of [all, own, log]) {
        t.strictSame((await read(app, links.follow as string)).items, [], String(links.follow))
      }
      await create(app, 'Coffee')
      t.strictSame((await read(app, all.links.follow as string)).items.map(name), ['CreateDeal Coffee'])
      t.strictSame((await read(app, own.links.follow as string)).items.map(name), ['CreateDeal Coffee'])
      const none = await read(app, log.links.follow as string)
      t.strictSame(none.items, [])
      await hold(app, id)
      await app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}/unhold`, payload: {} })
      t.strictSame((await read(app, none.links.follow as string)).items.map(name), ['UnholdDeal'])
    })

    t.test('pages forwards and backwards, filters, and every representation', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const app = await makeApp(t, storage)
      const ids = []
      for (let index = 0; index < 7; index++) ids.push(await create(app, `d${index}`))
      await hold(app, ids[3] as string)
      const seen: string[] = []
      let url: string | undefined = '/rest/commands?maxpagesize=3'
      let last: Page | undefined
      while (url !== undefined) {
        last = await read(app, url)
        seen.push(...last.items.map(name))
        url = last.links.next
      }
      t.strictSame(seen, [...ids.map((_, index) => `CreateDeal d${index}`), 'HoldDeal'])
      t.strictSame((await read(app, last?.links.prev as string)).items.map(name),
        ['CreateDeal d3', 'CreateDeal d4', 'CreateDeal d5'])
      t.strictSame((await read(app, '/rest/commands?sort=-position&maxpagesize=2')).items.map(name),
        ['HoldDeal', 'CreateDeal d6'])
      const filters = {
        'action=HoldDeal': 1,
        'family=notes': 0,
        'family=deals&outcome=done': 8,
        'principal=ann': 0,
        'min-createdAt=2999-01-01': 0,
        'min-createdAt=2000-01-01': 8
      }
      for (const [query, count] of Object.entries(filters)) {
        t.equal((await read(app, `/rest/commands?${query}`)).items.length, count, query)
      }
      // A page without matches goes on after everything that it passed over.
      const { links } = await read(app, '/rest/commands?action=DeleteDeal')
      t.strictSame((await read(app, links.follow as string)).items, [])
      for (const extension of ['csv', 'ndjson', 'xml', 'html']) {
        for (const path of ['/rest/commands', '/rest/v1/deals/commands']) {
          const answer = await app.inject(`${path}.${extension}`)
          t.equal(answer.statusCode, 200, `${path}.${extension}`)
          t.match(answer.body, 'd6')
        }
      }
      t.equal((await app.inject('/rest/commands.csv')).body.trimEnd().split('\r\n').length, 9)
      for (const query of ['page=2', 'count=exact', 'sort=createdAt', 'after=x', 'actoin=HoldDeal']) {
        t.equal((await app.inject(`/rest/commands?${query}`)).statusCode, 400, query)
      }
    })

    t.test('who may not read an item does not see its entries', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const where: Condition[] = [{ field: 'price', op: 'lt', value: 10 }]
      const asked: string[] = []
      const app = await makeApp(t, storage, {
        authorize (request, { action, family }) {
          asked.push(`${family} ${action}`)
          const user = String(request.headers['x-user'])
          if (user === 'guest' || (user === 'writer' && family === 'notes')) throw new Problem('forbidden', 'No')
          return user === 'clerk' && family === 'deals' ? { principal: user, where } : { principal: user }
        }
      })
      const post = async (url: string, payload: object): Promise<string> =>
        (await app.inject({ method: 'POST', url, payload, headers: { 'x-user': 'boss' } })).json<{ id: string }>().id
      for (let price = 1; price <= 120; price++) await post('/rest/v1/deals', { name: `d${price}`, price })
      await post('/rest/v1/notes', { text: 'Note' })
      asked.length = 0
      const get = async (user: string, url: string) => await app.inject({ url, headers: { 'x-user': user } })
      const clerk = (await get('clerk', '/rest/commands?maxpagesize=5')).json<Page>()
      t.strictSame(clerk.items.map(name), [1, 2, 3, 4, 5].map(price => `CreateDeal d${price}`))
      t.strictSame(asked, ['deals read', 'notes read'])
      const rest = (await get('clerk', clerk.links.next as string)).json<Page>()
      t.strictSame(rest.items.map(name), [...[6, 7, 8, 9].map(price => `CreateDeal d${price}`), 'CreateNote Note'])
      t.strictSame((await get('clerk', '/rest/v1/deals/commands.csv')).body.match(/CreateDeal/g)?.length, 9)
      t.equal((await get('writer', '/rest/commands?maxpagesize=500')).json<Page>().items.length, 120)
      t.equal((await get('guest', '/rest/commands')).statusCode, 403)
      t.equal((await get('guest', '/rest/v1/deals/commands')).statusCode, 403)
    })

    t.test('the newest first: links.follow has only what comes later', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const app = await makeApp(t, storage)
      for (const each of ['a', 'b', 'c']) await create(app, each)
      const newest = await read(app, '/rest/commands?sort=-position&maxpagesize=2')
      t.strictSame(newest.items.map(name), ['CreateDeal c', 'CreateDeal b'])
      const older = await read(app, newest.links.next as string)
      t.strictSame(older.items.map(name), ['CreateDeal a'])
      const filtered = await read(app, '/rest/commands?action=HoldDeal')
      await create(app, 'd')
      for (const { links } of [newest, older]) {
        t.strictSame((await read(app, links.follow as string)).items.map(name), ['CreateDeal d'])
      }
      t.strictSame((await read(app, filtered.links.follow as string)).items, [])
    })

    t.test('an empty page waits, if the client prefers that', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const app = await makeApp(t, storage)
      await create(app, 'Tea')
      const { links } = await read(app, '/rest/commands')
      const waiting = app.inject({ url: links.follow as string, headers: { prefer: 'wait=30' } })
      await delay(100)
      await create(app, 'Coffee')
      const answer = await waiting
      t.strictSame(answer.json<Page>().items.map(name), ['CreateDeal Coffee'])
      t.equal(answer.headers['preference-applied'], 'wait=30')
      const { links: { follow } } = answer.json<Page>()
      const late = await app.inject({ url: follow as string, headers: { prefer: 'wait=1' } })
      t.strictSame(late.json<Page>().items, [])
      t.equal(late.json<Page>().links.follow, follow)
      const full = await app.inject({ url: '/rest/commands', headers: { prefer: 'wait=30' } })
      t.equal(full.headers['preference-applied'], undefined)
    })

    t.test('events: live, resumed by either cursor, and ended with the application', async t => {
      const { storage, another, dispose } = await make()
      t.teardown(dispose)
      const app = await makeApp(t, storage)
      const id = await create(app, 'Tea')
      const address = await app.listen({ port: 0 })
      const all = await readEvents(`${address}/rest/commands`)
      const own = await readEvents(`${address}/rest/v1/deals/commands?action=HoldDeal`)
      const log = await readEvents(`${address}/rest/v1/deals/${id}/commands`)
      t.equal(all.contentType, 'text/event-stream; charset=utf-8')
      await create(app, 'Coffee')
      await hold(app, id)
      t.strictSame((await all.take(2)).map(({ event }) => event), ['CreateDeal', 'HoldDeal'])
      t.strictSame((await own.take(1)).map(({ event }) => event), ['HoldDeal'])
      const [held] = await log.take(1)
      t.match(held?.data, { deal: id, action: 'HoldDeal', revision: 2, params: { reason: 'Papers' } })
      if (another !== undefined) {
        // As by another process.
        const other = another()
        t.teardown(() => other.close())
        await deals.service({ storage: other }).create({ name: 'Elsewhere', price: 1 })
        t.match((await all.take(1))[0]?.data, { params: { name: 'Elsewhere' } })
      }
      const { links } = await read(app, '/rest/commands?maxpagesize=1')
      const after = new URL(links.follow as string, address).searchParams.get('after') as string
      const resumed = await readEvents(`${address}/rest/commands`, { 'last-event-id': after })
      t.strictSame((await resumed.take(2)).map(({ event }) => event), ['CreateDeal', 'HoldDeal'])
      const again = await readEvents(`${address}/rest/commands?after=${(held as { id: string }).id}`)
      const refused = await fetch(`${address}/rest/commands`, {
        headers: { accept: 'text/event-stream', 'last-event-id': 'x' }
      })
      t.equal(refused.status, 400)
      await app.close()
      for (const stream of [all, own, log, resumed, again]) await stream.ended
    })

    t.test('a cursor from before what was pruned is refused', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const app = await makeApp(t, storage)
      await create(app, 'Tea')
      const { links } = await read(app, '/rest/commands')
      await create(app, 'Coffee')
      const { links: later } = await read(app, '/rest/commands')
      await delay(5)
      t.equal(await prune(storage, { before: new Date() }), 2)
      const answer = await app.inject(links.follow as string)
      t.equal(answer.statusCode, 410)
      t.match(answer.json(), { type: 'urn:dealbook:problem:pruned', links: { first: '/rest/commands' } })
      t.strictSame((await read(app, later.follow as string)).items, [])
      await create(app, 'Cocoa')
      t.strictSame((await read(app, later.follow as string)).items.map(name), ['CreateDeal Cocoa'])
      t.strictSame((await read(app, '/rest/commands')).items.map(name), ['CreateDeal Cocoa'])
    })

    t.test('what is pruned while it is read is missed by none silently', async t => {
      const { storage: stored, dispose } = await make()
      t.teardown(dispose)
      // Everything so far, before this many more parts of the log are read.
      let left = Infinity
      const pruneInTime = async (family: string, { limit }: Query): Promise<void> => {
        if (family === 'commands' && limit > 1 && left-- === 0) await prune(stored, { before: later })
      }
      const { findText } = stored
      const storage: Storage = {
        ...stored,
        async find (family, query, signal) {
          await pruneInTime(family, query)
          return await stored.find(family, query, signal)
        },
        ...(findText && {
          async findText (family: string, query: Query, members: readonly string[], signal?: AbortSignal) {
            await pruneInTime(family, query)
            return await findText.call(stored, family, query, members, signal)
          }
        })
      }
      const narrow: Condition[] = [{ field: 'price', op: 'gte', value: 0 }]
      const app = await makeApp(t, storage, {
        authorize: ({ headers }, { family }) =>
          headers['x-user'] === 'clerk' && family === 'deals' ? { where: narrow } : {}
      })
      const address = await app.listen({ port: 0, host: '127.0.0.1' })
      const book = deals.service({ storage })
      /** Returns the cursor before many entries. */
      const fill = async (): Promise<string> => {
        left = Infinity
        await create(app, 'x')
        const { links } = await read(app, '/rest/commands?sort=-position&maxpagesize=1')
        await storage.commit(makeOld(250))
        return new URL(links.follow as string, address).searchParams.get('after') as string
      }
      type Path = (after: string) => string
      const pages: Record<string, [parts: number, path: Path, headers?: Record<string, string>]> = {
        'a page': [0, after => `/rest/commands?maxpagesize=5&after=${after}`],
        'a page in parts': [1, after => `/rest/commands?after=${after}`],
        'a page under conditions': [1, after => `/rest/commands?maxpagesize=5&after=${after}`, { 'x-user': 'clerk' }],
        'the first page, in parts': [1, () => '/rest/commands'],
        'an export': [0, after => `/rest/commands.csv?after=${after}`]
      }
      for (const [what, [parts, path, headers = {}]] of Object.entries(pages)) {
        const after = await fill()
        left = parts
        const answer = await app.inject({ url: path(after), headers })
        t.match(answer.json(), { status: 410, links: { first: '/rest/commands' } }, what)
        t.ok(left < 0, what)
      }
      // Of what is sent already, the rest is not sent.
      const after = await fill()
      left = 2
      const response = await fetch(`${address}/rest/commands.ndjson?after=${after}`)
      await t.rejects(response.text(), { message: 'terminated' })

      const cursor = await fill()
      const seen: string[] = []
      await t.rejects((async () => {
        for await (const { action } of book.follow({ after: cursor })) if (seen.push(action) === 110) left = 0
      })(), { code: 'pruned', statusCode: 410 })
      t.equal(seen.length, 110)
      const { value } = await book.follow()[Symbol.asyncIterator]().next() as { value: FollowedCommand }
      t.equal(value.action, 'CreateDeal', 'the beginning is what there is')

      const behind = { 'last-event-id': await fill() }
      left = 1
      const stream = await readEvents(`${address}/rest/commands`, behind)
      await t.rejects(stream.ended, { message: 'terminated' })
      t.equal(stream.rest().length, 10)
      const again = await fetch(`${address}/rest/commands`, { headers: { accept: 'text/event-stream', ...behind } })
      t.match(await again.json(), { status: 410, links: { first: '/rest/commands' } })
    })
  })
}

t.test('versions share the feed, each in its own names', async t => {
  const storage = memoryStorage()
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(deals, { storage, version: 'v1' })
  await app.register(deals.rename({ name: 'title' }), { storage, version: 'v2' })
  await app.inject({ method: 'POST', url: '/rest/v2/deals', payload: { title: 'Tea', price: 1 } })
  t.match((await read(app, '/rest/v2/deals/commands')).items[0]?.params, { title: 'Tea' })
  t.match((await read(app, '/rest/v1/deals/commands')).items[0]?.params, { name: 'Tea' })
  t.match((await read(app, '/rest/commands')).items[0]?.params, { name: 'Tea' })
})

t.test('families of several storages are not mixed', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(deals, { storage: memoryStorage(), version: 'v1' })
  await app.register(notes, { storage: memoryStorage(), version: 'v1' })
  await create(app, 'Tea')
  const answer = await app.inject('/rest/commands')
  t.equal(answer.statusCode, 400)
  t.match(answer.json(), { errors: [{ parameter: 'family' }] })
  t.equal((await read(app, '/rest/commands?family=deals')).items.length, 1)
  t.equal((await read(app, '/rest/v1/notes/commands')).items.length, 0)
})

t.test('an item is not named like the feed', async t => {
  const app = await makeApp(t, memoryStorage())
  t.equal((await app.inject(`/rest/v1/deals/${randomUUID()}/commands`)).statusCode, 404)
  t.equal((await app.inject('/rest/v1/deals/commands')).statusCode, 200)
})
