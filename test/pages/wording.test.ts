import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions, Operation } from '../../lib/index.js'
import { defineFamily, html, json, memoryStorage, Problem, Type } from '../../lib/index.js'
import { accountsApp, openAccount } from '../accounts/app.js'
import { createDeal, dealsApp, home } from '../deals/app.js'

const accept = { accept: 'text/html' }
type Test = { teardown (close: () => Promise<unknown>): void }

async function running (t: Test, building: Promise<FastifyInstance>): Promise<FastifyInstance> {
  const app = await building
  t.teardown(() => app.close())
  return app
}

async function post (app: FastifyInstance, url: string, form: Record<string, string>): Promise<LightMyRequestResponse> {
  const headers = { ...accept, 'content-type': 'application/x-www-form-urlencoded' }
  return await app.inject({ method: 'POST', url, headers, payload: new URLSearchParams(form).toString() })
}

/** What stands in a page, or in the first part of it that has this class. */
function textOf (page: string, part = 'main'): string {
  const [, found = ''] = part === 'main'
    ? /<main[^>]*>(.*)<\/main>/s.exec(page) ?? []
    : new RegExp(`<[a-z]+ class="${part}"[^>]*>(.*?)</(?:div|ol|li)>`, 's').exec(page) ?? []
  return found.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim()
}

const see = async (app: FastifyInstance, url: string) => (await app.inject({ url, headers: accept })).body

t.test('why an operation is not allowed is said about the item', async t => {
  const app = await running(t, dealsApp(memoryStorage()))
  const { id } = await createDeal(app)
  const item = `${home}/${id}`
  await app.inject({ method: 'PUT', url: `${item}/hold`, payload: { reason: 'r' } })
  const reason = 'The deal is held'

  t.match(await see(app, item), `<dt>Change the price</dt><dd dir="auto">${reason}</dd>`)
  const sent = { newPrice: '1', reason: 'cheap', _key: 'k' }
  const refused = await post(app, `${item}/price-changes`, sent)
  t.equal(refused.statusCode, 409)
  t.match(textOf(refused.body, 'refused'), reason)
  t.match(await see(app, `${item}/commands`),
    /<strong>Refused: change the price<\/strong>.*<p dir="auto">The deal is held<\/p>/s)
  const put = { method: 'PUT', url: `${item}/change-price`, payload: { newPrice: 1, reason: 'r' } } as const
  const problem = await app.inject({ ...put, headers: accept })
  t.match(problem.body, `<p dir="auto">${reason}</p>`, 'the page of a problem')
  for (const body of [await see(app, item), refused.body, await see(app, `${item}/commands`), problem.body]) {
    t.notMatch(body, 'is not allowed while')
  }

  const members = { state: 'held', operation: 'change-price', allowed: ['unhold', 'cancel', 'edit'] }
  t.match((await app.inject(put)).json(), { detail: reason, ...members }, 'programs get the same')
  const { items } = (await app.inject(`${item}/commands`)).json<{ items: { problem?: { detail: string } }[] }>()
  t.strictSame(items.flatMap(({ problem }) => problem?.detail ?? []), [reason])
  await app.inject({ method: 'PUT', url: `${item}/cancel`, payload: { amercement: 1, reason: 'r' } })
  t.match((await app.inject({ ...put, headers: accept })).body, 'The deal is cancelled')
})

const notes = (allowed: Operation['allowed']) => defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.String(), text: Type.String() }),
  create: ['text'],
  operations: {
    'rub-out': {
      name: 'rub-out',
      verb: 'rub-out',
      participle: 'rubbed-out',
      noun: 'rubbings',
      action: 'RubOut',
      params: Type.Object({}),
      allowed: allowed as never,
      apply: note => ({ ...note, text: '' })
    }
  }
})

