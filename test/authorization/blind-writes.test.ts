import type { FastifyInstance, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions, Grant, Intent } from '../../lib/index.js'
import { deals, memoryStorage, Problem } from '../../lib/index.js'
import type { TestRequest } from '../deals/app.js'
import { createDeal, home, readDeal } from '../deals/app.js'
import { forms } from '../deals/forms.js'
import { operation } from '../deals/operations.js'

const secret = 'Ten tons of tea'
const browser = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }

/** An application in which one who is not trusted is judged as the test says. */
async function guardedApp (
  t: { teardown (close: () => Promise<unknown>): void },
  judge: (intent: Intent) => Grant | undefined,
  lines: string[] = []
): Promise<{ app: FastifyInstance, intents: Intent[] }> {
  const intents: Intent[] = []
  const app = Fastify({ logger: { level: 'error', stream: { write: line => { lines.push(line) } } } })
  t.teardown(() => app.close())
  const authorize: FamilyOptions['authorize'] = (request: FastifyRequest, intent) => {
    if (request.headers.blind !== 'yes') return undefined
    intents.push(intent)
    return judge(intent)
  }
  app.register(deals, { storage: memoryStorage(), version: 'v1', authorize })
  await app.ready()
  return { app, intents }
}

const refuseReading = ({ action }: Intent): undefined => {
  if (action === 'read') throw new Problem('forbidden', 'You may not read deals')
}

const blindly = (request: TestRequest): TestRequest =>
  ({ ...request, headers: { ...request.headers, blind: 'yes' } })

t.test('who may write and not read is not shown the item, in any form or representation', async t => {
  const { app } = await guardedApp(t, refuseReading)
  for (const form of forms) {
    for (const accept of ['application/json', 'application/xml', 'text/html']) {
      const { id } = await createDeal(app)
      const request = form.request(operation('hold'), id, `c-${id}`) as TestRequest
      const answer = await app.inject(blindly({ ...request, headers: { ...request.headers, accept } }))
      const name = `${form.name}: ${accept}`
      t.notMatch(answer.body, secret, name)
      t.equal(answer.headers.etag, undefined, name)
      if (form.name.startsWith('attributes')) {
        // They are differences from what is there, and to find them is to read it.
        t.equal(answer.statusCode, 403, name)
        t.equal((await readDeal(app, id)).held, false, name)
        continue
      }
      t.equal(answer.statusCode, form.shows === 'deal' ? 204 : form.done, name)
      t.equal((await readDeal(app, id)).held, true, `${name}: it is done`)
      if (form.shows === 'deal') {
        t.strictSame([answer.body, answer.headers['content-location']], ['', `${home}/${id}`], name)
        t.equal(answer.headers.vary, 'Accept')
        t.equal(answer.headers['preference-applied'], undefined, 'it was not requested')
      }
      const again = await app.inject(blindly({ ...request, headers: { ...request.headers, accept } }))
      t.equal(again.statusCode, form.shows === 'deal' ? 204 : 200, `${name}: nothing to change`)
      t.notMatch(again.body, secret, name)
    }
  }
})

t.test('a creation, and its repetition', async t => {
  const { app, intents } = await guardedApp(t, refuseReading)
  const create: TestRequest = { method: 'POST', url: home, payload: { name: secret, price: 1 } }
  const keyed = { ...create, headers: { 'idempotency-key': 'k1' } }
  const first = await app.inject(blindly(keyed))
  const second = await app.inject(blindly(keyed))
  for (const answer of [first, second]) {
    t.equal(answer.statusCode, 201)
    t.equal(answer.body, '')
    t.match(answer.headers.location, `${home}/`)
    t.notMatch(JSON.stringify(answer.headers), secret)
  }
  t.equal(second.headers['idempotent-replayed'], 'true')
  t.equal(second.headers.location, first.headers.location)
  intents.length = 0
  const minimal = await app.inject(blindly({ ...create, headers: { prefer: 'return=minimal' } }))
  t.equal(minimal.headers['preference-applied'], 'return=minimal')
  t.strictSame(intents.map(({ action }) => action), ['CreateDeal'], 'who does not want the item is not asked about')
})

t.test('the key of an update belongs to its principal, who may be named for changes only', async t => {
  let user = ''
  const { app } = await guardedApp(t, ({ action }) => {
    if (action === 'CompleteDeal') throw new Problem('forbidden', 'You may not complete deals')
    return action === 'read' || action === 'HoldDeal' ? undefined : { principal: user }
  })
  const { id } = await createDeal(app)
  const rename = async (by: string, name: string) => {
    user = by
    const headers = { 'idempotency-key': 'k' }
    const answer = await app.inject(blindly({ method: 'PATCH', url: `${home}/${id}`, headers, payload: { name } }))
    return [answer.statusCode, answer.headers['idempotent-replayed'], answer.json<{ revision?: number }>().revision]
  }
  t.strictSame(await rename('ann', 'a'), [200, undefined, 2])
  t.strictSame(await rename('bob', 'b'), [200, undefined, 3])
  t.strictSame(await rename('ann', 'a'), [200, 'true', 2], 'her answer again')
  t.strictSame(await rename('bob', 'b'), [200, 'true', 3])
  t.strictSame(await rename('ann', 'b'), [422, undefined, undefined])
})

