import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions, Storage, Stored } from '../../lib/index.js'
import { dealbook, deals, defineFamily, defineQuery, memoryStorage, Problem } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'

const home = '/rest/v1/deals'

async function makeApp (t: { teardown (end: () => unknown): void }, options: Partial<FamilyOptions> = {}) {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  await app.register(dealbook, { storage, version: 'v1', ...options })
  return { app, storage }
}

/** One address of every kind of read; those of one resource and those of a list. */
function listReads (id: string): { readonly url: string, readonly isList: boolean }[] {
  return [
    { url: home, isList: true },
    { url: `${home}.json`, isList: true },
    { url: `${home}/${id}`, isList: false },
    { url: `${home}/${id}.json`, isList: false },
    { url: `${home}/${id}/commands`, isList: true },
    { url: `${home}/${id}/commands.json`, isList: true },
    { url: `${home}/${id}/commands/c-1`, isList: false },
    { url: `${home}/${id}/holds`, isList: true },
    { url: `${home}/${id}/holds/c-1`, isList: false },
    { url: '/rest/commands/c-1', isList: false },
    { url: '/query/deals-by-name/tea', isList: true },
    { url: `/query/deals/${id}`, isList: true },
    { url: '/customers', isList: true },
    { url: '/customers/1', isList: false }
  ]
}

// What a query can be wrong by; every answer to it tells something of what is here.
const wrong = ['nonsense=1', 'page=0', 'sort=nonsense', 'fields=nonsense', 'count=1', 'id.regex=(', '%zz', 'min-id=%00']

t.test('a refused caller learns nothing of queries, on any path', async t => {
  const asked: string[] = []
  const { app } = await makeApp(t, {
    authorize (request) {
      asked.push(request.url)
      throw new Problem('unauthorized', 'Who are you?')
    }
  })
  for (const { url } of listReads('a')) {
    for (const query of wrong) {
      const answer = await app.inject(`${url}?${query}`)
      t.equal(answer.statusCode, 401, `${url}?${query}`)
      t.notMatch(answer.body, 'nonsense')
      t.equal(asked.at(-1), `${url}?${query}`)
    }
  }
})

t.test('the representation is negotiated before authorize is asked, on every path', async t => {
  let asked = 0
  const { app } = await makeApp(t, {
    authorize () {
      asked++
      throw new Problem('unauthorized', 'Who are you?')
    }
  })
  for (const { url } of listReads('a').filter(({ url }) => !url.endsWith('.json'))) {
    const byFormat = await app.inject(`${url}?format=zzz`)
    t.equal(byFormat.statusCode, 406, `${url}?format=zzz`)
    const byAccept = await app.inject({ url, headers: { accept: 'image/png' } })
    t.equal(byAccept.statusCode, 406, `${url} as image/png`)
  }
  t.equal(asked, 0)
})

t.test('an authorized caller learns what is wrong, before anything is read', async t => {
  const { app, storage } = await makeApp(t)
  const { id } = (await app.inject({ method: 'POST', url: home, payload: { name: 'tea', price: 1 } })).json()
  const payload = { action: 'HoldDeal', params: { reason: 'a' } }
  await app.inject({ method: 'PUT', url: `${home}/${id}/commands/c-1`, payload })
  let reads = 0
  for (const method of ['find', 'get'] as const) {
    const original = storage[method].bind(storage) as (...args: unknown[]) => Promise<never>
    storage[method] = async (...args: unknown[]) => { reads++; return await original(...args) }
  }
  for (const { url, isList } of listReads(id)) {
    const answer = await app.inject(`${url}?nonsense=1`)
    t.match(answer.json(), { status: 400, errors: [{ parameter: 'nonsense' }] }, url)
    if (isList) t.match(answer.json().detail, 'Fields that can be filtered', url)
  }
  t.equal(reads, 0)
})

t.test('what Accept refuses is not another resource', async t => {
  const asked: unknown[] = []
  const family = defineFamily({
    name: 'files',
    singular: 'file',
    fields: Type.Object({ id: Type.String(), size: Type.Integer() }),
    queries: { 'files-by-id': defineQuery({ field: 'id' }) }
  })
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  await loadItems(storage, family, [{ id: 'a', size: 1 }, { id: 'a.json', size: 20 }, { id: 'b', size: 3 }])
  await app.register(family, { storage, authorize: (_request, { id }) => { asked.push(id) } })
  const status = async (url: string, accept = '*/*') => (await app.inject({ url, headers: { accept } })).statusCode

  t.match((await app.inject('/files/a.json')).json(), { id: 'a.json', size: 20 })
  t.strictSame(asked.splice(0), ['a.json'])
  t.equal(await status('/files/a.json', 'image/png'), 406)
  t.strictSame(asked.splice(0), ['a.json'], 'it is this file that is asked for')
  t.equal(await status('/files/a.json?format=csv'), 406)
  t.equal(await status('/query/files-by-id/a.json', 'image/png'), 406)
  t.equal(await status('/files/b.json', 'image/png'), 200, 'here the suffix chooses')
  t.equal(await status('/query/files-by-id/a.json?max-size=15'), 404, 'an empty part of a list is no other list')
})

