import t from 'tap'
import type { Intent } from '../lib/index.js'
import { memoryStorage } from '../lib/index.js'
import type { TestRequest } from './deals/app.js'
import { createDeal, dealsApp, home, readLog } from './deals/app.js'
import { forms } from './deals/forms.js'
import { operation } from './deals/operations.js'

t.test('authorize learns what a write is about to do, in every form', async t => {
  const intents: Intent[] = []
  const app = await dealsApp(memoryStorage(), { authorize: (_request, intent) => { intents.push(intent) } })
  for (const form of forms) {
    const { id } = await createDeal(app)
    t.match(intents.shift(), {
      family: 'deals',
      action: 'CreateDeal',
      id: undefined,
      params: { name: 'Ten tons of tea' }
    })
    t.strictSame(intents.splice(0), [{ family: 'deals', action: 'read', id, params: {} }], 'may it be shown?')
    await app.inject(form.request(operation('hold'), id, `c-${id}`) as TestRequest)
    const read = { family: 'deals', action: 'read', id, params: {} }
    t.strictSame(intents.splice(0), [
      // Only the deal shows what attributes mean.
      ...(form.name.startsWith('attributes') ? [read] : []),
      { family: 'deals', action: 'HoldDeal', id, params: operation('hold').params },
      ...(form.shows === 'deal' ? [read] : [])
    ], form.name)
    await app.inject({ method: 'DELETE', url: `${home}/${id}` })
    t.strictSame(intents.splice(0), [{ family: 'deals', action: 'DeleteDeal', id, params: {} }])
  }
})

t.test('what authorize throws is the answer, and nothing is done', async t => {
  const app = await dealsApp(memoryStorage(), {
    authorize: (_request, { action }) => {
      if (action === 'HoldDeal') throw Object.assign(new Error('Ask your manager'), { statusCode: 403 })
    }
  })
  for (const form of forms) {
    const { id } = await createDeal(app)
    const answer = await app.inject(form.request(operation('hold'), id, `c-${id}`) as TestRequest)
    t.equal(answer.statusCode, 403, form.name)
    t.match(answer.json(), { type: 'urn:dealbook:problem:forbidden', detail: 'Ask your manager' })
    t.equal((await readLog(app, id)).length, 1)
  }
})

t.test('replays are bound to the principal', async t => {
  const app = await dealsApp(memoryStorage(), {
    authorize: request => ({ principal: String(request.headers['x-user']) })
  })
  const as = (user: string, request: TestRequest): TestRequest => ({
    ...request,
    headers: { ...request.headers, 'x-user': user }
  })
  const { id } = await createDeal(app)
  const command: TestRequest = {
    method: 'PUT',
    url: `${home}/${id}/commands/c1`,
    payload: { action: 'HoldDeal', params: { reason: 'a' } }
  }
  t.equal((await app.inject(as('Ann', command))).statusCode, 201)
  t.equal((await app.inject(as('Ann', command))).statusCode, 200)
  const bobs1 = await app.inject(as('Bob', command))
  t.match([bobs1.statusCode, bobs1.json().outcome], [201, 'unchanged'], 'what Ann calls so is nothing to Bob')
  const create: TestRequest = {
    method: 'POST',
    url: home,
    headers: { 'idempotency-key': 'k' },
    payload: { name: 'a', price: 1 }
  }
  const [anns, again, bobs] = [
    await app.inject(as('Ann', create)),
    await app.inject(as('Ann', create)),
    await app.inject(as('Bob', create))
  ]
  t.equal(again.headers.location, anns.headers.location)
  t.not(bobs.headers.location, anns.headers.location, 'but everyone has keys of their own')
})

t.test('what the conditions of a grant hide is not there for writes', async t => {
  const storage = memoryStorage()
  const free = await dealsApp(storage)
  const app = await dealsApp(storage, { authorize: () => ({ where: [{ field: 'price', op: 'lt', value: 1000 }] }) })
  const { id } = await createDeal(free, { price: 5000 })
  for (const form of forms) {
    t.equal((await app.inject(form.request(operation('hold'), id, 'c1') as TestRequest)).statusCode, 404, form.name)
  }
  t.equal((await app.inject({ method: 'DELETE', url: `${home}/${id}` })).statusCode, 404)
  t.equal((await app.inject(`${home}/${id}/commands`)).statusCode, 404)
  t.equal(
    (await app.inject({ method: 'POST', url: home, payload: { name: 'a', price: 5000 } })).statusCode,
    403,
    'nor can it be made'
  )
  const cheap = await createDeal(app, { price: 1 })
  t.equal(
    (
      await app.inject({
        method: 'PUT',
        url: `${home}/${cheap.id}/change-price`,
        payload: { newPrice: 5000, reason: 'a' }
      })
    ).statusCode,
    403,
    'or be made so'
  )

  const hold = {
    method: 'PUT',
    url: `${home}/${id}/commands/hidden`,
    payload: { action: 'HoldDeal', params: { reason: 'a' } }
  } as const
  t.equal((await free.inject(hold)).statusCode, 201)
  t.equal((await app.inject(hold)).statusCode, 404, 'even by guessing a command that was done')
  t.equal((await app.inject('/rest/commands/hidden')).statusCode, 404)
})