t.test('a host has its own reasons, and its own words', async t => {
  const german = {
    wrongState: () => 'Geht nicht.', possible: () => 'Nichts geht.', refused: (name: string) => `Nein: ${name}`
  }
  for (const [allowed, texts, offered, refused] of [
    [() => false, {}, 'This is not possible for this note now.',
      'Refused: rub out. This is not possible for this note now. Nothing is possible now.'],
    [() => false, german, 'Geht nicht.', 'Nein: Rub out. Geht nicht. Nichts geht.'],
    [() => 'It is in ink', german, 'It is in ink', 'The operation is not allowed in this state. It is in ink'],
    [() => { throw new Problem('wrong-state', 'Ink!', { members: { allowed: ['rub-out'] } }) }, german, 'Ink!',
      'The operation is not allowed in this state. Ink!']
  ] as const) {
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(notes(allowed), { storage: memoryStorage(), representations: [json, html({ texts })] })
    const { id } = (await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })).json<{ id: string }>()
    t.match(await see(app, `/notes/${id}`), `<dt>Rub out</dt><dd dir="auto">${offered}</dd>`)
    const { body } = await post(app, `/notes/${id}/rubbings`, { _key: 'k' })
    t.equal(textOf(body, 'refused'), refused)
  }
})

t.test('a timeline says everything once', async t => {
  const app = await running(t, dealsApp(memoryStorage()))
  const long = 'Papers are missing. '.repeat(20)
  for (const [steps, expected] of [
    [[['hold', { reason: 'Papers' }]], 'Held No → Yes Hold reason Not set → Papers'],
    [[['change-price', { newPrice: 7, reason: 'Cheaper' }]], 'Price 12,500 → 7 Reason Cheaper'],
    [
      [['change-completion-date', { newDate: '2027-03-31', amercement: 3, whyChanged: 'Storms' }]],
      'Completion date Not set → 31 Mar 2027 Fee Not set → 3 Why changed Storms'
    ],
    [[['edit', { name: long }]], `Name Ten tons of tea → ${long.slice(0, 199)}…`],
    [[['hold', { reason: long }]], `Held No → Yes Hold reason Not set → ${long.slice(0, 199)}…`],
    // What has the same value by chance is another thing.
    [
      [['hold', { reason: 'cancelled' }], ['cancel', { amercement: 3, reason: 'cancelled' }]],
      'Held Yes → No Hold reason cancelled → Not set Status Open → Cancelled Fee Not set → 3 Reason cancelled'
    ]
  ] as const) {
    const { id } = await createDeal(app, { price: 12_500 })
    for (const [verb, payload] of steps) {
      const { statusCode } = await app.inject({ method: 'PUT', url: `${home}/${id}/${verb}`, payload })
      t.equal(statusCode, 200, verb)
    }
    const last = (await see(app, `${home}/${id}/commands`)).split('<li class="done">').at(1) as string
    const said = last.slice(last.indexOf('<dl')).replace(/<\/li>.*/s, '')
    t.equal(said.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim(), expected)
  }
})

t.test('a page that asks shows all items that would change, as far as they may be read', async t => {
  const open = async (t: Test, options: Partial<FamilyOptions> = {}) => {
    const app = await running(t, accountsApp(memoryStorage(), options))
    const from = await openAccount(app, 'Ann', 10)
    const to = await openAccount(app, 'Bob & <Co>', 5)
    return { app, from, to }
  }
  await t.test('both', async t => {
    const { app, from, to } = await open(t)
    const transfer = { to, amount: '5', _key: 'k' }
    const { body } = await post(app, `/accounts/${from}/transfers`, { ...transfer, _confirm: 'ask' })
    t.match(body, `<a href="/accounts/${to}">Account Bob &amp; &lt;Co&gt;</a>`)
    t.match(textOf(body), 'What will change Balance 10 → 5 This will change too Account Bob &amp; &lt;Co&gt; ' +
      'Balance 5 → 10 You entered To Bob &amp; &lt;Co&gt; Amount 5')
    await post(app, `/accounts/${from}/transfers`, transfer)
    const other = await see(app, `/accounts/${to}/commands`)
    t.match(other, `<a href="/accounts/${from}">together with account ${from}</a>`)
    t.notMatch(await see(app, `/accounts/${from}/commands`), 'together with')
  })

  // The name of an item that was entered is that of the list.
  const isRead = (action: string) => action === 'read' || action === 'list'
  const hidden: Record<string, (to: string) => FamilyOptions['authorize']> = {
    'it may not be read': to => (_request, { action, id }) => {
      if (action === 'list' || (action === 'read' && id === to)) throw new Problem('forbidden', 'Not yours')
    },
    'it is not there for who asks': () => (_request, { action }) =>
      isRead(action) ? { where: [{ field: 'owner', op: 'eq', values: ['Ann'] }] } : {},
    'it would not be there after it': () => (_request, { action }) =>
      isRead(action) ? { where: [{ field: 'balance', op: 'lt', value: 11 }] } : {},
    'it cannot be told': to => (_request, { action, id }) => {
      if (action === 'list') throw new Problem('forbidden', 'Not yours')
      if (action === 'read' && id === to) throw new Error('broken')
    }
  }
  for (const [why, authorize] of Object.entries(hidden)) {
    await t.test(why, async t => {
      const rule: { authorize?: FamilyOptions['authorize'] } = {}
      const { app, from, to } = await open(t, { authorize: (...args) => rule.authorize?.(...args) })
      rule.authorize = authorize(to)
      const amount = why.includes('after') ? '10' : '5'
      const answer = await post(app, `/accounts/${from}/transfers`, { to, amount, _key: 'k', _confirm: 'ask' })
      t.equal(answer.statusCode, 200)
      t.match(textOf(answer.body), `Balance 10 → ${10 - Number(amount)} You entered`)
      t.notMatch(answer.body, 'This will change too')
      if (!why.includes('after')) t.notMatch(answer.body, 'Bob')
    })
  }
})