t.test('a failure to find whose key it is does nothing', async t => {
  let fails = false
  const { app } = await guardedApp(t, ({ action, tentative }) => {
    if (fails && tentative === true) throw new Error('no answer')
    return action === 'read' ? undefined : { principal: 'ann' }
  })
  const { id } = await createDeal(app)
  const rename = async () => {
    const request = { url: `${home}/${id}`, headers: { 'idempotency-key': 'k' }, payload: { name: 'a' } }
    const { statusCode, headers } = await app.inject(blindly({ method: 'PATCH', ...request }))
    return [statusCode, headers['idempotent-replayed']]
  }
  fails = true
  t.strictSame(await rename(), [500, undefined])
  fails = false
  t.strictSame(await rename(), [200, undefined])
  t.strictSame(await rename(), [200, 'true'])
})

t.test('a form of a page leads to what may be seen', async t => {
  const { app } = await guardedApp(t, refuseReading)
  const made = await app.inject(blindly({ method: 'POST', url: home, headers: browser, payload: 'name=a&price=1' }))
  t.strictSame([made.statusCode, made.headers.location], [303, home])
  const { id } = await createDeal(app)
  for (const isTrusted of [false, true]) {
    for (const payload of ['_key=k&reason=a', '_key=k&reason=a']) {
      const request: TestRequest = { method: 'POST', url: `${home}/${id}/holds`, headers: browser, payload }
      const held = await app.inject(isTrusted ? request : blindly(request))
      const place = isTrusted ? `${home}/${id}` : home
      t.strictSame([held.statusCode, held.headers.location], [303, place])
      t.match(held.headers['set-cookie'], new RegExp(`^dealbook-command=[\\w-]{36}; Path=${place}; Max-Age=60; `))
    }
  }
})

t.test('the conditions of reading hold for what a write has left', async t => {
  const cheap: Grant = { where: [{ field: 'price', op: 'lt', value: 1000 }] }
  const { app } = await guardedApp(t, ({ action }) => action === 'read' ? cheap : undefined)
  const change = (id: string, newPrice: number): TestRequest =>
    blindly({ method: 'PUT', url: `${home}/${id}/change-price`, payload: { newPrice, reason: 'a' } })
  const { id } = await createDeal(app, { price: 1 })
  t.equal((await app.inject(change(id, 999))).json().price, 999)
  t.equal((await app.inject(change(id, 5000))).statusCode, 204, 'out of sight')
  t.equal((await readDeal(app, id)).price, 5000)
  t.equal((await app.inject(change(id, 1))).statusCode, 200, 'and back')

  const create = blindly({
    method: 'POST',
    url: home,
    headers: { 'idempotency-key': 'k' },
    payload: { name: secret, price: 1 }
  })
  const made = await app.inject(create)
  t.equal(made.json().name, secret)
  t.equal((await app.inject(create)).body, made.body, 'the same answer again')
  const { id: own } = made.json<{ id: string }>()
  await app.inject(change(own, 5000))
  const hidden = await app.inject(create)
  t.strictSame([hidden.statusCode, hidden.body], [201, ''], 'not after it went out of sight')
  await app.inject({ method: 'DELETE', url: `${home}/${own}` })
  t.equal((await app.inject(create)).body, made.body, 'what is gone was seen by who made it')
  const dear = blindly({ method: 'POST', url: home, payload: { name: secret, price: 5000 } })
  t.equal((await app.inject(dear)).body, '')
})

t.test('what breaks after a command was done does not undo the answer', async t => {
  const lines: string[] = []
  const { app } = await guardedApp(t, ({ action }) => {
    if (action === 'read') throw new Error('the directory is down')
    return undefined
  }, lines)
  const { id } = await createDeal(app)
  const answer = await app.inject(blindly({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } }))
  t.strictSame([answer.statusCode, answer.body], [204, ''])
  t.equal((await readDeal(app, id)).held, true)
  t.match(lines.map(line => JSON.parse(line)), [{ err: { message: 'the directory is down' } }])
  t.equal(lines.length, 1)
})

t.test('a service does not return what its caller may not read', async t => {
  const storage = memoryStorage()
  let judge: (intent: Intent) => Grant | undefined = refuseReading
  const book = deals.service({ storage, authorize: (_call, intent) => judge(intent) })
  const fields = { name: secret, price: 1 }
  const create = async () => (await book.create(fields, { key: 'k' })) as { item?: { id: string }, changed: boolean }
  const made = await create()
  const { items: [item] } = await deals.service({ storage }).find()
  const id = String(item?.id)
  const hold = { operation: 'hold', id, params: { reason: 'a' } } as const
  for (const [name, done] of Object.entries({
    created: made,
    'created again': await create(),
    run: await book.run('hold', id, { reason: 'a' }, { command: 'c' }),
    'run again': await book.run('hold', id, { reason: 'a' }, { command: 'c' }),
    'one of many': (await book.runAll([hold], { atomic: true }))[0],
    unchanged: await book.run('hold', id, { reason: 'a' })
  })) t.strictSame([done?.item, done?.changed], [undefined, name !== 'unchanged' && name !== 'one of many'], name)
  const [settled] = await book.runAll([hold])
  t.match(settled, { status: 'fulfilled', value: { item: undefined, changed: false } })
  // Conditions hide it too; a mistake in authorize only hides it, as the command is done.
  for (const [where, isShown] of [['held', true], ['open', false], ['nonsense', false]] as const) {
    judge = ({ action }) => action !== 'read'
      ? undefined
      : { where: [{ field: where === 'nonsense' ? where : 'held', op: 'eq', values: [where === 'held'] }] } as Grant
    const { item } = await book.run('edit', id, { name: where })
    t.equal(item?.name, isShown ? where : undefined, where)
  }
  judge = refuseReading
  t.notOk('item' in await book.remove(id))
})
