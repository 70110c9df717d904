import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { memoryStorage, Problem } from '../../lib/index.js'
import type { Entry, TestRequest, TestResponse } from '../deals/app.js'
import { createDeal, dealsApp, home, readDeal, readLog } from '../deals/app.js'
import { recordingStorage } from '../recording-storage.js'
import { anyStorage } from '../storages.js'

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const holdIt = { action: 'HoldDeal', params: { reason: 'Papers are missing' } }

for (const { name, make } of anyStorage) {
  t.test(name, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await dealsApp(storage)
    const put = async (id: string, command: string, payload: object = holdIt): Promise<TestResponse> =>
      await app.inject({ method: 'PUT', url: `${home}/${id}/commands/${command}`, payload })
    const putShared = async (deal: string, command: string, payload: object = holdIt): Promise<TestResponse> =>
      await app.inject({ method: 'PUT', url: `/rest/commands/${command}`, payload: { deal, ...payload } })

    t.test('ids are 1 to 100 of some characters', async t => {
      const ok = ['a', 'Z', '0', '-', '_', '~', '.a', 'a.json', 'x'.repeat(100), 'A-Z_a~z.0-9', randomUUID()]
      for (const command of ok) {
        const { id } = await createDeal(app)
        const answer = await put(id, command)
        t.equal(answer.statusCode, 201, command)
        t.equal(answer.json<Entry>().id, command)
        const read = async (url: string): Promise<object> => {
          const { changes, ...entry } = (await app.inject(url)).json<Entry & { changes: object }>()
          t.strictSame(changes, { held: { from: false, to: true }, holdReason: { to: 'Papers are missing' } })
          return entry
        }
        t.strictSame(
          await read(answer.headers.location as string), answer.json(), 'it can be read where it is said to be'
        )
        t.strictSame(await read(`/rest/commands/${command}`), answer.json(), 'and among all commands')
      }
      const { id } = await createDeal(app)
      for (const command of ['a b', 'ä', 'a/b', 'a:b', 'a+b', 'a%', '\u0000', 'x'.repeat(101)]) {
        const answer = await put(id, encodeURIComponent(command))
        t.ok([400, 404, 414].includes(answer.statusCode), `${JSON.stringify(command)}: ${answer.statusCode}`)
      }
      t.equal((await readDeal(app, id)).revision, 1)
    })

    t.test('a command put again, by either address, is answered again and not done again', async t => {
      const { id } = await createDeal(app)
      const command = randomUUID()
      const first = await put(id, command)
      t.equal(first.statusCode, 201)
      t.equal(first.headers['idempotent-replayed'], undefined)
      await app.inject({ method: 'PUT', url: `${home}/${id}/unhold` })
      for (const again of [await put(id, command), await putShared(id, command), await put(id, command)]) {
        t.equal(again.statusCode, 200)
        t.equal(again.body, first.body, 'the same body')
        t.equal(again.headers['idempotent-replayed'], 'true')
        t.equal(again.headers.location, undefined)
      }
      t.match(await readDeal(app, id), { held: false, revision: 3 }, 'the hold is not done again')
      const stale = await app.inject({
        method: 'PUT',
        url: `${home}/${id}/commands/${command}`,
        headers: { 'if-match': '"99"' },
        payload: holdIt
      })
      t.equal(stale.statusCode, 200, 'recognised before If-Match')
      const brief = await app.inject({
        method: 'PUT',
        url: `${home}/${id}/commands/${command}`,
        headers: { prefer: 'return=minimal' },
        payload: holdIt
      })
      t.equal(brief.statusCode, 204)
      t.equal(brief.body, '')
    })

    t.test('the same content may be written differently', async t => {
      const { id } = await createDeal(app)
      const command = randomUUID()
      await put(id, command, { action: 'CancelDeal', params: { amercement: 0, reason: 'a' } })
      const again = await app.inject({
        method: 'PUT',
        url: `${home}/${id}/commands/${command}`,
        headers: { 'content-type': 'application/json' },
        payload: '{ "params": { "reason": "\\u0061", "amercement": -0.0 }, "action": "CancelDeal" }'
      })
      t.equal(again.statusCode, 200)
      const unhold = randomUUID()
      const other = await createDeal(app)
      t.equal((await put(other.id, unhold, { action: 'UnholdDeal' })).json<Entry>().outcome, 'unchanged')
      t.equal(
        (await put(other.id, unhold, { action: 'UnholdDeal', params: {} })).statusCode,
        200,
        'no params are empty params'
      )
    })

    t.test('a refused command is recorded, and refused again when it would be allowed', async t => {
      const { id } = await createDeal(app)
      const command = randomUUID()
      await app.inject({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'first' } })
      const first = await put(id, command, { action: 'CompleteDeal' })
      t.equal(first.statusCode, 409)
      t.equal(first.headers['idempotent-replayed'], undefined)
      await app.inject({ method: 'PUT', url: `${home}/${id}/unhold` })
      for (const again of [
        await put(id, command, { action: 'CompleteDeal' }),
        await putShared(id, command, { action: 'CompleteDeal' })
      ]) {
        t.equal(again.statusCode, 409)
        t.equal(again.headers['idempotent-replayed'], 'true')
        t.match(again.json(), {
          detail: first.json<{ detail: string }>().detail,
          state: 'held',
          operation: 'complete',
          allowed: ['unhold', 'cancel', 'edit']
        })
      }
      t.match(await readDeal(app, id), { status: 'open', revision: 3 })
      const read = await app.inject(`${home}/${id}/commands/${command}`)
      t.equal(read.statusCode, 200)
      t.match(read.json(), {
        id: command,
        deal: id,
        action: 'CompleteDeal',
        outcome: 'refused',
        revision: 2,
        problem: { status: 409, state: 'held', type: 'urn:dealbook:problem:wrong-state' }
      })
      t.equal(
        (await app.inject(`${home}/${id}/completions/${command}`)).statusCode,
        404,
        'what was refused is no completion'
      )
      t.equal((await put(id, randomUUID(), { action: 'CompleteDeal' })).statusCode, 201, 'a new id is a new command')
    })

    t.test('an Idempotency-Key on every write', async t => {
      const { id } = await createDeal(app)
      const url = `${home}/${id}`
      const keyed = async (url: string, payload: object, key: string, method: Method = 'POST'): Promise<TestResponse> =>
        await app.inject({ method, url, headers: { 'idempotency-key': key }, payload })
      const writes: readonly (readonly [Method, string, object, number])[] = [
        ['POST', `${home}/`, { name: 'Keyed', price: 1 }, 201],
        ['POST', `${url}/holds`, { reason: 'a' }, 201],
        ['POST', '/command/UnholdDeal/', { id }, 200],
        ['POST', '/command/CreateDeal/', { name: 'Commanded', price: 1 }, 200],
        ['POST', `${url}/unholds`, {}, 200],
        ['PATCH', url, { name: 'b' }, 200],
        ['PUT', url, { name: 'c' }, 200],
        ['PUT', url, { name: 'c', held: false }, 200],
        ['PATCH', url, {}, 200],
        ['PUT', `${url}/edit`, { name: 'd' }, 200],
        ['PUT', `${url}/edit`, { name: 'e' }, 200],
        ['POST', '/command/DeleteDeal/', { id: (await createDeal(app)).id }, 200],
        ['DELETE', url, {}, 204]
      ]
      const send = async (index: number): Promise<TestResponse> => {
        const [method, url, payload] = writes[index] as typeof writes[number]
        return await keyed(url, payload, `${id} ${index}`, method)
      }
      const firsts: TestResponse[] = []
      for (const [index, [, , , status]] of writes.entries()) {
        const first = await send(index)
        firsts.push(first)
        t.strictSame([first.statusCode, first.headers['idempotent-replayed']], [status, undefined], String(index))
      }
      const log = await readLog(app, id)
      // Every first answer again, though the deal has changed since, and is gone.
      for (const [index, first] of firsts.entries()) {
        const again = await send(index)
        t.strictSame([again.statusCode, again.body], [first.statusCode, first.body], String(index))
        for (const name of ['location', 'content-location', 'etag']) t.equal(again.headers[name], first.headers[name])
        t.equal(again.headers['idempotent-replayed'], 'true')
        const [method, url, payload] = writes[(index + 1) % writes.length] as typeof writes[number]
        t.equal((await keyed(url, payload, `${id} ${index}`, method)).statusCode, 422, 'and nothing else under its key')
      }
      t.strictSame(await readLog(app, id), log)
      t.strictSame(log.map(({ action, outcome }) => [action, outcome]), [
        ['CreateDeal', 'done'],
        ['HoldDeal', 'done'],
        ['UnholdDeal', 'done'],
        ['UnholdDeal', 'unchanged'],
        ['EditDeal', 'done'],
        ['EditDeal', 'done'],
        ['UpdateDeal', 'unchanged'],
        ['UpdateDeal', 'unchanged'],
        ['EditDeal', 'done'],
        ['EditDeal', 'done'],
        ['DeleteDeal', 'done']
      ])
      t.equal((await app.inject(`${home}?name=Keyed`)).json<{ items: unknown[] }>().items.length, 1)

      const other = await createDeal(app)
      await app.inject({ method: 'PUT', url: `${home}/${other.id}/complete` })
      const refused = await keyed(`${home}/${other.id}/holds`, { reason: 'a' }, `hold ${other.id}`)
      const again = await keyed(`${home}/${other.id}/holds`, { reason: 'a' }, `hold ${other.id}`)
      t.strictSame(
        [refused.statusCode, again.statusCode, again.headers['idempotent-replayed']],
        [409, 409, 'true'],
        'a refusal too'
      )
      t.equal(
        (await keyed(`${home}/${other.id}/holds`, { reason: 'a' }, `"hold ${other.id}"`)).headers[
          'idempotent-replayed'
        ],
        'true',
        'quoted or not'
      )
    })

    t.test('a command that was first sent in a form without the deal in its answer', async t => {
      const { id } = await createDeal(app)
      const headers = { 'idempotency-key': randomUUID() }
      const url = `${home}/${id}`
      const send = async (method: Method, path: string, payload: object, more = {}): Promise<TestResponse> =>
        await app.inject({ method, url: url + path, payload, headers: { ...headers, ...more } })
      t.equal((await send('POST', '/holds', holdIt.params)).statusCode, 201)
      await app.inject({ method: 'PUT', url: `${url}/edit`, payload: { name: 'Later' } })
      for (const [path, payload] of [['/hold', holdIt.params], ['', holdIt]] as const) {
        const again = await send('PUT', path, payload)
        t.match(again.json(), { id, name: 'Later', revision: 3, links: { self: url } }, 'the deal as it is now')
        t.match(again.headers, { 'idempotent-replayed': 'true', 'content-location': url })
        t.equal(again.statusCode, 200)
      }
      await app.inject({ method: 'DELETE', url })
      const gone = await send('PUT', '/hold', holdIt.params, { prefer: 'return=representation' })
      t.strictSame([gone.statusCode, gone.body, gone.headers['idempotent-replayed']], [204, '', 'true'])
      t.notOk(gone.headers['content-location'] ?? gone.headers['preference-applied'], 'there is no deal to show')
    })

    t.test('the answer to a creation is given again after the deal has changed', async t => {
      const request = {
        method: 'POST',
        url: home,
        headers: { 'idempotency-key': randomUUID() },
        payload: { name: 'Changing', price: 1 }
      } as const
      const first = await app.inject(request)
      await app.inject({ method: 'PUT', url: `${first.headers.location as string}/hold`, payload: { reason: 'a' } })
      const again = await app.inject(request)
      t.equal(again.body, first.body)
      t.equal(again.headers.etag, '"1-json"')
      t.equal(again.headers['last-modified'], first.headers['last-modified'])
      await app.inject({ method: 'DELETE', url: first.headers.location as string })
      t.equal((await app.inject(request)).body, first.body, 'and after it is gone')
    })

    t.test('a log is read as pages, with the query grammar', async t => {
      const { id } = await createDeal(app)
      for (const newPrice of [1, 2, 3]) {
        await app.inject({ method: 'PUT', url: `${home}/${id}/change-price`, payload: { newPrice, reason: 'a' } })
      }
      await put(id, `h-${id}`)
      await put(id, `r-${id}`, { action: 'CompleteDeal' })
      await app.inject({ method: 'DELETE', url: `${home}/${id}` })
      const read = async (query: string, part = 'commands'): Promise<unknown[]> =>
        (await app.inject(`${home}/${id}/${part}${query}`))
          .json<{ items: Entry[] }>()
          .items.map(({ action, revision }) => `${action} ${revision}`)

      const all = [
        'CreateDeal 1',
        'ChangeDealPrice 2',
        'ChangeDealPrice 3',
        'ChangeDealPrice 4',
        'HoldDeal 5',
        'CompleteDeal 5',
        'DeleteDeal 6'
      ]
      t.strictSame(await read(''), all, 'all of it, in order, though the deal is gone')
      t.strictSame(await read('?sort=-revision&maxpagesize=1'), ['DeleteDeal 6'])
      t.strictSame(await read('?revision>=5&outcome=done'), ['HoldDeal 5', 'DeleteDeal 6'])
      t.strictSame(await read('?outcome=refused'), ['CompleteDeal 5'])
      t.strictSame(await read('?action=HoldDeal&action=DeleteDeal'), ['HoldDeal 5', 'DeleteDeal 6'])
      t.strictSame(await read('?action.regex=Price$&max-revision=3'), ['ChangeDealPrice 2', 'ChangeDealPrice 3'])
      t.strictSame(
        await read('', 'price-changes'),
        ['ChangeDealPrice 2', 'ChangeDealPrice 3', 'ChangeDealPrice 4'],
        'nouns are views of it'
      )
      t.strictSame(await read('', 'holds'), ['HoldDeal 5'])
      t.strictSame(await read('', 'completions'), [], 'without what was refused')
      t.equal((await app.inject(`${home}/${id}/holds/h-${id}`)).statusCode, 200)
      t.equal((await app.inject(`${home}/${id}/unholds/h-${id}`)).statusCode, 404, 'a hold is no unhold')
      t.equal(
        (await app.inject(`${home}/${(await createDeal(app)).id}/commands/h-${id}`)).statusCode,
        404,
        'nor is it in another deal'
      )
      t.equal((await app.inject(`${home}/${id}/commands?colour=red`)).statusCode, 400)
      t.equal((await app.inject(`${home}/${randomUUID()}/commands`)).statusCode, 404, 'no deal, no log')

      const crawled: unknown[] = []
      let next: string | undefined = `${home}/${id}/commands?maxpagesize=2`
      while (next !== undefined) {
        const page: { items: Entry[], links: { next?: string } } = (await app.inject(next)).json()
        crawled.push(...page.items.map(({ action, revision }) => `${action} ${revision}`))
        next = page.links.next
      }
      t.strictSame(crawled, all, 'page by page')

      const entry = await app.inject(`${home}/${id}/commands/h-${id}`)
      t.equal(
        (
          await app.inject({
            url: `${home}/${id}/commands/h-${id}`,
            headers: { 'if-none-match': entry.headers.etag as string }
          })
        ).statusCode,
        304
      )
      t.strictSame((await app.inject(`${home}/${id}/commands/h-${id}?fields=id,outcome`)).json(), {
        id: `h-${id}`,
        outcome: 'done'
      })
      t.equal((await app.inject(`${home}/${id}/commands/h-${id}.json`)).body, entry.body)
    })

    t.test('a deal is created with or without the slash, and deleted', async t => {
      for (const url of [home, `${home}/`]) {
        const answer = await app.inject({
          method: 'POST',
          url,
          payload: { name: 'A', price: 0, completionDate: '2028-02-29' }
        })
        t.equal(answer.statusCode, 201)
        const { id, createdAt, updatedAt, links, ...rest } = answer.json<Record<string, unknown>>()
        t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, 'a UUID of version 7')
        t.strictSame(rest, {
          name: 'A',
          price: 0,
          held: false,
          status: 'open',
          completionDate: '2028-02-29',
          revision: 1
        })
        t.equal(createdAt, updatedAt)
        const self = `${home}/${id as string}`
        t.strictSame(links, { self, collection: home, log: `${self}/commands`, operations: `${self}/operations` })
        t.equal(answer.headers.location, self)
        const read = await app.inject(self)
        t.equal(answer.body, read.body, 'the same, as the tag says')
        t.equal(answer.headers.etag, read.headers.etag)
        t.equal(answer.headers.etag, '"1-json"')
        t.equal(answer.headers['last-modified'], read.headers['last-modified'])
        const brief = await app.inject({
          method: 'POST',
          url,
          headers: { prefer: 'return=minimal' },
          payload: { name: 'B', price: 1 }
        })
        t.strictSame([brief.statusCode, brief.body, brief.headers['preference-applied']], [201, '', 'return=minimal'])
        t.ok(brief.headers.location)
        t.ok(brief.headers.etag)

        const gone = await app.inject({ method: 'DELETE', url: self, headers: { 'if-match': '"1-json"' } })
        t.strictSame([gone.statusCode, gone.body], [204, ''])
        t.equal((await app.inject(self)).statusCode, 404)
        t.equal((await app.inject({ method: 'DELETE', url: self })).statusCode, 404)
        t.equal((await put(id as string, randomUUID())).statusCode, 404, 'no command for what is gone')
        t.strictSame(
          (await readLog(app, id as string)).map(({ action, params, revision }) => ({ action, params, revision })),
          [
            { action: 'CreateDeal', params: { name: 'A', price: 0, completionDate: '2028-02-29' }, revision: 1 },
            { action: 'DeleteDeal', params: {}, revision: 2 }
          ]
        )
      }
    })

    t.test('creating and deleting as commands', async t => {
      const created = await app.inject({
        method: 'POST',
        url: '/command/CreateDeal/',
        payload: { name: 'C', price: 1 }
      })
      t.strictSame([created.statusCode, created.body], [200, ''])
      const self = created.headers.location as string
      t.match((await app.inject(self)).json(), { name: 'C', revision: 1 })
      const id = self.slice(home.length + 1)
      t.equal(
        (
          await app.inject({
            method: 'POST',
            url: '/command/DeleteDeal',
            headers: { 'if-match': '"2"' },
            payload: { id }
          })
        ).statusCode,
        412
      )
      const deleted = await app.inject({ method: 'POST', url: '/command/DeleteDeal', payload: { id } })
      t.strictSame([deleted.statusCode, deleted.body], [200, ''])
      t.equal((await app.inject(self)).statusCode, 404)
    })

    t.test('attributes', async t => { await attributes(t, app) })

    t.test('results', async t => {
      const title = randomUUID()
      const { id } = await createDeal(app, { name: title })
      const deal = await readDeal(app, id)
      for (const url of [`/query/deals/${id}`, `/query/deals/${id}/`, `/query/deals-by-name/${title}`]) {
        t.strictSame((await app.inject(url)).json(), [deal], url)
      }
      t.ok(
        (await app.inject(`/query/deals-by-status/open?maxpagesize=1000&name=${title}`)).json<unknown[]>().length === 1
      )
      for (const url of [
        '/query/deals/none',
        `/query/deals/${randomUUID()}`,
        '/query/deals-by-name/none',
        `/query/deals-by-status/cancelled?name=${title}`
      ]) {
        const answer = await app.inject(url)
        t.equal(answer.statusCode, 404, url)
        t.match(answer.json(), { type: 'urn:dealbook:problem:empty-list' })
      }
      t.equal((await app.inject('/query/deals-by-status/closed')).statusCode, 400, 'no status is called so')
    })
  })
}

