import { randomUUID } from 'node:crypto'
import Fastify from 'fastify'
import t from 'tap'
import { accounts } from '../../examples/accounts.js'
import type { Committed, FamilyOptions, Intent, Storage } from '../../lib/index.js'
import {
  ConstraintError, customers, deals, defineFamily, memoryStorage, Problem, readMetrics, Type
} from '../../lib/index.js'
import type { Entry, Item, TestResponse } from '../deals/app.js'
import { createDeal, dealsApp, home, readDeal, readLog, withoutTimes } from '../deals/app.js'
import { anyStorage, storages } from '../storages.js'

interface Result {
  readonly status: number
  readonly replayed?: true
  readonly command?: Entry
  readonly item?: Item
  readonly problem?: Readonly<Record<string, unknown>>
}

const people = customers.extend({ create: ['age', 'children'] })

async function manyApp (storage: Storage, options: Partial<FamilyOptions> = {}) {
  const app = Fastify()
  app.register(deals, { storage, version: 'v1', ...options })
  app.register(people, { storage, ...options })
  await app.ready()
  const post = async (commands: readonly unknown[], more: object = {}, headers = {}): Promise<TestResponse> =>
    await app.inject({ method: 'POST', url: '/rest/commands', payload: { commands, ...more }, headers })
  const send = async (commands: readonly unknown[], more: object = {}, headers = {}): Promise<Result[]> => {
    const answer = await post(commands, more, headers)
    if (answer.statusCode !== 200) throw new Error(answer.body)
    return answer.json<{ items: Result[] }>().items
  }
  return { app, post, send }
}

const hold = (deal: unknown, id?: string) => ({ ...id && { id }, deal, action: 'HoldDeal', params: { reason: 'a' } })
const atomic = { atomic: true }
const typeOf = (problem: Result['problem']): unknown => problem?.['type']
const codes = (results: readonly Result[]): unknown[] => results.map(({ status }) => status)

