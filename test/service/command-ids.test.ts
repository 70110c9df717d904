import { randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { Grant, Intent, Storage, Stored } from '../../lib/index.js'
import { deals, Problem } from '../../lib/index.js'
import type { Entry, TestResponse } from '../deals/app.js'
import { home } from '../deals/app.js'
import { storages } from '../storages.js'

type Method = 'GET' | 'PUT' | 'POST'
type Person = (method: Method, url: string, payload?: object, headers?: Record<string, string>) => Promise<TestResponse>

const owned = deals.extend({ fields: Type.Object({ owner: Type.String() }), create: ['owner'] })
const hold = { action: 'HoldDeal', params: { reason: 'a secret reason' } }

async function openApp (storage: Storage, grant: (user: string | undefined, intent: Intent) => Grant): Promise<App> {
  const app = Fastify()
  app.register(owned, {
    storage,
    version: 'v1',
    authorize: ({ headers }, intent) => grant(headers['x-user'] as string | undefined, intent)
  })
  await app.ready()
  const as = (user?: string): Person => async (method, url, payload, headers = {}) => await app.inject({
    method,
    url,
    headers: { ...headers, ...(user === undefined ? {} : { 'x-user': user }) },
    ...(payload === undefined ? {} : { payload })
  })
  return { app, ann: as('ann'), bob: as('bob'), nobody: as() }
}

interface App {
  readonly app: FastifyInstance
  readonly ann: Person
  readonly bob: Person
  readonly nobody: Person
}

const named = (user: string | undefined): Grant => user === undefined ? {} : { principal: user }
const create = async (person: Person, owner: string): Promise<string> =>
  (await person('POST', home, { name: 'Tea', price: 1, owner })).json<{ id: string }>().id

/** What an answer says, without what belongs to the request. */
const said = ({ statusCode, headers, body }: TestResponse, command: string): unknown => {
  const text = body.replaceAll(command, 'ID').replaceAll(/\d{4}-\d\d-[\d-T:.]+Z/g, 'NOW')
  return [statusCode, headers['idempotent-replayed'], text]
}

for (const { name, make } of storages) {
  t.test(name, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)

    t.test('everybody has ids of their own, by either address and by key', async t => {
      const { app, ann, bob, nobody } = await openApp(storage, named)
      t.teardown(() => app.close())
      const id = await create(ann, 'ann')
      const command = randomUUID()
      const [inDeal, among] = [`${home}/${id}/commands/${command}`, `/rest/commands/${command}`]
      t.equal((await ann('PUT', inDeal, hold)).statusCode, 201)
      t.match(await ann('PUT', among, { deal: id, ...hold }), { statusCode: 200 })

      for (const person of [bob, nobody]) {
        t.equal((await person('GET', among)).statusCode, 404, 'there is no such command for others')
        t.equal((await person('GET', inDeal)).statusCode, 404)
        const other = { action: 'CompleteDeal', params: { comment: 'mine' } }
        const refused = await person('PUT', among, { deal: id, ...other })
        t.match([refused.statusCode, refused.headers['idempotent-replayed']], [409, undefined])
        t.equal((await person('PUT', inDeal, other)).headers['idempotent-replayed'], 'true')
        t.equal((await person('PUT', inDeal, hold)).statusCode, 422, 'now it stands for something of theirs')
        for (const url of [among, inDeal]) {
          t.match((await person('GET', url)).json(), { id: command, action: 'CompleteDeal', outcome: 'refused' })
        }
      }
      const again = await ann('PUT', inDeal, hold)
      t.match([again.statusCode, again.headers['idempotent-replayed']], [200, 'true'], 'and hers is still hers')
      for (const url of [among, inDeal, `${inDeal}.json`, `${among}.json`]) {
        const { changes, links, ...read } = (await ann('GET', url)).json<Entry & { links: Record<string, string> }>()
        const { revision, ...others } = links
        t.strictSame({ ...read, links: others }, again.json(), url)
      }
      t.equal((await ann('GET', `${home}/${id}/holds/${command}`)).statusCode, 200)

      const key = { 'idempotency-key': randomUUID() }
      const unhold = async (person: Person) => await person('POST', `${home}/${id}/unholds`, {}, key)
      t.equal((await unhold(ann)).statusCode, 201)
      t.match((await unhold(bob)).headers['idempotent-replayed'], undefined)
      t.equal((await unhold(ann)).headers['idempotent-replayed'], 'true')
    })

    t.test('an answer does not tell whether others used the id', async t => {
      const { app, ann, bob } = await openApp(storage, (user = '') => ({
        principal: user,
        where: [{ field: 'owner', op: 'eq', values: [user] }]
      }))
      t.teardown(() => app.close())
      const [anns, bobs] = [await create(ann, 'ann'), await create(bob, 'bob')]
      const [used, free] = [randomUUID(), randomUUID()]
      t.equal((await ann('PUT', `${home}/${anns}/commands/${used}`, hold)).statusCode, 201)
      const ask = async (command: string): Promise<unknown[]> => [
        said(await bob('GET', `/rest/commands/${command}`), command),
        said(await bob('GET', `${home}/${anns}/commands/${command}`), command),
        said(await bob('PUT', `${home}/${anns}/commands/${command}`, hold), command),
        said(await bob('PUT', '/rest/commands/' + command, { deal: anns, ...hold }), command),
        (await bob('PUT', '/rest/commands/' + command, { deal: bobs, ...hold })).statusCode
      ]
      const told = await ask(used)
      t.strictSame(told.at(-1), 201, 'he may use it himself')
      t.equal((await bob('PUT', `${home}/${bobs}/unhold`)).statusCode, 200)
      t.strictSame(await ask(free), told)
    })

    t.test('nor does a refusal of authorize', async t => {
      const { app, ann, bob } = await openApp(storage, (user, { action, id, params }) => {
        if (action === 'read' && user === 'bob' && id !== undefined) throw new Problem('forbidden', 'not yours')
        return { principal: user ?? '', ...(params.never === true ? { where: [] } : {}) }
      })
      t.teardown(() => app.close())
      const id = await create(ann, 'ann')
      const command = randomUUID()
      await ann('PUT', `${home}/${id}/commands/${command}`, hold)
      const { items: [entry] } = await storage.find('commands', {
        where: [{ field: 'chosenId', op: 'eq', values: [command] }],
        order: [{ field: 'id', descending: false }],
        offset: 0,
        limit: 1,
        count: false
      })
      for (const guess of [command, (entry as Stored).id as string, randomUUID()]) {
        t.equal((await bob('GET', `/rest/commands/${guess}`)).statusCode, 404, guess)
      }
      t.equal((await ann('GET', `/rest/commands/${command}`)).statusCode, 200)
    })

    t.test('every reader of a log can follow it to every entry', async t => {
      const { app, ann, bob, nobody } = await openApp(storage, named)
      t.teardown(() => app.close())
      const id = await create(ann, 'ann')
      const command = randomUUID()
      await ann('PUT', `${home}/${id}/commands/${command}`, hold)
      await bob('PUT', `${home}/${id}/commands/${command}`, { action: 'UnholdDeal' })
      await nobody('PUT', `${home}/${id}/commands/n-${command}`, hold)
      await ann('POST', `${home}/${id}/unholds`, {}, { 'idempotency-key': command })
      for (const [person, own] of [[ann, 1], [bob, 2], [nobody, 3]] as const) {
        const { items } = (await person('GET', `${home}/${id}/commands`)).json<{ items: Entry[] }>()
        t.equal(items.length, 5)
        t.equal(new Set(items.map(entry => entry.id)).size, 5, 'no two have one id')
        t.equal(items[own]?.id, own === 3 ? `n-${command}` : command, 'their own are named as they named them')
        const chosen = [undefined, command, command, undefined, undefined]
        t.strictSame(items.map(entry => entry.chosenId), chosen.with(own, undefined), 'those of others show it apart')
        for (const entry of items) {
          for (const url of [`${home}/${id}/commands/${entry.id}`, `/rest/commands/${entry.id}`]) {
            const { links, ...read } = (await person('GET', url)).json<Entry & { links: { self: string } }>()
            t.strictSame(read, entry, url)
            t.equal(links.self, `${home}/${id}/commands/${entry.id}`)
          }
          const found = (await person('GET', `${home}/${id}/commands?id=${entry.id}`)).json<{ items: Entry[] }>().items
          t.strictSame(found, [entry], 'and can filter by it')
          const either = await person('GET', `${home}/${id}/commands?or.id=${entry.id}&or.revision=77`)
          t.strictSame(either.json<{ items: Entry[] }>().items, [entry], 'also as one of several conditions')
          const others = (await person('GET', `${home}/${id}/commands?id.ne=${entry.id}`)).json<{ items: Entry[] }>()
          t.strictSame(others.items, items.filter(other => other !== entry))
        }
        const page = (await app.inject({
          url: `${home}/${id}/commands`,
          headers: { accept: 'text/html', ...(own === 3 ? {} : { 'x-user': own === 1 ? 'ann' : 'bob' }) }
        })).body
        for (const entry of items) t.ok(page.includes(`href="${home}/${id}/commands/${entry.id}"`), 'on the page too')
        const linked = [...page.matchAll(/href="([^"]+\/commands\/[^"]+)"/g)].map(([, href]) => href)
        const last = linked.filter(href => items.some(entry => entry.outcome === 'done' && href?.endsWith(entry.id)))
        const done = items.filter(({ outcome }) => outcome === 'done').toReversed()
        const places = done.map(entry => `${home}/${id}/commands/${entry.id}`)
        t.strictSame(last, places, 'and so are the last changes, with the item')
      }
    })

    t.test('what was done before ids had owners is still done, for who did it', async t => {
      const { app, ann, bob } = await openApp(storage, named)
      t.teardown(() => app.close())
      const id = await create(ann, 'ann')
      const [command, now] = [randomUUID(), new Date().toISOString()]
      const item = { id: command, family: 'deals', target: id, ...hold, outcome: 'done', revision: 1, principal: 'ann' }
      const change = { type: 'insert', family: 'commands', item: { ...item, createdAt: now, updatedAt: now } } as const
      await storage.commit([change])
      const url = `${home}/${id}/commands/${command}`
      t.match(await ann('PUT', url, hold), { statusCode: 200, headers: { 'idempotent-replayed': 'true' } })
      t.equal((await ann('PUT', url, { action: 'UnholdDeal' })).statusCode, 422)
      t.match((await bob('GET', url)).json(), { id: command, principal: 'ann' }, 'a log of old is read as it was')
      const bobs = await bob('PUT', url, { action: 'UnholdDeal' })
      t.match([bobs.statusCode, bobs.json().outcome], [201, 'unchanged'])
      t.match((await bob('GET', url)).json(), { id: command, principal: 'bob' })
    })

    t.test('nobody without a name can take an id that will be somebody\'s', async t => {
      const { app, ann, nobody } = await openApp(storage, named)
      t.teardown(() => app.close())
      const id = await create(ann, 'ann')
      const probe = await create(ann, 'ann')
      // Who knows how rows are named can work them out.
      const command = randomUUID()
      await ann('PUT', `${home}/${probe}/commands/${command}`, hold)
      const row = ((await nobody('GET', `${home}/${probe}/commands`)).json<{ items: Entry[] }>().items[1] as Entry).id
      t.not(row, command)
      t.equal((await nobody('PUT', `${home}/${id}/commands/${row}`, { action: 'UnholdDeal' })).statusCode, 201)
      t.match((await nobody('GET', `${home}/${id}/commands/${row}`)).json(), { id: row, action: 'UnholdDeal' })
      t.match((await nobody('GET', `${home}/${probe}/commands/${row}`)).json(), { action: 'HoldDeal' })
      t.equal((await ann('PUT', `${home}/${probe}/commands/${command}`, hold)).headers['idempotent-replayed'], 'true')
    })
  })
}