t.test('an answer is given again from the log, though the deal cannot be read', async t => {
  const events: string[] = []
  const storage = memoryStorage()
  let isFailing = false
  const app = await dealsApp(recordingStorage(events, {
    ...storage,
    async get (family, id) {
      if (isFailing && family === 'deals') throw new Error('down')
      return await storage.get(family, id)
    }
  }))
  const { id } = await createDeal(app)
  const unhold = { action: 'UnholdDeal', params: {} }
  const withKey = (): { headers: Record<string, string> } => ({ headers: { 'idempotency-key': randomUUID() } })
  const requests: TestRequest[] = [
    { method: 'PUT', url: `${home}/${id}/commands/c1`, payload: holdIt },
    { method: 'PUT', url: '/rest/commands/c2', payload: { deal: id, ...unhold } },
    { method: 'POST', url: `${home}/${id}/holds`, payload: holdIt.params, ...withKey() },
    { method: 'POST', url: '/command/UnholdDeal/', payload: { id }, ...withKey() },
    { method: 'POST', url: home, payload: { name: 'a', price: 1 }, ...withKey() }
  ]
  for (const request of requests) {
    const name = `${String(request.method)} ${String(request.url)}`
    t.equal((await app.inject(request)).headers['idempotent-replayed'], undefined, name)
    events.length = 0
    isFailing = true
    t.equal((await app.inject(request)).headers['idempotent-replayed'], 'true', name)
    isFailing = false
    t.strictSame(events, [...request.url === home ? [] : ['get deals'], 'get commands'], name)
  }
})