t.test('a name that ends like a suffix is the name first, and authorize is asked for each', async t => {
  const asked: unknown[] = []
  const { app } = await makeApp(t, { authorize: (_request, { id }) => { asked.push(id) } })
  const miss = async (url: string, accept = '*/*') => (await app.inject({ url, headers: { accept } })).json()

  t.match(await miss(`${home}/a.json`), { status: 404, detail: 'There is no deal "a"' })
  t.same(asked.splice(0), ['a.json', 'a'])
  t.match(await miss(`${home}/a.zzz`), {
    status: 404,
    detail: /^There is no deal "a\.zzz"\. There is no representation "\.zzz"; available/
  })
  t.same(asked.splice(0), ['a.zzz'], 'what has no representation is not asked for')
  t.match(await miss('/customers/1.zzz'), { status: 404, detail: /no representation "\.zzz"/ })
  t.same(asked.splice(0), [], 'nothing can have this name')
  t.match(await miss(`${home}/a.json`, 'image/png'), { status: 404, detail: 'There is no deal "a"' })
  t.match(await miss('/customers/1.zzz', 'image/png'), { status: 404, detail: /no representation "\.zzz"/ })
  t.match(await miss('/customers/9.json'), { status: 404, detail: 'There is no customer "9"' })
  t.match(await miss(`${home}/1.5`), { status: 404, detail: /^There is no deal "1\.5"\. There is no representation/ })
  t.match(await miss('/query/customers-by-age/99.json'), { status: 404, detail: /^There are no .* age is "99"$/ })
  t.match(await miss('/query/customers-by-age/30.zzz'), { status: 404, detail: /no representation "\.zzz"/ })
  t.match(await miss('/query/deals-by-name/a.b'), { status: 404, detail: 'There are no deals whose name is "a.b"' })
})

t.test('two meanings of a path with one intent are authorized once', async t => {
  const asked: string[] = []
  const { app } = await makeApp(t, { authorize: (_request, { action }) => { asked.push(action) } })
  const made = await app.inject({ method: 'POST', url: home, payload: { name: 'Tea', price: 1 } })
  const url = made.headers.location as string
  await app.inject({ method: 'PUT', url: `${url}/commands/c-1`, payload: { action: 'UnholdDeal' } })
  asked.splice(0)
  t.match((await app.inject(`${url}/commands/c-1.json`)).json(), { id: 'c-1' })
  t.strictSame(asked.splice(0), ['read'])
  t.equal((await app.inject(`${url}/commands/c-2.json`)).statusCode, 404)
  t.strictSame(asked.splice(0), ['read'])
})

t.test('a replica answers what is only read, if it has what the client has seen', async t => {
  const inner = memoryStorage()
  const asked: unknown[] = []
  const show = (item: Stored | undefined) => item && { ...item, name: 'of a replica' }
  const storage: Storage = {
    ...inner,
    seen: async () => 'token-2',
    replica (seen) {
      asked.push(seen)
      return {
        get: async (...args) => show(await inner.get(...args)),
        async find (...args) {
          const found = await inner.find(...args)
          return { ...found, items: found.items.map(item => show(item) as Stored) }
        }
      }
    }
  }
  const { app } = await makeApp(t, { storage })
  const made = await app.inject({ method: 'POST', url: home, payload: { name: 'Tea', price: 1 } })
  const { id } = made.json<{ id: string }>()
  t.strictSame([made.headers['dealbook-seen'], made.json().name, asked], ['token-2', 'Tea', []], 'not a write')
  const read = async (url: string, headers = {}) => (await app.inject({ url, headers })).json()
  t.equal((await read(`${home}/${id}`)).name, 'of a replica')
  t.equal((await read(home, { 'dealbook-seen': 'token-1' })).items[0].name, 'of a replica')
  t.strictSame(asked, [undefined, 'token-1'])
  t.equal((await deals.service({ storage }).get(id)).name, 'Tea', 'nor a program')
})