t.test('a moment that was sent with an offset is shown as the moment that it is, once', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const moment = Type.String({ format: 'date-time' })
  app.register(defineFamily({
    name: 'trips',
    singular: 'trip',
    fields: Type.Object({ id: Type.String(), start: Type.Optional(moment) }),
    create: [],
    operations: {
      move: {
        name: 'move',
        verb: 'move',
        participle: 'moved',
        noun: 'moves',
        action: 'MoveTrip',
        params: Type.Object({ newStart: moment, asked: moment }),
        apply: (trip, { newStart }) => ({ ...trip, start: newStart })
      }
    }
  }), { storage: memoryStorage() })
  const { id } = (await app.inject({ method: 'POST', url: '/trips', payload: {} })).json<{ id: string }>()
  const payload = { newStart: '2026-03-31T12:00:00+02:00', asked: '2026-01-01T00:30:00.5+01:00' }
  t.equal((await app.inject({ method: 'PUT', url: `/trips/${id}/move`, payload })).statusCode, 200)
  const body = await see(app, `/trips/${id}/commands`)
  t.equal(body.match(/<time datetime="2026-03-31T10:00:00.000Z"[^>]*>31 Mar 2026, 10:00<\/time>/g)?.length, 1)
  const asked = '2025-12-31T23:30:00.500Z'
  t.match(body, `<time datetime="${asked}" title="${asked}">31 Dec 2025, 23:30</time>`)
  t.notMatch(body, '12:00:00')
})

t.test('words of an enumeration can be said otherwise, wherever they stand', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const status = Type.Union([
    Type.Literal('in_progress'), Type.Literal('onHold'), Type.Literal('EUR-1'), Type.Literal('e-mail')
  ])
  const jobs = defineFamily({
    name: 'jobs',
    singular: 'job',
    fields: Type.Object({ id: Type.String(), status }),
    create: ['status'],
    edit: ['status'],
    state: ({ status }) => status
  })
  const texts = { choice: (value: string) => `~${value}~` }
  app.register(jobs, { storage: memoryStorage(), prefix: '/a' })
  app.register(jobs, { storage: memoryStorage(), prefix: '/b', representations: [json, html({ texts })] })
  const words: Record<string, string> = { in_progress: 'In progress', onHold: 'On hold', 'e-mail': 'E-mail' }
  const said = (prefix: string, word: string) => prefix === '/b' ? `~${word}~` : words[word] ?? word
  for (const prefix of ['/a', '/b']) {
    const make = async (status: string) =>
      (await app.inject({ method: 'POST', url: `${prefix}/jobs`, payload: { status } })).json<{ id: string }>()
    const [{ id }] = [await make('onHold'), await make('EUR-1'), await make('e-mail')]
    await app.inject({ method: 'PUT', url: `${prefix}/jobs/${id}/edit`, payload: { status: 'in_progress' } })
    const badge = (word: string) => `<span class="badge neutral">${said(prefix, word)}</span>`
    const option = (word: string) => `<option value="${word}">${said(prefix, word)}</option>`
    for (const [url, ...parts] of [
      [`/jobs/${id}`, badge('in_progress'), `<dd dir="auto">${said(prefix, 'in_progress')}</dd>`, option('onHold'),
        `<bdi class="before">${said(prefix, 'onHold')}</bdi> → <bdi>${said(prefix, 'in_progress')}</bdi>`],
      ['/jobs?status=onHold', `<bdi>Status: ${said(prefix, 'onHold')}</bdi>`, option('e-mail')],
      ['/jobs', badge('EUR-1'), badge('e-mail'), badge('in_progress')],
      ['/', badge('onHold')]
    ] as const) {
      const body = await see(app, prefix + url)
      for (const part of parts) t.ok(body.includes(part), `${prefix}${url}: ${part}`)
    }
  }
})