t.test('whether a command of someone else exists is not said, but a failure is', async t => {
  let refusal: Error | undefined
  const app = await dealsApp(memoryStorage(), {
    authorize ({ headers }, { action, id }) {
      if (action === 'read' && id !== undefined && refusal !== undefined) throw refusal
      return { principal: headers['x-user'] as string }
    }
  })
  t.teardown(() => app.close())
  const as = (user: string) => ({ headers: { 'x-user': user } })
  const { id } = (await app.inject({
    method: 'POST', url: home, payload: { name: 'a', price: 1 }, ...as('ann')
  })).json<{ id: string }>()
  const { items: [made] } = (await app.inject({ url: `${home}/${id}/commands`, ...as('bob') })).json<{
    items: Entry[]
  }>()
  const read = async (user: string): Promise<number> =>
    (await app.inject({ url: `/rest/commands/${String(made?.id)}`, ...as(user) })).statusCode
  for (const [error, ofAnn, ofBob] of [
    [undefined, 200, 200], [new Problem('forbidden', 'no'), 403, 404], [new Error('It burns'), 500, 500]
  ] as const) {
    refusal = error
    t.strictSame([await read('ann'), await read('bob')], [ofAnn, ofBob], error?.message ?? 'seen by all')
  }
})

/** What differs from the deal is turned into the operation that it stands for. */
async function attributes (
  t: Pick<typeof import('tap').t, 'strictSame' | 'equal' | 'match'>,
  app: FastifyInstance
): Promise<void> {
  const { id } = await createDeal(app, { completionDate: '2030-01-01' })
  const url = `${home}/${id}`
  const put = async (payload: object): Promise<TestResponse> => await app.inject({ method: 'PUT', url, payload })
  const patch = async (payload: object): Promise<TestResponse> =>
    await app.inject({
      method: 'PATCH',
      url,
      headers: { 'content-type': 'application/merge-patch+json' },
      payload: JSON.stringify(payload)
    })
  const whole = async (): Promise<object> => await readDeal(app, id)

  t.equal(
    (await put(await whole())).json<{ revision: number }>().revision,
    1,
    'the whole deal as it is changes nothing'
  )
  t.equal((await put({})).statusCode, 200, 'nor does nothing')
  t.match(
    (await put({ ...(await whole()), held: true, holdReason: 'a' })).json(),
    { held: true, holdReason: 'a', revision: 2 },
    'the whole deal with a hold'
  )
  t.equal((await put({ held: true, holdReason: 'b' })).statusCode, 409, 'it is held already')
  t.equal((await put({ held: true })).statusCode, 200, 'held it is')
  t.equal((await patch({ holdReason: null })).statusCode, 400, 'a hold has a reason')
  t.match(
    (await put({ ...(await whole()), held: false })).json(),
    { held: false, revision: 3 },
    'the reason may stay as it was read'
  )
  await patch({ held: true, holdReason: 'c' })
  t.match(
    (await patch({ held: false, holdReason: null })).json(),
    { held: false, revision: 5 },
    'null takes the reason away'
  )
  t.strictSame(
    (await readLog(app, id)).map(({ action, params }) => [action, params]).slice(1),
    [
      ['HoldDeal', { reason: 'a' }],
      ['UnholdDeal', {}],
      ['HoldDeal', { reason: 'c' }],
      ['UnholdDeal', {}]
    ],
    'the log knows holds and unholds'
  )
}
