import { randomUUID } from 'node:crypto'
import type { FastifyInstance, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import { accounts } from '../../examples/accounts.js'
import type { Committed, Intent, Storage } from '../../lib/index.js'
import { defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'
import { copyStorage, loadItems, prune } from '../../lib/tools/index.js'
import { accountsApp, openAccount, readAccount, readAccountLog, transferForms } from '../accounts/app.js'
import { storages } from '../storages.js'

async function readRevisions (app: FastifyInstance, ...ids: string[]): Promise<number[]> {
  return await Promise.all(ids.map(async id => (await readAccount(app, id)).revision))
}

for (const { name, make } of storages) {
  t.test(name, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const told: Committed[] = []
    const app = await accountsApp(storage, { onCommitted: change => { told.push(change as unknown as Committed) } })
    const book = accounts.service({ storage })

    for (const [form, [done, say]] of Object.entries(transferForms)) {
      t.test(`a transfer as ${form}`, async t => {
        const [from, to] = [await openAccount(app, 'ann', 100), await openAccount(app, 'bob', 5)]
        const command = `c-${randomUUID()}`
        const hasId = form.startsWith('command')
        told.length = 0
        const answer = await app.inject(say(from, { to, amount: 30 }, command))
        t.equal(answer.statusCode, done, answer.body)
        t.match(await readAccount(app, from), { balance: 70, revision: 2 })
        t.match(await readAccount(app, to), { balance: 35, revision: 2 })

        const [sent, received] = [(await readAccountLog(app, from)).at(-1), (await readAccountLog(app, to)).at(-1)]
        const changes = { balance: { from: 5, to: 35 } }
        t.strictSame(sent?.['changes'], { balance: { from: 100, to: 70 } })
        t.strictSame(received, { ...sent, account: to, changes, about: { family: 'accounts', id: from } },
          'the command is in the log of both')
        if (hasId) t.equal(sent?.['id'], command)
        const entry = await app.inject(`/accounts/${to}/commands/${String(received?.['id'])}`)
        t.match(entry.json(), { account: to, revision: 2, links: { account: `/accounts/${to}` } }, 'and is found there')
        t.equal((await app.inject(`/accounts/${to}/commands?id=${String(received?.['id'])}`)).json().items.length, 1)
        t.equal((await app.inject(`/accounts/${to}/transfers`)).json().items.length, 1)
        t.match(told.map(({ id, revision, before, after }) => [id, revision, before?.['balance'], after?.['balance']]),
          [[from, 2, 100, 70], [to, 2, 5, 35]], 'the host is notified of both')
        t.strictSame(new Set(told.map(({ command }) => command)), new Set([sent?.['id']]))

        const refusals: [string, object, number, object][] = [
          ['too much', { to, amount: 71 }, 409, { detail: 'There are only 70 cents' }],
          ['nobody', { to: 'nobody', amount: 1 }, 400, { errors: [{ pointer: '/to' }] }],
          ['no id at all', { to: '\u0001', amount: 1 }, 400, {}],
          ['itself', { to: from, amount: 1 }, 400, { errors: [{ pointer: '/to' }] }]
        ]
        for (const [what, params, status, body] of refusals) {
          const refused = await app.inject(say(from, params, `r-${randomUUID()}`))
          t.equal(refused.statusCode, status, `${what}: ${refused.body}`)
          if (form !== 'page') t.match(refused.json(), body, what)
        }
        const stale = say(from, { to, amount: 1 }, `s-${randomUUID()}`)
        const refused = await app.inject({ ...stale, headers: { ...stale.headers, 'if-match': '"1"' } })
        t.equal(refused.statusCode, 412, 'a stale condition')
        t.strictSame(await readRevisions(app, from, to), [2, 2], 'nothing was done')
        t.equal((await readAccountLog(app, to)).length, 2, 'nor is anything of it in the log of the other')

        if (!hasId) return
        const again = await app.inject(say(from, { to, amount: 30 }, command))
        t.strictSame([again.statusCode, again.headers['idempotent-replayed'], again.body], [200, 'true', answer.body])
        const another = await app.inject(say(from, { to, amount: 31 }, command))
        t.equal(another.statusCode, 422, 'the same id for something else')
        const back = await app.inject(say(to, { to: from, amount: 30 }, command))
        t.equal(back.statusCode, 422, 'nor for the other item')
        t.strictSame(await readRevisions(app, from, to), [2, 2], 'it was done once')
        await app.inject({ method: 'DELETE', url: `/accounts/${to}` })
        const gone = await app.inject(say(from, { to, amount: 30 }, command))
        t.equal(gone.headers['idempotent-replayed'], 'true', 'also where the other is gone')
        t.equal((await readAccountLog(app, to)).length, 3, 'whose log stays')
      })
    }

    t.test('the service', async t => {
      const [from, to] = [await openAccount(app, 'ann', 100), await openAccount(app, 'bob', 5)]
      const params = { to, amount: 30 }
      const { item, changed } = await book.run('transfer-money', from, params, { principal: 'ann', command: 'c-1' })
      t.match([item?.balance, changed], [70, true])
      t.equal((await book.get(to)).balance, 35)
      const again = await book.run('transfer-money', from, params, { principal: 'ann', command: 'c-1' })
      t.match([again.replayed, again.item?.balance], [true, 70])
      const [hers, others] = [await book.log(to, { principal: 'ann' }), await book.log(to, { principal: 'bob' })]
      t.match(hers.items.at(-1), { id: 'c-1', account: to, about: { family: 'accounts', id: from }, principal: 'ann' })
      t.match(others.items.at(-1), { chosenId: 'c-1' }, 'others see that it is hers')
      t.not(others.items.at(-1)?.id, 'c-1')
      await t.rejects(book.run('transfer-money', from, { to: 'nobody', amount: 1 }), {
        code: 'invalid-body',
        message: '/to does not name an existing account'
      })
      await t.rejects(book.run('transfer-money', from, { to: from, amount: 1 }), { code: 'invalid-body' })
      await t.rejects(book.run('transfer-money', from, { to, amount: 999 }), { code: 'wrong-state' })
    })

    t.test('back and forth, many at once', async t => {
      const ids = await Promise.all(Array.from({ length: 10 }, (_, index) => openAccount(app, `o${index}`, 100)))
      const services = [book, accounts.service({ storage })]
      await Promise.all(Array.from({ length: 32 }, async (_, writer) => {
        for (let n = 0; n < 5; n++) {
          const [from, to] = [ids[(writer + n) % 10] as string, ids[(writer * 3 + n + 1) % 10] as string]
          if (from === to) continue
          await services[writer % 2]?.run('transfer-money', from, { to, amount: 1 }).catch(error => {
            if (error.code !== 'wrong-state') throw error
          })
        }
      }))
      const all = await Promise.all(ids.map(id => readAccount(app, id)))
      t.equal(all.reduce((sum, { balance }) => sum + balance, 0), 1000)
    })

    t.test('logs are pruned, copied and loaded as others are', async t => {
      const { items: log } = await book.log((await book.find('owner=bob', { limit: 1 })).items[0]?.id as string)
      t.match(log.at(-1), { action: 'TransferMoney' })
      const target = memoryStorage()
      const copied = await copyStorage(storage, target, { families: [accounts] })
      t.ok((copied['commands'] as number) > 20)
      const account = String(log[0]?.['account'])
      t.strictSame((await accounts.service({ storage: target }).log(account)).items, log)
      const loaded = memoryStorage()
      const item = await book.get(account)
      await loadItems(loaded, accounts, [{ ...item, log }], { log: 'log' })
      t.strictSame((await accounts.service({ storage: loaded }).log(account)).items, log)
      await prune(target, { before: new Date() })
      // One row keeps the position of the last that was deleted.
      t.equal((await target.find('commands', { where: [], order: [], offset: 0, limit: 1, count: true })).total, 1)
    })
  })
}

t.test('who may not', async t => {
  const storage = memoryStorage()
  const asked: Intent[] = []
  const app = await accountsApp(storage, {
    authorize (request, intent) {
      asked.push(intent)
      const principal = request.headers['x-principal'] as string | undefined
      if (principal === undefined) return undefined
      if (intent.id === principal) throw new Problem('forbidden', 'Not that one')
      const known = { field: 'owner', op: 'ne', values: ['secret'] } as const
      return { principal, where: [known, { field: 'balance', op: 'lt', value: 50 }] }
    }
  })
  const [from, to] = [await openAccount(app, 'ann', 40), await openAccount(app, 'bob', 40)]
  const hidden = await openAccount(app, 'secret', 1)
  asked.length = 0
  const send = async (to: string, amount: number, principal: string) => {
    const answer = await app.inject({
      method: 'POST',
      url: '/command/TransferMoney/',
      headers: { 'x-principal': principal },
      payload: { id: from, to, amount }
    })
    return [answer.statusCode, answer.body === '' ? '' : answer.json<{ detail: string }>().detail]
  }
  t.strictSame(await send(to, 1, to), [403, 'Not that one'])
  t.strictSame(asked.map(({ family, action, id, params }) => ({ family, action, id, params })), [from, to].map(id =>
    ({ family: 'accounts', action: 'TransferMoney', id, params: { to, amount: 1 } })), 'each is asked about')
  const missing = await send('nobody', 1, 'ann')
  t.strictSame(missing, [400, '/to does not name an existing account'])
  t.strictSame(await send(hidden, 1, 'ann'), missing, 'what is hidden is as if not there')
  t.strictSame(await send(to, 10, 'ann'), [403, 'This change is not permitted'], 'nor may it become such')
  t.strictSame(await readRevisions(app, from, to, hidden), [1, 1, 1])
  await t.test('a page that asks is authorized like the command', async t => {
    asked.length = 0
    const form = transferForms['page']?.[1](from, { to, amount: 9, _key: 'k', _confirm: 'ask' }, '')
    t.equal((await app.inject(form as InjectOptions)).statusCode, 200)
    t.strictSame(asked.slice(0, 2).map(({ id, params, tentative }) => [id, params, tentative]),
      [from, to].map(id => [id, { to, amount: 9 }, undefined]))
  })
  t.strictSame(await send(to, 9, 'ann'), [200, ''])
})

const rates = defineFamily({
  name: 'rates',
  singular: 'rate',
  fields: Type.Object({ id: Type.Integer(), cents: Type.Integer(), used: Type.Integer({ default: 0 }) }),
  create: ['cents'],
  edit: ['cents']
})

const trips = defineFamily({
  name: 'trips',
  singular: 'trip',
  fields: Type.Object({ id: Type.Integer(), price: Type.Integer({ default: 0 }), note: Type.Optional(Type.String()) }),
  create: [],
  operations: {
    price: {
      name: 'price',
      verb: 'price',
      participle: 'priced',
      noun: 'prices',
      action: 'PriceTrip',
      params: Type.Object({ rate: Type.Optional(Type.Integer()), count: Type.Boolean() }),
      with: { by: { family: rates, id: ({ rate }: { rate?: number }) => rate } },
      allowed: (_trip, _params, context) => context.items.by?.cents !== 13 || 'Not for 13',
      apply (trip, { count }, { items: { by } }) {
        const price = by === undefined ? 0 : by.cents
        if (!count) return { ...trip, price }
        return { item: { ...trip, price }, others: { by: { ...by!, used: Number(by?.used) + 1 } } }
      }
    }
  }
})

for (const { name, make } of storages) {
  t.test(`an item of another family, over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = Fastify()
    const told: string[] = []
    app.register(rates, { storage, prefix: '/a', onCommitted: ({ family, id }) => { told.push(`${family} ${id}`) } })
    app.register(trips, { storage, prefix: '/a', version: 'v2' })
    await app.ready()
    const post = async (url: string, payload: object) => await app.inject({ method: 'POST', url, payload })
    for (const cents of [10, 13]) await post('/a/rates', { cents })
    await post('/a/rest/v2/trips', {})
    told.length = 0
    const price = async (payload: object) =>
      await app.inject({ method: 'PUT', url: '/a/rest/v2/trips/1/price', payload })
    t.match((await price({ rate: 1, count: false })).json(), { price: 10, revision: 2 })
    t.match((await app.inject('/a/rates/1')).json(), { used: 0, revision: 1 }, 'who is only read stays as it is')
    t.equal((await app.inject('/a/rates/1/commands')).json().items.length, 1)
    t.match((await price({ rate: 1, count: false })).json(), { revision: 2 }, 'nothing changes')
    t.match((await price({ rate: 1, count: true })).json(), { price: 10, revision: 3 },
      'where only the other changes, the item has a revision for the command too')
    t.match((await app.inject('/a/rates/1')).json(), { used: 1, revision: 2 })
    t.match((await app.inject('/a/rates/1/commands')).json().items[1], {
      rate: 1, action: 'PriceTrip', revision: 2, about: { family: 'trips', id: 1 }
    })
    const { body } = await app.inject('/a/rates/1?format=html')
    t.match(body, '<strong>Done: price the trip</strong>', 'its page shows what another did')
    t.strictSame(told, ['rates 1'])
    t.match((await price({ rate: 2, count: true })).json(), { status: 409, detail: 'Not for 13' })
    t.match((await price({ rate: 9, count: true })).json(), { status: 400, errors: [{ pointer: '/rate' }] })
    t.match((await price({ count: false })).json(), { price: 0, revision: 4 }, 'one that is not needed')
    t.match((await price({ count: true })).statusCode, 500, 'what is not there cannot be changed')

    const book = trips.service({ storage })
    t.match(await book.run('price', 1, { rate: 1, count: true }), { item: { price: 10 } })
    t.equal((await rates.service({ storage }).get(1)).used, 2)
  })
}

t.test('what is only read must still be so', async t => {
  const storage = memoryStorage()
  const clerk = rates.service({ storage })
  const [{ item: rate }] = [await clerk.create({ cents: 10 })]
  let edits = 0
  const slow: Storage = {
    ...storage,
    async commit (changes) {
      // Somebody changes the rate after it was read.
      const isDecided = changes.some(({ type }) => type === 'require')
      if (isDecided && edits++ === 0) await clerk.run('edit', rate.id, { cents: 20 })
      await storage.commit(changes)
    }
  }
  const book = trips.service({ storage: slow })
  await book.create({})
  t.match(await book.run('price', 1, { rate: 1, count: false }), { item: { price: 20 } }, 'it was decided again')
})

t.test('mistakes of a host', async t => {
  const define = (more: object) => () => defineFamily({
    name: 'things',
    singular: 'thing',
    fields: Type.Object({ id: Type.Integer(), size: Type.Integer({ default: 0 }), ...more }),
    operations: {
      grow: {
        name: 'grow',
        verb: 'grow',
        participle: 'grown',
        noun: 'growths',
        action: 'GrowThing',
        params: Type.Object({}),
        with: { other: { family: 'things', id: () => 2 } },
        apply: thing => thing
      }
    }
  })
  t.throws(define({ others: Type.Optional(Type.String()) }), { message: /"grow" may return "others"/ })
  const flawed = (other: unknown) => () => {
    const { definition } = define({})()
    const { operations } = definition as unknown as { operations: { grow: object } }
    defineFamily({ ...definition, operations: { grow: { ...operations.grow, with: other } } } as never)
  }
  t.throws(flawed({ other: { family: 'thing', id: () => 1 } }), { message: /"other": the family "thing" is not this/ })
  t.throws(flawed({ other: { family: 1, id: () => 1 } }), { message: /with "other": "family" must be the name/ })
  t.throws(flawed({ other: { family: 'things' } }), { message: /with "other": "id" is missing/ })
  t.throws(flawed({ other: { family: 'things', id: () => 1, of: 1 } }), { message: /"other": unknown member "of"/ })
  t.throws(flawed({ 'o-2': { family: 'things', id: () => 1 } }), { message: /with "o-2": its name must be letters/ })
  t.throws(flawed('other'), { message: /"with" must be an object/ })
  t.throws(flawed({ other: { family: Object.assign(() => {}, { definition: { name: 'x' } }), id: () => 1 } }), {
    code: 'FST_DEALBOOK_NO_FAMILY'
  })

  const storage = memoryStorage()
  const boot = async (mount: (app: FastifyInstance) => void) => {
    const app = Fastify()
    mount(app)
    await app.ready()
  }
  const away = { code: 'FST_DEALBOOK_NO_NEIGHBOUR', message: /needs the family "rates"/ }
  await t.rejects(boot(app => { app.register(trips, { storage }) }), away)
  await t.rejects(boot(app => {
    app.register(trips, { storage })
    app.register(rates, { storage, prefix: '/other' })
  }), away)
  await t.rejects(boot(app => {
    app.register(trips, { storage })
    app.register(async scope => {
      scope.addHook('onRequest', async () => {})
      scope.register(rates, { storage, unversioned: false })
    })
  }), away, 'a hook may be what guards it')
  await t.rejects(boot(app => {
    app.register(trips, { storage })
    app.register(rates, { storage: memoryStorage() })
  }), { code: 'FST_DEALBOOK_OTHER_STORAGE', message: /"price" also changes items of the family "rates"/ })
})