t.test('an item of another family that changes too', async t => {
  const stocks = defineFamily({
    name: 'stocks',
    singular: 'stock',
    fields: Type.Object({ id: Type.String(), name: Type.String(), left: Type.Integer() }),
    create: ['name', 'left']
  })
  const orders = defineFamily({
    name: 'orders',
    singular: 'order',
    fields: Type.Object({ id: Type.String(), sent: Type.Boolean({ default: false }) }),
    create: [],
    operations: {
      send: {
        name: 'send',
        verb: 'send',
        participle: 'sent',
        noun: 'sendings',
        action: 'SendOrder',
        danger: true,
        params: Type.Object({ stock: Type.String() }),
        with: { stock: { family: stocks, id: ({ stock }) => stock } },
        apply: (order, _params, { items: { stock } }) => ({
          item: { ...order, sent: true },
          others: { stock: { ...stock, left: Number(stock?.['left']) - 1 } }
        })
      }
    },
    labels: { en: { fields: { stock: 'From' }, operations: { send: { label: 'Ship', done: 'Shipped' } } } }
  })
  const storage = memoryStorage()
  const app = Fastify()
  const lonely = Fastify()
  for (const each of [app, lonely]) {
    t.teardown(() => each.close())
    each.register(stocks, { storage })
  }
  app.register(orders, { storage })
  const make = async (url: string, payload: object) =>
    (await app.inject({ method: 'POST', url, payload })).json<{ id: string }>().id
  const [stock, order] = [await make('/stocks', { name: 'Chairs', left: 3 }), await make('/orders', {})]
  const form = { stock, _key: 'k' }
  const { body } = await post(app, `/orders/${order}/sendings`, { ...form, _confirm: 'ask' })
  t.match(textOf(body), 'Sent No → Yes This will change too Stock Chairs Left 3 → 2 You entered')
  t.match(body, `<a href="/stocks/${stock}">Stock Chairs</a>`)
  t.equal((await post(app, `/orders/${order}/sendings`, form)).statusCode, 303)
  const page = await see(app, `/stocks/${stock}`)
  t.match(page, `<a href="/orders/${order}">together with order ${order}</a>`)
  t.match(textOf(page), new RegExp(`Shipped Revision 2 .*Left 3 → 2 From ${stock}`), 'in the words of that family')
  for (const url of [`/stocks/${stock}/commands`, '/stocks/commands']) {
    t.match(textOf(await see(app, url)), 'Shipped', url)
  }
  t.match(await see(lonely, `/stocks/${stock}`), `<bdi>together with orders ${order}</bdi>`, 'no way to it')
})

t.test('a page says days, and how many days ago something was', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(defineFamily({
    name: 'trips',
    singular: 'trip',
    fields: Type.Object({
      id: Type.String(), start: Type.String({ format: 'date-time' }), end: Type.String({ format: 'date' })
    }),
    create: ['start', 'end']
  }), { storage: memoryStorage() })
  const start = new Date(Date.now() - 3.5 * 86_400_000).toISOString()
  const payload = { start, end: '2027-03-31' }
  const { id } = (await app.inject({ method: 'POST', url: '/trips', payload })).json<{ id: string }>()
  for (const round of ['first', 'again']) {
    const body = await see(app, `/trips/${id}`)
    t.match(body, '<span class="ago">· 3 days ago</span>', round)
    t.match(body, '<time datetime="2027-03-31">31 Mar 2027</time>', round)
  }
})