for (const { name, make } of storages) {
  t.test(name, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const told: Committed[] = []
    const { app, post, send } = await manyApp(storage, {
      onCommitted: change => { told.push(change as unknown as Committed) }
    })
    t.teardown(() => app.close())

    t.test('each is answered as if it came alone', async t => {
      const used = randomUUID()
      await app.inject({ method: 'PUT', url: `/rest/commands/${used}`, payload: hold((await createDeal(app)).id) })
      // What is done before, the command, and the status that it has alone and in a list.
      const cases: [string, readonly string[], (id: string, command: string) => object, number][] = [
        ['done', [], (id, command) => hold(id, command), 201],
        ['nothing to change', [], (deal, id) => ({ id, deal, action: 'UnholdDeal' }), 201],
        ['wrong state', ['complete'], (id, command) => hold(id, command), 409],
        ['invalid', [], (deal, id) => ({ id, deal, action: 'HoldDeal', params: { reason: 5 } }), 400],
        ['unknown parameter', [], (deal, id) => ({ id, deal, action: 'HoldDeal', params: { raison: 'a' } }), 400],
        ['unknown action', [], (deal, id) => ({ id, deal, action: 'HodlDeal' }), 400],
        ['unknown member', [], (deal, id) => ({ ...hold(deal, id), foo: 1 }), 400],
        ['no deal', [], (_, id) => hold('none', id), 404],
        ['no id at all', [], (_, id) => hold('a b', id), 404],
        ['a wrong type', [], (_, id) => hold(5, id), 400],
        ['an id for something else', [], id => hold(id, used), 422]
      ]
      for (const [what, before, make, status] of cases) {
        const twins = [await createDeal(app), await createDeal(app)] as const
        for (const { id } of twins) {
          for (const verb of before) await app.inject({ method: 'PUT', url: `${home}/${id}/${verb}` })
        }
        const sent = twins.map(({ id }) => make(id, randomUUID()) as { id: string, deal: string })
        const [alone, listed] = sent as [typeof sent[0], typeof sent[0]]
        const { id: command, ...payload } = alone
        const put = async () => await app.inject({ method: 'PUT', url: `/rest/commands/${command}`, payload })
        for (const isAgain of [false, true]) {
          const [single, [one]] = [await put(), await send([listed])]
          t.equal(one?.status, isAgain && status === 201 ? 200 : status, what)
          t.equal(one?.status, single.statusCode, what)
          t.equal(one?.replayed, single.headers['idempotent-replayed'] === 'true' ? true : undefined, what)
          if (status >= 400) t.equal(typeOf(one?.problem), single.json<{ type: string }>().type, what)
          else t.match(one?.command, { id: listed.id, action: single.json<Entry>().action }, what)
        }
        const [first, second] = await Promise.all(twins.map(({ id }) => readDeal(app, id)))
        t.strictSame(withoutTimes(first as Item), withoutTimes(second as Item), what)
        const logs = await Promise.all(twins.map(({ id }) => readLog(app, id)))
        const [one, other] = logs.map(log => log.map(({ id, deal, createdAt, ...entry }) => entry))
        t.strictSame(one, other, what)
      }
    })

    t.test('pointers lead into the list, and one failure stops no other', async t => {
      const { id } = await createDeal(app)
      const results = await send([
        hold(id), { deal: id, action: 'HoldDeal', params: { raison: 'a' } }, 5, {}, { ...hold(id), customer: 1 },
        { deal: id, action: 'CreateDeal', params: { name: 'a', price: 1 } }, { ...hold(id), id: 'ä' },
        { deal: id, action: 'UnholdDeal', revision: 1 }, { deal: id, action: 'UnholdDeal', revision: 2 },
        { action: 'CreateDeal', params: { name: 'a' } }, { deal: id, action: 'UnholdDeal' }, null, 'deal', [hold(id)]
      ])
      t.strictSame(codes(results), [201, 400, 400, 400, 400, 400, 400, 412, 201, 400, 200, 400, 400, 400])
      const pointers = results.map(({ problem }) =>
        (problem?.['errors'] as { pointer: string }[] | undefined)?.[0]?.pointer)
      t.strictSame(pointers, [undefined, '/commands/1/params/reason', '/commands/2', '/commands/3', '/commands/4',
        '/commands/5/deal', '/commands/6/id', '/commands/7', undefined, '/commands/9/params/price', undefined,
        '/commands/11', '/commands/12', '/commands/13'])
      t.match(results[1]?.problem, { detail: /^\/commands\/1\/params\/reason is required/ })
      t.match(results[8]?.item, { held: false, revision: 3, links: { self: `${home}/${id}` } })
      t.strictSame(results[10]?.command, {
        deal: id,
        action: 'UnholdDeal',
        outcome: 'unchanged',
        revision: 3,
        createdAt: results[10]?.command?.createdAt,
        links: { deal: `${home}/${id}` }
      }, 'what changes nothing, without an id, is not in the log')
    })

    t.test('all in one commit: each sees what those before it did', async t => {
      const { id } = await createDeal(app)
      const other = await createDeal(app)
      told.length = 0
      const before = readMetrics(storage)
      const commands = [
        hold(id, randomUUID()), { id: randomUUID(), deal: id, action: 'UnholdDeal', revision: 2 },
        { id: randomUUID(), action: 'CreateCustomer', params: { age: 5, children: 0 } },
        { id: randomUUID(), action: 'CreateCustomer', params: { age: 6, children: 0 } },
        { id: randomUUID(), deal: id, action: 'CompleteDeal' }, { id: randomUUID(), deal: id, action: 'UnholdDeal' },
        { id: randomUUID(), deal: other.id, action: 'DeleteDeal' }
      ]
      const results = await send(commands, atomic)
      t.strictSame(codes(results), [201, 201, 201, 201, 201, 201, 201])
      t.strictSame(results.map(({ item }) => item?.revision), [2, 3, 1, 1, 4, 4, undefined])
      t.equal(Number(results[3]?.item?.id), Number(results[2]?.item?.id) + 1, 'ids are counted')
      t.match(await readDeal(app, id), { status: 'completed', revision: 4 })
      t.equal((await app.inject(`${home}/${other.id}`)).statusCode, 404)
      t.match((await readLog(app, id)).map(({ id, action, outcome, revision }) => [id, action, outcome, revision]), [
        [/./, 'CreateDeal', 'done', 1], [commands[0]?.id, 'HoldDeal', 'done', 2],
        [commands[1]?.id, 'UnholdDeal', 'done', 3], [commands[4]?.id, 'CompleteDeal', 'done', 4],
        [commands[5]?.id, 'UnholdDeal', 'unchanged', 4]
      ])
      const changes = told.map(({ command, revision, before, after }) =>
        [command, revision, before?.revision, after?.revision])
      t.strictSame(changes, [
        [commands[0]?.id, 2, 1, 2], [commands[1]?.id, 3, 2, 3], [commands[2]?.id, 1, undefined, 1],
        [commands[3]?.id, 1, undefined, 1], [commands[4]?.id, 4, 3, 4], [commands[6]?.id, 2, 1, undefined]
      ], 'the host is notified of each change, in this order')
      const counted = readMetrics(storage)
      t.equal(Number(counted['commands_done_total']) - Number(before['commands_done_total']), 6)
      t.equal(Number(counted['commands_unchanged_total']) - Number(before['commands_unchanged_total']), 1)

      told.length = 0
      const again = await post(commands, atomic)
      t.equal(again.headers['idempotent-replayed'], 'true')
      const { items } = again.json<{ items: Result[] }>()
      t.strictSame(items.map(({ status, replayed, command }) => [status, replayed, command]),
        results.map(({ command }) => [200, true, command]), 'sent again, all are replayed')
      t.strictSame(told, [])
      t.equal((await readDeal(app, id)).revision, 4)
    })

    t.test('or none: the problem names the command, and nothing is left of the others', async t => {
      const [first, second] = [await createDeal(app), await createDeal(app)]
      await app.inject({ method: 'PUT', url: `${home}/${second.id}/complete` })
      const ids = Array.from({ length: 4 }, () => randomUUID())
      const refusals: [object, number, string][] = [
        [hold(second.id, ids[3]), 409, '/commands/3'],
        [hold(second.id), 409, '/commands/3'],
        [{ ...hold(second.id, ids[3]), revision: 7 }, 412, '/commands/3'],
        [hold('none'), 404, '/commands/3'],
        [{ deal: first.id, action: 'CancelDeal', params: { reason: 'a' } }, 400, '/commands/3/params/amercement'],
        [hold(second.id, ids[0]), 422, '/commands/3'],
        [{ action: 'CreateDeal', params: {} }, 400, '/commands/3/params/name']
      ]
      told.length = 0
      for (const [command, status, pointer] of refusals) {
        const answer = await post([
          hold(first.id, ids[0]), { id: ids[1], deal: first.id, action: 'UnholdDeal' },
          { id: ids[2], action: 'CreateCustomer', params: { age: 1, children: 1 } }, command
        ], atomic)
        t.equal(answer.statusCode, status, answer.body)
        t.equal(answer.json().errors[0].pointer, pointer)
        t.match(answer.json().detail, pointer)
        t.equal(answer.json().instance, '/rest/commands')
        t.equal((await readDeal(app, first.id)).revision, 1)
        t.equal((await readLog(app, first.id)).length, 1)
        for (const id of ids) t.equal((await app.inject(`/rest/commands/${id}`)).statusCode, 404)
      }
      t.strictSame(told, [])
      const [done] = await send([hold(first.id, ids[0])], atomic)
      t.equal(done?.status, 201, 'the ids are still free')
    })

    t.test('ids that come twice, and some that ran before', async t => {
      const { id } = await createDeal(app)
      const [one, two] = [randomUUID(), randomUUID()]
      for (const more of [{}, atomic]) {
        const deal = (await createDeal(app)).id
        const twice = [hold(deal, `${one}${deal}`), hold(deal, `${one}${deal}`)]
        t.strictSame((await send(twice, more)).map(({ status, replayed }) => [status, replayed]),
          [[201, undefined], [200, true]])
      }
      await send([hold(id, one)])
      const rest = await send([hold(id, one), { id: two, deal: id, action: 'UnholdDeal' }], atomic)
      t.strictSame(codes(rest), [200, 201])
      t.equal((await readDeal(app, id)).revision, 3)
      const refused = randomUUID()
      const completed = await createDeal(app)
      await app.inject({ method: 'PUT', url: `${home}/${completed.id}/complete` })
      t.strictSame(codes(await send([hold(completed.id, refused)])), [409])
      const complete = { id: randomUUID(), deal: id, action: 'CompleteDeal' }
      const answer = await post([complete, hold(completed.id, refused)], atomic)
      t.strictSame([answer.statusCode, answer.json().errors[0].pointer], [409, '/commands/1'], 'it was refused before')
      t.equal((await readDeal(app, id)).revision, 3)
    })

    t.test('an Idempotency-Key makes commands without ids safe to send again', async t => {
      const { id } = await createDeal(app)
      const create = (age: number) => ({ action: 'CreateCustomer', params: { age, children: 1 } })
      for (const more of [{}, atomic]) {
        const key = { 'idempotency-key': randomUUID() }
        const commands = [create(1), hold(id, randomUUID())]
        const [first, again] = [await send(commands, more, key), await send(commands, more, key)]
        t.strictSame(again.map(({ status, replayed }) => [status, replayed]), [[200, true], [200, true]])
        t.strictSame(again[0]?.item, first[0]?.item)
        t.strictSame(codes(await send([create(2)], {}, key)), [422])
      }
    })

    t.test('100 commands', async t => {
      const made = await Promise.all(Array.from({ length: 50 }, () => createDeal(app)))
      for (const more of [{}, atomic]) {
        const commands = made.flatMap(({ id }) =>
          [hold(id, randomUUID()), { id: randomUUID(), deal: id, action: 'UnholdDeal' }])
        t.strictSame(new Set(codes(await send(commands, more))), new Set([201]))
        const again = await post(commands, more)
        t.equal(again.headers['idempotent-replayed'], 'true')
        t.equal((await post([...commands, hold('a')], more)).json().errors[0].pointer, '/commands')
      }
      for (const { id } of made.slice(0, 3)) t.equal((await readDeal(app, id)).revision, 5)
    })

    t.test('items that several commands change, and what is read by others', async t => {
      const book = accounts.service({ storage })
      const open = async (balance: number): Promise<string> =>
        (await book.create({ owner: 'ann', balance })).item.id as string
      const [a, b, c] = [await open(10), await open(0), await open(0)] as [string, string, string]
      const move = (id: string, to: string, amount: number) =>
        ({ operation: 'transfer-money', id, params: { to, amount } }) as const
      const all = await book.runAll([move(a, b, 10), move(b, c, 10), move(c, a, 4)], { atomic: true })
      t.strictSame(all.map(({ item }) => item?.balance), [0, 0, 6])
      const read = async () => await Promise.all([a, b, c].map(async id => {
        const { balance, revision } = await book.get(id)
        return [balance, revision]
      }))
      t.strictSame(await read(), [[4, 3], [0, 3], [6, 3]])
      t.equal((await book.log(a)).items.length, 3, 'each has its entry')
      await t.rejects(book.runAll([move(a, b, 4), move(a, b, 1)], { atomic: true }),
        { code: 'wrong-state', message: '/commands/1: There are only 0 cents' })
      t.strictSame(await read(), [[4, 3], [0, 3], [6, 3]])
      const each = await book.runAll([move(a, b, 4), move(a, b, 1), move(b, 'none', 1)])
      t.match(each, [
        { status: 'fulfilled', value: { item: { balance: 0 } } },
        { status: 'rejected', reason: { code: 'wrong-state', message: '/commands/1: There are only 0 cents' } },
        { status: 'rejected', reason: { errors: [{ pointer: '/commands/2/params/to' }] } }
      ])
    })

    if (another !== undefined) {
      t.test('two processes: all or nothing, and none twice', async t => {
        const books = [storage, another()].map(storage => deals.service({ storage }))
        const [left, right] = [await createDeal(app), await createDeal(app)]
        const batches = Array.from({ length: 12 }, (_, n) => [left, right].map(({ id }) => ({
          operation: 'change-price', id, params: { newPrice: n + 200, reason: 'a' }, command: `${id}-${n}`
        } as const)))
        // Each is sent by both, and single commands get in between.
        await Promise.all(books.flatMap(book => batches.flatMap((batch, n) => [
          book.runAll(n % 2 === 0 ? batch : batch.toReversed(), { atomic: true }),
          book.run('change-price', left.id, { newPrice: 1000 + n, reason: 'b' }, { command: `single-${left.id}-${n}` })
        ])))
        const [ofLeft, ofRight] = await Promise.all([left, right].map(({ id }) => readLog(app, id)))
        const batched = (log: readonly Entry[] = []) =>
          log.filter(({ params }) => params?.['reason'] === 'a').map(({ params }) => params?.['newPrice'])
        t.equal(ofLeft?.length, 25)
        t.equal(ofRight?.length, 13)
        t.strictSame(ofLeft?.map(({ revision }) => revision), Array.from({ length: 25 }, (_, n) => n + 1))
        t.strictSame(batched(ofLeft), batched(ofRight), 'in the same order on both')
      })

      t.test('two processes that want the same make it once, and the other is told', async t => {
        const books = [storage, another()].map(storage => deals.service({ storage }))
        for (let round = 0; round < 10; round++) {
          const { id } = await createDeal(app)
          const commands = [
            { operation: 'hold', id, params: { reason: 'a' }, command: randomUUID() },
            { operation: 'unhold', id, command: randomUUID() },
            { operation: 'complete', id, command: randomUUID() }
          ] as const
          const both = await Promise.all(books.map(book => book.runAll(commands, { atomic: true })))
          const replayed = both.map(all => all.map(({ replayed }) => replayed)).sort()
          t.strictSame(replayed, [[false, false, false], [true, true, true]])
          t.equal((await readLog(app, id)).length, 4)
        }
      })
    }
  })
}

