import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions, Intent, Storage } from '../../lib/index.js'
import { deals, memoryStorage } from '../../lib/index.js'
import { home } from '../deals/app.js'

type Method = 'find' | 'get' | 'commit'

interface HangingStorage {
  readonly storage: Storage
  readonly signals: unknown[]
  hang (...methods: Method[]): void
  letGo (): void
}

/** A storage in which methods can be made to hang until they are let go, and the signals that reads were given. */
function hangingStorage (): HangingStorage {
  const inner = memoryStorage()
  let hanging: Method[] = []
  let waiting: (() => void)[] = []
  const signals: unknown[] = []
  const wait = async (method: Method): Promise<void> => {
    if (hanging.includes(method)) await new Promise<void>(resolve => { waiting.push(resolve) })
  }
  return {
    signals,
    hang (...methods) { hanging = methods },
    letGo () {
      hanging = []
      for (const resolve of waiting.splice(0)) resolve()
      waiting = []
    },
    storage: {
      ...inner,
      async find (family, query, signal) {
        signals.push(signal)
        await wait('find')
        return await inner.find(family, query)
      },
      async get (family, id) {
        await wait('get')
        return await inner.get(family, id)
      },
      async commit (changes) {
        await wait('commit')
        await inner.commit(changes)
      }
    }
  }
}

async function appOn (
  t: { teardown (close: () => Promise<unknown>): void },
  storage: Storage,
  options: Partial<FamilyOptions> = {}
): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(deals, { storage, version: 'v1', timeout: 200, ...options })
  return app
}

/** Made without a deadline, whatever the machine is at. */
async function createDeal (storage: Storage): Promise<{ readonly id: string }> {
  return (await deals.service({ storage }).create({ name: 'Tea', price: 100 })).item
}

t.test('a read that takes too long is 503, and its signal is aborted', async t => {
  const { storage, hang, letGo, signals } = hangingStorage()
  const app = await appOn(t, storage)
  const { id } = await createDeal(storage)
  hang('find', 'get')
  for (const url of [home, `${home}?sort=-price`, `${home}/${id}`, `${home}/${id}/commands`, `${home}.csv`]) {
    const answer = await app.inject(url)
    t.equal(answer.statusCode, 503, url)
    t.match(answer.json(), { type: 'urn:dealbook:problem:timeout', detail: /longer than 200 ms/ })
    t.equal(answer.headers['retry-after'], '1')
  }
  t.ok(signals.length > 0 && signals.every(signal => (signal as AbortSignal).aborted))
  t.ok(signals.every(signal => signal instanceof AbortSignal), 'a signal of the platform')
  letGo()
  t.match(await deals.service({ storage }).get(id), { id })
})

t.test('a write that takes too long before its commit has done nothing', async t => {
  const { storage, hang, letGo } = hangingStorage()
  const app = await appOn(t, storage)
  const { id } = await createDeal(storage)
  hang('get')
  const answer = await app.inject({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } })
  t.equal(answer.statusCode, 503)
  t.match(answer.json(), { type: 'urn:dealbook:problem:timeout', detail: /nothing was changed/ })
  letGo()
  await new Promise(resolve => setImmediate(resolve))
  t.match(await deals.service({ storage }).get(id), { held: false, revision: 1 })
})

t.test('one whose commit takes too long may have been done, and is found by its id', async t => {
  const { storage, hang, letGo } = hangingStorage()
  const told: string[] = []
  const app = await appOn(t, storage, { timeout: 3000, onCommitted: ({ action }) => { told.push(action) } })
  // The same items, with less time: who waits there waits behind the others.
  await app.register(deals, { storage, version: 'v1', prefix: '/hasty', timeout: 50 })
  const { id } = await createDeal(storage)
  const payload = { action: 'HoldDeal', params: { reason: 'a' } }
  const put = { method: 'PUT', url: `${home}/${id}/commands/c1`, payload }
  hang('commit')
  const [first, second, retry, all] = await Promise.all([
    app.inject(put as never),
    app.inject({ method: 'PUT', url: `/hasty${home}/${id}/change-price`, payload: { newPrice: 7, reason: 'a' } }),
    app.inject({ ...put, url: `/hasty${put.url}` } as never),
    app.inject({
      method: 'POST',
      url: '/hasty/rest/commands',
      payload: { atomic: true, commands: [{ ...payload, deal: id, id: 'c1' }] }
    })
  ])
  t.equal(first?.statusCode, 503)
  t.match(first?.json(), { type: 'urn:dealbook:problem:timeout', detail: /may have been made: send it again/ })
  t.equal(first?.headers['retry-after'], '1')
  t.equal(second?.statusCode, 503, 'who waits behind it')
  t.match(second?.json(), { detail: /nothing was changed/ })
  for (const again of [retry, all]) {
    t.equal(again?.statusCode, 503)
    t.equal(again?.json().detail, 'It took longer than 50 ms. The change may have been made: ' +
      'send it again with the same id to find out', 'a retry, while the first attempt waits')
  }
  t.strictSame(told, [])
  letGo()
  while (told.length < 1) await new Promise(resolve => setImmediate(resolve))
  t.strictSame(told, ['HoldDeal'], 'the host is notified of the late commit')
  const again = await app.inject(put as never)
  t.equal(again.headers['idempotent-replayed'], 'true')
  const deal = (await app.inject(`${home}/${id}`)).json()
  t.strictSame([deal.held, deal.price, deal.revision], [true, 100, 2])
})

t.test('what is read for the conditions of a grant has a deadline too', async t => {
  const inner = memoryStorage()
  let hanging = false
  const never = new Promise<never>(() => {})
  const storage: Storage = {
    ...inner,
    get: async (family, id) => await (hanging && family === 'deals' ? never : inner.get(family, id))
  }
  const where = [{ field: 'revision', op: 'gt', value: 0 }] as const
  const isRead = ({ action }: Intent): boolean => action === 'read'
  const app = await appOn(t, storage, { authorize: (_request, intent) => isRead(intent) ? { where } : {} })
  const headers = { 'idempotency-key': 'k1' }
  const create = { method: 'POST', url: home, headers, payload: { name: 'Tea', price: 1 } } as const
  const { id } = (await app.inject(create)).json()
  const payload = { action: 'HoldDeal', params: { reason: 'a' } }
  await app.inject({ method: 'PUT', url: `${home}/${id}/commands/c1`, payload })
  hanging = true
  const command = await app.inject('/rest/commands/c1')
  t.match(command.json(), { status: 503, type: 'urn:dealbook:problem:timeout' })
  const again = await app.inject(create)
  t.equal(again.statusCode, 201, 'it was created')
  t.equal(again.body, '', 'and it is unknown whether it may be shown')
})

t.test('the times are checked at boot', async t => {
  const wrong = [{ timeout: 0 }, { timeout: 1.5 }, { timeout: -1 }, { timeout: 2 ** 31 }]
  for (const options of wrong) {
    const [name] = Object.keys(options) as [string]
    await t.rejects(appOn(t, memoryStorage(), options), new RegExp(`the option "${name}" must be`))
  }
})
