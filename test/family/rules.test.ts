import { Writable } from 'node:stream'
import type { FastifyInstance, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyDefinition, FamilyOptions, Storage } from '../../lib/index.js'
import { defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'
import { anyStorage } from '../storages.js'

const taken = new Set(['A-0'])
const refuse = (code: 'invalid-body' | 'wrong-state', pointer: string, detail: string): Problem =>
  new Problem(code, `${pointer} ${detail}`, { errors: [{ pointer, detail }] })

const invoices = defineFamily({
  name: 'invoices',
  singular: 'invoice',
  fields: Type.Object({
    id: Type.Integer(),
    number: Type.String(),
    total: Type.Number({ minimum: 0 }),
    owner: Type.String(),
    openedAt: Type.String({ format: 'date-time' }),
    origin: Type.String(),
    paid: Type.Number({ default: 0 })
  }),
  create: ['number', 'total'],
  edit: ['number'],
  initial (invoice, { principal, now, command }) {
    if (taken.has(invoice.number)) throw refuse('invalid-body', '/number', 'is taken')
    return { ...invoice, owner: principal ?? 'nobody', openedAt: now, origin: command }
  },
  operations: {
    pay: {
      name: 'pay',
      verb: 'pay',
      participle: 'paid',
      noun: 'payments',
      action: 'PayInvoice',
      params: Type.Object({ amount: Type.Number() }),
      allowed: invoice => invoice.paid < invoice.total ? true : `It was paid in full: ${invoice.total}`,
      apply (invoice, { amount }) {
        if (amount <= 0) throw refuse('invalid-body', '/amount', 'must be more than nothing')
        if (amount > invoice.total) {
          throw new Problem('other', 'That is too much', {
            status: 409,
            errors: [{ pointer: '/amount', detail: `must be at most ${invoice.total}` }],
            members: { total: invoice.total },
            headers: { 'x-total': String(invoice.total) }
          })
        }
        return { ...invoice, paid: invoice.paid + amount }
      }
    },
    raise: {
      name: 'raise',
      verb: 'raise',
      participle: 'raised',
      noun: 'raises',
      action: 'RaiseInvoice',
      params: Type.Object({ total: Type.Number() }),
      allowed (invoice) {
        if (invoice.paid > 0) throw new Problem('forbidden', 'Nobody may', { status: 403 })
        return true
      },
      apply: (invoice, { total }) => ({ ...invoice, total })
    }
  },
  state: invoice => invoice.paid >= invoice.total ? 'paid' : 'open'
})

async function startApp (storage: Storage, options: Partial<FamilyOptions> = {}, family = invoices) {
  const app = Fastify()
  app.register(family, { storage, authorize: () => ({ principal: 'ann' }), ...options })
  await app.ready()
  return app
}
const put = async (app: FastifyInstance, url: string, payload: object) =>
  await app.inject({ method: 'PUT', url, payload })
const post = async (app: FastifyInstance, url: string, payload: object, headers: InjectOptions['headers'] = {}) =>
  await app.inject({ method: 'POST', url, payload, headers })

for (const { name, make } of anyStorage) {
  t.test(`${name}: what a new item begins with`, async t => {
    const { storage, dispose } = await make()
    const app = await startApp(storage)
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    const key = { 'idempotency-key': 'k-1' }
    const first = await post(app, '/invoices', { number: 'A-1', total: 5 }, key)
    const { createdAt, origin, ...invoice } = first.json()
    t.match(invoice, { id: 1, number: 'A-1', total: 5, owner: 'ann', openedAt: createdAt, paid: 0, revision: 1 })
    t.equal((await app.inject('/invoices/1/commands')).json().items[0].id, origin, 'the id of its command')
    const again = await post(app, '/invoices', { number: 'A-1', total: 5 }, key)
    t.strictSame([again.body, again.headers['idempotent-replayed']], [first.body, 'true'])
    await post(app, '/command/CreateInvoice/', { number: 'A-2', total: 5 })
    t.match((await app.inject('/invoices/2')).json(), { owner: 'ann' })
    const { item } = await invoices.service({ storage }).create({ number: 'A-3', total: 5 })
    t.match(item, { owner: 'nobody', paid: 0 })
    t.match((await post(app, '/invoices', { number: 'A-4', total: 5, owner: 'eve' })).json(),
      { status: 400, errors: [{ pointer: '/owner' }] }, 'a client does not send it')

    const url = '/invoices?count=exact'
    const { total } = (await app.inject(url)).json()
    const refused = { status: 400, type: /invalid-body/, errors: [{ pointer: '/number', detail: 'is taken' }] }
    const sent = { number: 'A-0', total: 5 }
    t.match((await post(app, '/invoices', sent, { 'idempotency-key': 'k-2' })).json(), refused)
    t.match((await post(app, '/command/CreateInvoice/', sent)).json(), refused)
    await t.rejects(invoices.service({ storage }).create(sent), { code: 'invalid-body', errors: refused.errors })
    t.equal((await app.inject(url)).json().total, total, 'nothing was created')
    taken.delete('A-0')
    t.equal((await post(app, '/invoices', sent, { 'idempotency-key': 'k-2' })).statusCode, 201, 'the key is still free')
    taken.add('A-0')
  })

  t.test(`${name}: a refusal of the host's own is answered as it is, and kept where it is about the state`, async t => {
    const { storage, dispose } = await make()
    const app = await startApp(storage)
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    const book = invoices.service({ storage })
    await post(app, '/invoices', { number: 'A-1', total: 5 })
    const pay = (amount: number) => ({ action: 'PayInvoice', params: { amount } })
    const before = (await app.inject('/invoices/1')).body

    // What is wrong in itself is not kept: under the same id, something else may be sent.
    const wrong = { status: 400, errors: [{ pointer: '/amount', detail: 'must be more than nothing' }] }
    t.match((await put(app, '/invoices/1/commands/c-1', pay(0))).json(), wrong)
    t.match((await put(app, '/invoices/1/pay', { amount: 0 })).json(), wrong)
    await t.rejects(book.run('pay', 1, { amount: 0 }), { code: 'invalid-body', statusCode: 400 })

    const first = await put(app, '/invoices/1/commands/c-1', pay(6))
    t.equal(first.statusCode, 409)
    t.equal(first.headers['x-total'], '5')
    t.strictSame(first.json(), {
      type: 'urn:dealbook:problem:other',
      title: 'The request failed',
      status: 409,
      detail: 'That is too much',
      instance: '/invoices/1/commands/c-1',
      total: 5,
      errors: [{ pointer: '/amount', detail: 'must be at most 5' }]
    })
    t.equal((await app.inject('/invoices/1')).body, before, 'nothing was changed')
    await book.run('raise', 1, { total: 7 }, { principal: 'ann' })
    const again = await put(app, '/invoices/1/commands/c-1', pay(6))
    t.strictSame([again.statusCode, again.json(), again.headers['x-total'], again.headers['idempotent-replayed']],
      [409, first.json(), '5', 'true'], 'the same command is refused in the same way, also when it would be allowed')
    await t.rejects(book.run('pay', 1, { amount: 6 }, { principal: 'ann', command: 'c-1' }),
      { code: 'other', statusCode: 409, errors: [{ pointer: '/amount' }], members: { total: 5 } })
    t.equal((await put(app, '/invoices/1/commands/c-1', pay(5))).statusCode, 422)
    t.match((await app.inject('/invoices/1/commands/c-1')).json(),
      { outcome: 'refused', problem: { status: 409, errors: [{ pointer: '/amount' }] } })
    t.notMatch((await app.inject('/invoices/1/payments')).body, 'c-1', 'a refused payment is no payment')

    t.equal((await put(app, '/invoices/1/pay', { amount: 7 })).statusCode, 200)
    t.match((await put(app, '/invoices/1/pay', { amount: 1 })).json(), {
      status: 409, detail: 'It was paid in full: 7', state: 'paid', operation: 'pay', allowed: ['edit']
    }, 'allowed says why not; what throws there is not allowed')
    await t.rejects(book.run('pay', 1, { amount: 1 }), { code: 'wrong-state', message: 'It was paid in full: 7' })
    t.match((await put(app, '/invoices/1/commands/c-2', { action: 'RaiseInvoice', params: { total: 9 } })).json(),
      { status: 403, detail: 'Nobody may' })
    t.equal((await app.inject('/invoices/1/commands/c-2')).statusCode, 404, 'not kept')
  })
}

t.test('what a rule says stands beside the field, and no rule breaks a page', async t => {
  const lines: { msg: string, level: number }[] = []
  const stream = new Writable({
    write (line, _encoding, done) {
      lines.push(JSON.parse(line))
      done()
    }
  })
  const broken = invoices.extend({
    operations: {
      break: {
        name: 'break',
        verb: 'break',
        participle: 'broken',
        noun: 'breaks',
        action: 'BreakInvoice',
        params: Type.Object({}),
        allowed () { throw new TypeError('broken') },
        apply: invoice => ({ ...invoice, paid: 1 })
      }
    }
  })
  const app = Fastify({ logger: { stream, level: 'error' } })
  t.teardown(() => app.close())
  app.register(broken, { storage: memoryStorage() })
  const browser = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
  const send = async (url: string, payload: string) =>
    await app.inject({ method: 'POST', url, payload, headers: browser })

  const create = await send('/invoices', 'number=A-0&total=5')
  t.equal(create.statusCode, 400)
  t.match(create.body, /id="create-number-error">Number is taken\./)
  t.match(create.body, /name="number"[^>]* value="A-0"/)
  await send('/invoices', 'number=A-1&total=5')
  const refused = await send('/invoices/1/payments', 'amount=9')
  t.equal(refused.statusCode, 409)
  t.match(refused.body, /id="pay-amount-error">Amount must be at most 5\./)
  t.match(refused.body, '<a href="#pay-amount">')
  const [line] = lines
  t.match(line, { msg: 'allowed failed for an offered operation', action: 'BreakInvoice' })

  await send('/invoices/1/payments', 'amount=5')
  lines.length = 0
  const page = await app.inject('/invoices/1.html')
  t.equal(page.statusCode, 200)
  t.match(page.body, '/invoices/1/edits')
  t.notMatch(page.body, /invoices\/1\/(raises|breaks|payments)"/)
  t.equal(lines.length, 1, 'a problem is no mistake, and is not logged')
  t.match((await send('/invoices/1/payments', 'amount=1')).body, 'It was paid in full: 5')
  t.match((await put(app, '/invoices/1/break', {})).json(), { status: 500, type: /internal/ })
})

t.test('an initial that does not do its work is a 500 that is logged', async t => {
  const messages: string[] = []
  const stream = new Writable({
    write (line, _encoding, done) {
      messages.push(JSON.parse(line).err?.message)
      done()
    }
  })
  const app = Fastify({ logger: { stream, level: 'error' } })
  t.teardown(() => app.close())
  app.register(defineFamily({
    name: 'notes',
    singular: 'note',
    fields: Type.Object({ id: Type.Integer(), text: Type.String(), owner: Type.String() }),
    create: ['text'],
    initial: note => note as Required<typeof note>
  }), { storage: memoryStorage() })
  t.match((await post(app, '/notes', { text: 'a' })).json(), { status: 500, detail: /it was logged/ })
  t.match(messages, [/notes, create: the resulting item is invalid: \/owner is required/])
  t.equal((await app.inject('/notes?count=exact')).json().total, 0)
})

t.test('an extension completes what the family has begun', async t => {
  const ours = invoices.extend({
    fields: Type.Object({ label: Type.String() }),
    initial: invoice => ({ ...invoice, label: `${invoice.number} of ${invoice.owner}` })
  })
  const { item } = await ours.service({ storage: memoryStorage() })
    .create({ number: 'A-1', total: 1 }, { principal: 'bob' })
  t.match(item, { owner: 'bob', label: 'A-1 of bob' })
  const { item: plain } = await invoices.service({ storage: memoryStorage() }).create({ number: 'A-1', total: 1 })
  t.notOk('label' in plain, 'the family stays as it was')
})

t.test('an extension whose required field nothing sets is refused', async t => {
  const fields = Type.Object({ label: Type.String(), size: Type.Integer({ default: 1 }) })
  const message = 'extend "invoices": the field "label" needs a default, or must be optional, nullable, in create, ' +
    'or set by initial or derive'
  t.throws(() => invoices.extend({ fields }), { code: 'FST_DEALBOOK_INVALID_EXTENSION', message })
  t.doesNotThrow(() => invoices.extend({ fields, create: ['label'] }))
  t.doesNotThrow(() => invoices.extend({ fields, derive: { label: ({ number }) => number } }))
  t.doesNotThrow(() => invoices.extend({ fields, initial: invoice => ({ ...invoice, label: 'a' }) }))
})

t.test('a definition whose initial cannot be', async t => {
  const base = { name: 'notes', singular: 'note', fields: Type.Object({ id: Type.Integer(), owner: Type.String() }) }
  const table: readonly (readonly [object, RegExp])[] = [
    [{ create: [], initial: 'ann' }, /"initial" must be a function/],
    [{ initial: () => ({}) }, /initial needs create/],
    [{ create: [] },
      /the field "owner" needs a default, or must be optional, nullable, in create, or set by initial or derive/]
  ]
  for (const [members, message] of table) {
    const error = { code: 'FST_DEALBOOK_INVALID_DEFINITION', message }
    t.throws(() => defineFamily({ ...base, ...members } as FamilyDefinition), error)
  }
})