for (const { name, make } of anyStorage) {
  t.test(`the route, over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { app, post } = await manyApp(storage)
    t.teardown(() => app.close())
    const { id } = await createDeal(app)

    t.test('a body that is none', async t => {
      const bodies: [unknown, string][] = [
        [{}, '/commands'], [{ commands: [] }, '/commands'], [{ commands: {} }, '/commands'],
        [{ commands: [hold(id)], atomic: 1 }, '/atomic'], [{ commands: [hold(id)], atomci: true }, '/atomci'],
        [[], ''], [{ commands: Array(101).fill(hold(id)) }, '/commands']
      ]
      for (const [payload, pointer] of bodies) {
        const answer = await app.inject({ method: 'POST', url: '/rest/commands', payload: payload as object })
        t.equal(answer.statusCode, 400, answer.body)
        t.equal(answer.json().errors[0].pointer, pointer)
      }
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const form = await app.inject({ method: 'POST', url: '/rest/commands', payload: 'a=b', headers })
      t.equal(form.statusCode, 415)
      for (const name of ['if-match', 'if-none-match', 'if-unmodified-since']) {
        t.equal((await post([hold(id)], {}, { [name]: '"1"' })).statusCode, 400, name)
      }
      const payload = { commands: [hold(id)] }
      t.equal((await app.inject({ method: 'POST', url: '/rest/commands?a=1', payload })).statusCode, 400)
      t.equal((await readDeal(app, id)).revision, 1)
    })

    t.test('methods and representations', async t => {
      for (const url of ['/rest/commands', '/rest/commands/']) {
        t.match((await app.inject({ method: 'OPTIONS', url })).headers['allow'], /^GET, HEAD, OPTIONS, POST\b/)
        t.equal((await app.inject({ method: 'PUT', url, payload: {} })).statusCode, 405)
        t.equal((await app.inject({ method: 'POST', url, payload: { commands: [hold('none')] } })).statusCode, 200)
      }
      const xml = await post([hold('none')], {}, { accept: 'application/xml' })
      t.match(xml.body, '<commands><items><item><status>404</status><problem>')
      t.equal((await post([hold('none')], {}, { accept: 'text/html' })).statusCode, 200)
      t.equal((await post([hold(id)], {}, { accept: 'text/csv' })).statusCode, 406)
      const minimal = await post([hold(id), hold('none')], {}, { prefer: 'return=minimal' })
      t.equal(minimal.headers['preference-applied'], 'return=minimal')
      t.match(minimal.json().items, [{ status: 201 }, { status: 404, problem: {} }])
      t.strictSame(Object.keys(minimal.json().items[0]), ['status'])
    })

    t.test('only where the form is mounted', async t => {
      const without = await dealsApp(memoryStorage(), { forms: ['verb'] })
      t.equal((await without.inject({ method: 'POST', url: '/rest/commands', payload: {} })).statusCode, 405)
      const other = await dealsApp(memoryStorage(), { unversioned: false })
      t.equal((await other.inject({ method: 'POST', url: '/rest/commands', payload: {} })).statusCode, 404)
      const reading = Fastify()
      reading.register(customers, { storage: memoryStorage() })
      t.equal((await reading.inject({ method: 'POST', url: '/rest/commands', payload: {} })).statusCode, 404)
      const hosts = Fastify()
      hosts.post('/rest/commands', async () => 'ours')
      hosts.register(deals, { storage: memoryStorage(), version: 'v1' })
      t.equal((await hosts.inject({ method: 'POST', url: '/rest/commands', payload: {} })).body, 'ours')
    })

    t.test('maxCommands', async t => {
      const { post } = await manyApp(memoryStorage(), { maxCommands: 300 })
      const all = Array.from({ length: 300 }, (_, n) => ({ id: `c-${n}`, ...hold('none'), revision: 1 }))
      t.equal((await post(all)).statusCode, 200, 'as many members are let in')
      t.match((await post([...all, all[0]])).json(), { errors: [{ detail: 'must have 1 to 300 commands' }] })
      for (const others of [{ maxCommands: 500 }, {}]) {
        const mixed = Fastify()
        mixed.register(deals, { storage: memoryStorage(), version: 'v1', ...others })
        mixed.register(people, { storage: memoryStorage(), maxCommands: 2 })
        const answer = await mixed.inject({ method: 'POST', url: '/rest/commands', payload: { commands: [1, 2, 3] } })
        t.match(answer.json(), { errors: [{ detail: 'must have 1 to 2 commands' }] }, 'the least counts')
      }
      await t.rejects(manyApp(memoryStorage(), { maxCommands: 0 }), /maxCommands/)
    })

    t.test('preconditions are required where they are', async t => {
      const { app, send } = await manyApp(memoryStorage(), { preconditions: 'required' })
      const { id } = await createDeal(app)
      const results = await send([hold(id), { ...hold(id), revision: 2 }, { ...hold(id), revision: 1 }])
      t.strictSame(codes(results), [428, 412, 201])
      t.match(results[0]?.problem, { detail: /Send revision with/ })
    })

    t.test('versions that end', async t => {
      const ended = Fastify()
      ended.register(deals, { storage: memoryStorage(), version: 'v1', sunset: '2020-01-01', successor: '/v2' })
      ended.register(people, { storage: memoryStorage(), deprecation: '2020-01-01', successor: '/people' })
      const create = { action: 'CreateCustomer', params: { age: 1, children: 0 } }
      const commands = [hold('a'), create, create, create]
      const answer = await ended.inject({ method: 'POST', url: '/rest/commands', payload: { commands } })
      t.strictSame(codes(answer.json().items), [410, 201, 201, 201])
      t.equal(answer.headers['deprecation'], '@1577836800')
      t.equal(answer.headers['link'], '</people>; rel="successor-version"', 'each once')
      t.equal(answer.headers['sunset'], undefined, 'it is in its problem')
      t.match(answer.json().items[0].problem, { detail: 'This version ended on 2020-01-01T00:00:00.000Z; use /v2' })
    })

    t.test('one commit is in one storage', async t => {
      const two = Fastify()
      two.register(deals, { storage: memoryStorage(), version: 'v1' })
      two.register(people, { storage: memoryStorage() })
      const commands = ['CreateDeal', 'CreateCustomer'].map(action =>
        ({ action, params: action === 'CreateDeal' ? { name: 'a', price: 1 } : { age: 1, children: 0 } }))
      const send = async (more: object) =>
        await two.inject({ method: 'POST', url: '/rest/commands', payload: { commands, ...more } })
      const answer = await send(atomic)
      t.match([answer.statusCode, answer.json().detail], [400, /^\/commands\/1 is in a different storage/])
      t.strictSame(codes((await send({})).json().items), [201, 201])
    })

    t.test('a renamed version', async t => {
      const renamed = Fastify()
      renamed.register(deals.rename({ name: 'title' }), { storage: memoryStorage(), version: 'v2' })
      const post = async (commands: unknown[], more = {}) =>
        (await renamed.inject({ method: 'POST', url: '/rest/commands', payload: { commands, ...more } })).json()
      for (const more of [{}, atomic]) {
        const { items: [{ item }] } = await post([{ action: 'CreateDeal', params: { title: 'a', price: 1 } }], more)
        t.match(item, { title: 'a' })
        const edit = { deal: item.id, action: 'EditDeal', params: { title: 'b' } }
        const { items } = await post([edit, hold(item.id)], more)
        t.match(items, [{ command: { params: { title: 'b' } }, item: { title: 'b' } }, { item: { title: 'b' } }])
      }
    })

    t.test('authorize is called for each, as for one', async t => {
      const asked: Intent[] = []
      const { app, post, send } = await manyApp(memoryStorage(), {
        authorize (_request, intent) {
          asked.push(intent)
          if (intent.action === 'CompleteDeal') throw new Problem('forbidden', 'Not you')
          if (intent.action === 'UnholdDeal') throw Object.assign(new Error('Sign in'), { statusCode: 401 })
          if (intent.action === 'read' && intent.family === 'deals') throw new Problem('forbidden', 'Blind')
          return { principal: 'ann' }
        }
      })
      const create = { action: 'CreateDeal', params: { name: 'a', price: 1 } }
      const [made] = await send([create])
      t.strictSame(Object.keys(made as Result), ['status', 'command'], 'it may be written, but not read')
      const deal = made?.command?.['deal']
      asked.length = 0
      const results = await send([hold(deal), { deal, action: 'CompleteDeal' }, { deal, action: 'UnholdDeal' }])
      t.strictSame(codes(results), [201, 403, 401])
      t.equal(results[0]?.command?.['principal'], 'ann')
      t.strictSame(asked.map(({ action, id }) => [action, id]),
        [['HoldDeal', deal], ['CompleteDeal', deal], ['UnholdDeal', deal], ['read', deal]])
      for (const [action, status] of [['CompleteDeal', 403], ['UnholdDeal', 401]] as const) {
        const answer = await post([create, { deal, action }], atomic)
        t.strictSame([answer.statusCode, answer.json().errors[0].pointer], [status, '/commands/1'])
      }
      t.equal((await app.inject('/rest/commands')).statusCode, 200)
    })

    t.test('of several that are refused, the first is named', async t => {
      const { post } = await manyApp(memoryStorage(), {
        async authorize (_request, { action }) {
          if (action === 'HoldDeal') await new Promise(resolve => setImmediate(resolve))
          throw new Problem('forbidden', action)
        }
      })
      const answer = await post([hold('a'), { deal: 'a', action: 'UnholdDeal' }], atomic)
      t.match(answer.json(), { status: 403, errors: [{ pointer: '/commands/0' }] })
    })

    t.test('what the grant hides is not there, and its log entry neither', async t => {
      const where = [{ field: 'price', op: 'lte', value: 10 }] as const
      const { app, post, send } = await manyApp(memoryStorage(), {
        authorize: ({ headers }, { family }) => family === 'deals' && headers['x-all'] === undefined ? { where } : {}
      })
      const make = async (price: number) => (await app.inject({
        method: 'POST', url: `${home}/`, payload: { name: 'a', price }, headers: { 'x-all': '1' }
      })).json().id as string
      const [cheap, dear] = [await make(5), await make(50)]
      t.strictSame(codes(await send([hold(cheap), hold(dear)])), [201, 404])
      t.equal((await post([hold(cheap), hold(dear)], atomic)).statusCode, 404)
      const raise = { deal: cheap, action: 'ChangeDealPrice', params: { newPrice: 20, reason: 'a' } }
      const answer = await post([{ deal: cheap, action: 'UnholdDeal' }, raise], atomic)
      t.strictSame([answer.statusCode, answer.json().errors[0].pointer], [403, '/commands/1'])
      t.match((await app.inject(`${home}/${cheap}`)).json(), { held: true, price: 5 })
    })

    t.test('the log of the host has each', async t => {
      const lines: string[] = []
      const logged = Fastify({ logger: { stream: { write: (line: string) => { lines.push(line) } } } })
      logged.register(deals, { storage: memoryStorage(), version: 'v1' })
      const create = { action: 'CreateDeal', params: { name: 'a', price: 1 } }
      await logged.inject({ method: 'POST', url: '/rest/commands', payload: { commands: [create, create] } })
      t.equal(lines.filter(line => line.includes('"msg":"command"') && line.includes('CreateDeal')).length, 2)
    })
  })
}

t.test('references and unique values', async t => {
  for (const { make } of storages) {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const rooms = defineFamily({
      name: 'rooms',
      singular: 'room',
      fields: Type.Object({
        id: Type.String(), label: Type.Optional(Type.String()), next: Type.Optional(Type.String())
      }),
      create: ['id', 'label', 'next'],
      edit: ['label', 'next'],
      unique: [['label']],
      references: { next: 'rooms' }
    })
    const book = rooms.service({ storage })
    const list = ['p', 'q'].map(id => ({ operation: 'create' as const, params: { id } }))
    const running = book.runAll(list)
    list.splice(1)[0]!.params.id = 'changed'
    t.match(await running, [{ value: { item: { id: 'p' } } }, { value: { item: { id: 'q' } } }], 'as it was given')
    await book.runAll([{ operation: 'remove', id: 'p' }, { operation: 'remove', id: 'q' }])
    await book.runAll([
      { operation: 'create', params: { id: 'a', label: 'x', next: 'b' } },
      { operation: 'create', params: { id: 'b', next: 'a' } }
    ], { atomic: true })
    await t.rejects(book.remove('a'), { code: 'in-use' })
    await t.rejects(book.runAll([
      { operation: 'edit', id: 'b', params: { label: 'z' } },
      { operation: 'edit', id: 'b', params: { next: 'c' }, command: 'c' }
    ], { atomic: true }), { code: 'invalid-body', errors: [{ pointer: '/commands/1/params/next' }] })
    // Also where it would be free: not every database can do that in one commit.
    for (const label of ['y', null]) {
      await t.rejects(book.runAll([
        { operation: 'edit', id: 'a', params: { label } as { label: string } },
        { operation: 'edit', id: 'b', params: { label: 'x' } }
      ], { atomic: true }), { code: 'taken', errors: [{ pointer: '/commands/1/params/label' }] })
    }
    await t.rejects(book.runAll([
      { operation: 'edit', id: 'b', params: { label: 'q' } }, { operation: 'edit', id: 'a', params: { label: 'q' } }
    ], { atomic: true }), { code: 'taken', errors: [{ pointer: '/commands/1/params/label' }] })
    t.match((await book.find()).items, [{ id: 'a', label: 'x', revision: 1 }, { id: 'b', revision: 1 }])
    await book.runAll([{ operation: 'remove', id: 'a' }, { operation: 'remove', id: 'b' }], { atomic: true })
    t.equal((await book.find()).items.length, 0, 'references are checked for the result')
  }
})

t.test('several commands of one commit change an item once', async t => {
  for (const { make } of storages) {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const bells = defineFamily({
      name: 'bells',
      singular: 'bell',
      fields: Type.Object({ id: Type.String(), tone: Type.Integer(), hue: Type.Optional(Type.String()) }),
      create: ['id', 'tone'],
      edit: ['tone', 'hue'],
      unique: [['tone', 'hue']]
    })
    const book = bells.service({ storage })
    const create = (id: string, tone = 1) => ({ operation: 'create', params: { id, tone } }) as const
    const edit = (id: string, tone: number, more = {}) =>
      ({ operation: 'edit', id, params: { tone, ...more } }) as const
    const remove = (id: string) => ({ operation: 'remove', id }) as const
    type Commands = readonly ReturnType<typeof create | typeof edit | typeof remove>[]
    const rows: readonly (readonly [id: string, commands: Commands, expected: unknown])[] = [
      ['a', [create('a'), edit('a', 2), edit('a', 3)], [3, 3]],
      ['a', [edit('a', 4), edit('a', 5)], [5, 5]],
      ['a', [edit('a', 6), remove('a')], 'not-found'],
      ['b', [create('b'), edit('b', 2), remove('b')], 'not-found'],
      ['c', [create('c'), remove('c')], 'not-found']
    ]
    for (const [id, commands, expected] of rows) {
      const done = await book.runAll(commands, { atomic: true })
      t.strictSame(await book.get(id).then(({ revision, tone }) => [revision, tone], ({ code }) => code), expected)
      t.ok(done.every(({ changed }) => changed))
      const { items } = await book.log(id)
      t.strictSame(items.slice(-commands.length).map(({ revision }) => revision),
        done.map(({ command }) => command.revision), 'each is in the log')
    }
    const refused: readonly (readonly [commands: Commands, pointer: string])[] = [
      [[create('d'), create('d')], '/commands/1/params/id'],
      [[create('d'), remove('d'), create('d')], '/commands/2/params/id'],
      [[create('e'), edit('e', 2, { hue: 'x' }), create('f', 2), edit('f', 2, { hue: 'x' })], '/commands/3/params/tone']
    ]
    for (const [commands, pointer] of refused) {
      await t.rejects(book.runAll(commands, { atomic: true }), { code: 'taken', errors: [{ pointer }] })
      t.equal((await book.find()).items.length, 0)
    }
    t.equal((await book.runAll([create('g', 7), create('h', 7), edit('h', 7, { hue: 'y' }), edit('g', 7, { hue: 'z' })],
      { atomic: true })).length, 4, 'where not all values are the same, or some are absent')
  }
})

t.test('a storage that fails', async t => {
  const inner = memoryStorage()
  let failure: 'before' | 'after' | undefined
  let commits = 0
  const failing: Storage = {
    ...inner,
    async commit (changes) {
      commits++
      const how = failure
      failure = undefined
      if (how === 'before') throw new Error('It burns')
      await inner.commit(changes)
      if (how === 'after') throw new Error('It burns')
    }
  }
  const { app, post, send } = await manyApp(failing)
  const make = async () => (await createDeal(app)).id
  const ids = () => [randomUUID(), randomUUID()]
  const list = (deal: string, [one, two]: string[]) => [hold(deal, one), { id: two, deal, action: 'UnholdDeal' }]

  const [deal, given] = [await make(), ids()]
  failure = 'before'
  const answer = await post(list(deal, given), atomic)
  t.strictSame([answer.statusCode, answer.headers['retry-after']], [503, '1'])
  t.equal(answer.json().errors, undefined, 'it is the fault of none of them')
  t.equal((await readDeal(app, deal)).revision, 1)
  t.strictSame(codes(await send(list(deal, given), atomic)), [201, 201], 'sent again, it is done')

  const [other, others] = [await make(), ids()]
  failure = 'after'
  t.equal((await post(list(other, others), atomic)).statusCode, 503)
  commits = 0
  t.strictSame(codes(await send(list(other, others), atomic)), [200, 200], 'sent again, the truth is found')
  t.equal(commits, 0)
  t.equal((await readDeal(app, other)).revision, 3)

  const [third, thirds, last] = [await make(), ids(), await make()]
  failure = 'before'
  // They are committed side by side.
  const [first, , one] = codes(await send([...list(third, thirds), hold(last)]))
  t.strictSame([first, one].sort(), [201, 503], 'each for itself')
  t.equal((await send(list(third, thirds)))[0]?.status, first === 503 ? 201 : 200)
})

t.test('what a command alone must have, and in which order its flaws are listed', async t => {
  const { app, send } = await manyApp(memoryStorage())
  t.teardown(() => app.close())
  const { id: deal } = await createDeal(app)
  const refuse = async (payload: object, command = 'a') => {
    const answer = await app.inject({ method: 'PUT', url: `/rest/commands/${command}`, payload })
    t.equal(answer.statusCode, 400)
    return answer.json<{ detail: string }>().detail
  }
  const [{ item } = {} as Result] = await send([{ action: 'CreateCustomer', params: {} }])
  const none = 'The body must have one of these, with the id of the item: deal, customer'
  t.equal(await refuse({}), none)
  t.equal(await refuse({ customer: item?.id, action: 'DeleteCustomer' }), '/action must be one of RestoreCustomer.')
  t.equal(await refuse({ action: 'CreateDeal', params: { name: 'a', price: 1 } }), none)
  t.match(await refuse({ deal, action: 'CreateCustomer' }), '/action must be one of HoldDeal')
  t.match(await refuse({ deal, action: 'hold' }, 'a%20b'), 'A command id has')
  const [flawed, unknown] = await send([{ revision: '1', deal: 1, params: 1, action: 1, id: 1 }, { deal, hold: 1 }])
  const pointers = ['id', 'action', 'params', 'deal', 'revision'].map(name => ({ pointer: `/commands/0/${name}` }))
  t.match(flawed?.problem, { errors: pointers })
  t.match(unknown?.problem, { detail: '/commands/1/action is required', errors: { length: 2 } })
  t.match(unknown?.problem, { errors: [{}, { detail: 'is unknown. Allowed are id, action, params, deal, revision' }] })
})

t.test('a command has the id that it came with, also beside an Idempotency-Key', async t => {
  const { app, post } = await manyApp(memoryStorage())
  t.teardown(() => app.close())
  const { id: deal } = await createDeal(app)
  const [one, two] = [hold(deal, 'one'), { deal, action: 'UnholdDeal' }]
  for (const [commands, ids, isReplayed] of [
    [[one], ['one'], undefined], [[one, two], ['one', undefined], undefined], [[one, two], ['one', undefined], 'true']
  ] as const) {
    const answer = await post(commands, {}, { 'idempotency-key': 'key' })
    const { items } = answer.json<{ items: Result[] }>()
    t.match(items.map(({ command }) => command?.id), ids.map(id => id ?? /^[\da-f-]{36}$/))
    t.equal(answer.headers['idempotent-replayed'], isReplayed, 'only if all ran before')
  }
})

t.test('a failure names no command, a rule of the database does, and the host is told of both', async t => {
  const lines: { level: number, msg: string, err?: { message: string }, reason?: string }[] = []
  const app = Fastify({ logger: { stream: { write: (line: string) => { lines.push(JSON.parse(line)) } } } })
  t.teardown(() => app.close())
  const inner = memoryStorage()
  app.register(deals, {
    storage: {
      ...inner,
      async commit (changes) {
        const odd = changes.find(change => 'item' in change && change.item['name'] === 'odd')
        if (odd !== undefined) throw new ConstraintError('deals', 'a', 'value', { fields: ['name'] })
        await inner.commit(changes)
      }
    },
    version: 'v1',
    authorize (_request, { action }) { if (action === 'UnholdDeal') throw new Error('It burns') }
  })
  const create = (name: string) => ({ action: 'CreateDeal', params: { name, price: 1 } })
  const commands = [hold('none'), { deal: 'a', action: 'UnholdDeal' }, create('odd'), create('tea')]
  const answer = await app.inject({ method: 'POST', url: '/rest/commands', payload: { commands } })
  const { items } = answer.json<{ items: Result[] }>()
  t.strictSame(codes(items), [404, 500, 409, 201])
  const pointers = items.map(({ problem }) => (problem?.['errors'] as { pointer: string }[] | undefined)?.[0]?.pointer)
  t.strictSame(pointers, ['/commands/0', undefined, '/commands/2/params/name', undefined])
  const told = lines.filter(({ msg }) => !/^(incoming request|request completed|command)$/.test(msg))
  t.strictSame(told.map(({ level, err, reason }) => [level, err?.message ?? reason]),
    [[50, 'It burns'], [30, 'deals a: the database refuses it: name value']])
})

t.test('the items of one commit are read together', async t => {
  const asked: unknown[] = []
  const inner = memoryStorage()
  const { app, send } = await manyApp({
    ...inner,
    get (family, id) {
      asked.push([family, id])
      return inner.get(family, id)
    },
    find (family, query) {
      const [first] = query.where
      asked.push([family, first !== undefined && 'values' in first ? first.values : undefined])
      return inner.find(family, query)
    }
  })
  t.teardown(() => app.close())
  const made = await Promise.all(Array.from({ length: 100 }, async () => (await createDeal(app)).id))
  const [first = '', second = ''] = made
  const commands = made.map(id => randomUUID() + id)
  const unhold = (deal: string) => ({ deal, action: 'UnholdDeal' })
  const create = { action: 'CreateDeal', params: { name: 'Tea', price: 1 } }
  for (const [list, reads] of [
    [made.map((id, index) => hold(id, commands[index])), [['deals', made], ['commands', commands]]],
    [[unhold(first), unhold(first), unhold(first), unhold(second)], [['deals', [first, second]]]],
    [[create, unhold(second), create], [['deals', [second]]]],
    [[create, create], []]
  ] as const) {
    asked.length = 0
    await send(list, atomic, { prefer: 'return=minimal' })
    t.strictSame(asked, reads)
  }
})

t.test('a mistake of a program is found before anything is done', async t => {
  const book = deals.service({ storage: memoryStorage() })
  const create = { operation: 'create', params: { name: 'a', price: 1 } } as const
  await t.rejects(book.runAll([create, { operation: 'hodl' } as never]), { code: 'FST_DEALBOOK_UNKNOWN_OPERATION' })
  await t.rejects(book.runAll([create, { ...create, reason: 1 } as never]), { code: 'FST_DEALBOOK_INVALID_OPTION' })
  await t.rejects(book.runAll([create], { atomci: true } as never), { code: 'FST_DEALBOOK_INVALID_OPTION' })
  t.equal((await book.find()).items.length, 0)
  t.strictSame(await book.runAll([]), [])
  t.strictSame(await book.runAll([], { atomic: true }), [])
  await t.rejects(book.runAll([create, create], { atomic: true, signal: AbortSignal.abort('late') }), 'late')
  t.equal((await book.find()).items.length, 0)
})

t.test('a refusal that comes of the same commands, run by another process meanwhile, is none', async t => {
  const inner = memoryStorage()
  const [first, setUp] = [deals.service({ storage: inner }), deals.service({ storage: inner })]
  const { item: { id } } = await setUp.create({ name: 'Tea', price: 1 })
  const commands = [
    { operation: 'hold', id, params: { reason: 'a' }, command: 'c-1' },
    { operation: 'unhold', id, command: 'c-2' },
    { operation: 'complete', id, command: 'c-3' }
  ] as const
  let other: Promise<unknown> | undefined
  const late = deals.service({
    storage: {
      ...inner,
      // What was read of the log is from before, what is read of the items from after it.
      async find (family, query) {
        if (family !== 'deals') return await inner.find(family, query)
        await (other ??= first.runAll(commands, { atomic: true }))
        return await inner.find(family, query)
      }
    }
  })
  const done = await late.runAll(commands, { atomic: true })
  t.strictSame(done.map(({ replayed, changed }) => [replayed, changed]), [[true, true], [true, true], [true, true]])
  t.equal((await setUp.log(id)).items.length, 4)
})
