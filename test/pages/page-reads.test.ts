import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { type Intent, memoryStorage, Problem, type Storage } from '../../lib/index.js'
import { anyStorage } from '../storages.js'
import { accept, createOrder, openShop, post } from './shop.js'

/** A storage that lists what it is asked. */
function listen (inner: Storage): { readonly storage: Storage, readonly asked: string[] } {
  const { findText } = inner
  const asked: string[] = []
  const note = (...given: readonly unknown[]): void => { asked.push(JSON.stringify(given)) }
  return {
    asked,
    storage: {
      ...inner,
      find (family, query, signal) {
        note('find', family, query)
        return inner.find(family, query, signal)
      },
      get (family, id, signal) {
        note('get', family, id)
        return inner.get(family, id, signal)
      },
      ...findText && {
        findText (family, query, members, signal, names) {
          note('findText', family, query, members)
          return findText.call(inner, family, query, members, signal, names)
        }
      }
    }
  }
}

const repeated = (asked: readonly string[]): string[] => asked.filter((each, index) => asked.indexOf(each) !== index)

for (const { name, make } of anyStorage) {
  t.test(`${name}: a page reads nothing twice`, async t => {
    const { storage: inner, dispose } = await make()
    t.teardown(dispose)
    const { storage, asked } = listen(inner)
    const { app, ids: { clients: [client, other], plants: [plant, another] } } = await openShop(t, storage)
    const { id } = await createOrder(app, { title: 'a', client, plant })
    await createOrder(app, { title: 'b', client: other, plant })
    const self = `/shop/orders/${id}`
    await app.inject({ method: 'PUT', url: `${self}/move`, payload: { plant: another } })
    const urls = [
      self, `${self}?expand=client`, `${self}/commands`, '/shop/orders', `/shop/orders?client=${client}`,
      '/shop/orders?maxpagesize=1', '/shop/orders/commands', `/shop/plants/${plant}`, '/shop/clients'
    ]
    for (const url of urls) {
      asked.length = 0
      t.equal((await app.inject({ url, headers: accept })).statusCode, 200, url)
      t.ok(asked.length > 0)
      t.strictSame(repeated(asked), [], url)
    }
    asked.length = 0
    t.equal((await post(app, `${self}/moves`, { plant: 'x' })).statusCode, 400)
    t.strictSame(repeated(asked), [], 'the page of a refused form')
  })
}

t.test('a page asks authorize nothing twice', async t => {
  const asked: string[] = []
  const refused = new Set<string>()
  const authorize = (_request: unknown, intent: Intent): void => {
    asked.push(JSON.stringify(intent))
    if (refused.has(`${intent.action} ${intent.family}`)) throw new Problem('forbidden', 'Not you')
  }
  const { app, ids: { clients: [client], plants: [plant] } } = await openShop(t, memoryStorage(), { authorize })
  const { id } = await createOrder(app, { title: 'a', client, plant })
  const self = `/shop/orders/${id}`
  const urls = [
    '/shop/', self, `${self}/commands`, `${self}/operations`, '/shop/orders', `/shop/orders?client=${client}`,
    '/shop/orders/commands', '/shop/rest/commands', `/shop/clients/${client}`, '/shop/clients'
  ]
  for (const [which, actions] of Object.entries({ all: [], some: ['list clients'] })) {
    for (const action of actions) refused.add(action)
    for (const url of urls) {
      asked.length = 0
      const { statusCode } = await app.inject({ url, headers: accept })
      t.equal(statusCode, which === 'some' && url === '/shop/clients' ? 403 : 200, url)
      t.ok(asked.length > 0)
      t.strictSame(repeated(asked), [], `${which}: ${url}`)
    }
  }
})

/** A client changes an item after it was read, and before the end of the log is. */
function changeOnce (inner: Storage, change: () => Promise<void>): Storage {
  let changing: Promise<void> | undefined
  return {
    ...inner,
    async get (family, id, signal) {
      const item = await inner.get(family, id, signal)
      if (family === 'orders') await (changing ??= change())
      return item
    },
    async find (family, query, signal) {
      await setImmediate()
      await changing
      return await inner.find(family, query, signal)
    }
  }
}

const cursorOf = (page: string): string => /commands\?after=([^"&]*)/.exec(page)?.[1] ?? ''

t.test('a page of an item that changes while it is read shows the change', async t => {
  const inner = memoryStorage()
  const { app, ids: { clients: [client] } } = await openShop(t, inner)
  const see = async (change: () => Promise<unknown>, url: string) => {
    const storage = changeOnce(inner, async () => { await change() })
    const { app } = await openShop(t, storage, { counts: [0, 0] })
    return await app.inject({ url, headers: accept })
  }
  const { id } = await createOrder(app, { title: 'Before', client })
  const self = `/shop/orders/${id}`
  const price = () => app.inject({ method: 'PUT', url: `${self}/price`, payload: { total: '7.50' } })
  const { body } = await see(price, self)
  t.match(body, 'name="_revision" value="2"')
  t.match(body, '7.50')
  t.not(cursorOf(body), '')
  t.equal(cursorOf(body), cursorOf((await app.inject({ url: self, headers: accept })).body))
  const gone = await see(() => app.inject({ method: 'DELETE', url: self }), self)
  t.equal(gone.statusCode, 404)
})
