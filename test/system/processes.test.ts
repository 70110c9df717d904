import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import t from 'tap'
import type { Running } from '../example-server.js'
import { startExample } from '../example-server.js'
import { isLong } from '../size.js'
import { places } from '../storages.js'

const server = { file: 'build/test/system/shared-server.js', said: /^at (http:\S+)/ }

type Body = Record<string, unknown>

/** Two servers on one database, to which requests go in turns. */
interface Pair {
  readonly servers: Running[]
  start (): Promise<Running>
  send (n: number, method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>
}

interface Answer { readonly status: number, readonly text: string, readonly body: Body }

const many = <T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)))

// As many requests at once as queue up before both servers.
const [fifty, hundred] = isLong ? [50, 100] : [20, 30]

const statusesOf = (answers: readonly Answer[]): Set<number> => new Set(answers.map(({ status }) => status))

async function startPair (t: Test, STORAGE: string): Promise<Pair> {
  const start = async (): Promise<Running> => await startExample(t, { STORAGE }, server)
  const servers = await Promise.all([start(), start()])
  return {
    servers,
    start,
    async send (n, method, path, body, headers = {}) {
      const answer = await fetch(`${servers[n % 2]?.url}${path}`, {
        method,
        headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await answer.text()
      const isJson = /^application\/(problem\+)?json/.test(answer.headers.get('content-type') ?? '')
      return { status: answer.status, text, body: (isJson ? JSON.parse(text) : {}) as Body }
    }
  }
}

// What holds for parallel requests to one server holds for two of them on one file, or on one PostgreSQL.
for (const [name, makePlace] of Object.entries(places)) {
  t.test(`two servers on one ${name}`, async t => {
    const pair = await startPair(t, await makePlace(t))
    await t.test('one command, one key, one condition', t => checkCommands(t, pair))
    await t.test('of those who race for a unique value, or with a deletion, one wins', t => checkKeys(t, pair))
    await t.test('transfers, and invoices without a gap, while servers are killed', t => checkKilled(t, pair))
  })
}

async function checkCommands (t: Test, { send }: Pair): Promise<void> {
  const deal = (await send(0, 'POST', '/rest/v1/deals', { name: 'shared', price: 0 })).body['id']
  const path = `/rest/v1/deals/${String(deal)}`
  const revision = async () => (await send(0, 'GET', path)).body['revision']

  const command = { deal, action: 'ChangeDealPrice', params: { newPrice: 1, reason: 'once' } }
  const same = await many(hundred, n => send(n, 'PUT', '/rest/commands/once', command))
  t.equal(same.filter(({ status }) => status === 201).length, 1, 'one command id: one is the first')
  t.equal(same.filter(({ status }) => status === 200).length, hundred - 1, 'and all others get 200')
  t.equal(new Set(same.map(({ text }) => text)).size, 1, 'in the same words')
  t.equal(await revision(), 2, 'and it was done once')

  const key = { 'idempotency-key': 'a key' }
  const created = await many(fifty, n => send(n, 'POST', '/rest/v1/deals', { name: 'keyed', price: 1 }, key))
  t.strictSame(statusesOf(created), new Set([201]))
  t.equal(new Set(created.map(({ text }) => text)).size, 1, 'one key, one deal')

  const changes = await many(hundred, n => send(n, 'PUT', `${path}/change-price`, { newPrice: 10 + n, reason: 'many' }))
  t.strictSame(statusesOf(changes), new Set([200]), 'without a condition, all succeed')
  t.equal(await revision(), hundred + 2)
  const { items } = (await send(1, 'GET', `${path}/commands?maxpagesize=1000`)).body as { items: Body[] }
  t.strictSame(items.map(entry => entry['revision']), Array.from({ length: hundred + 2 }, (_, index) => index + 1),
    'each once in the log')

  const condition = { 'if-match': `"${hundred + 2}"` }
  const conditional = await many(20, n =>
    send(n, 'PUT', `${path}/change-price`, { newPrice: 200 + n, reason: 'one of them' }, condition))
  t.strictSame(conditional.map(({ status }) => status).sort(), [200, ...Array.from({ length: 19 }, () => 412)],
    'with one condition, one succeeds')
  t.equal(await revision(), hundred + 3)
}

async function checkKeys (t: Test, { send }: Pair): Promise<void> {
  const makePerson = async (name: string) => (await send(0, 'POST', '/people', { name })).body['id'] as number
  const customer = await makePerson('Ann')

  const created = await many(fifty, n => send(n, 'POST', '/bills', { number: 'one', customer }))
  t.equal(created.filter(({ status }) => status === 201).length, 1, 'one value, one bill')
  const others = created.filter(({ status }) => status !== 201)
  t.strictSame(new Set(others.map(({ status, body }) => `${status} ${String(body['type'])}`)),
    new Set(['409 urn:dealbook:problem:taken']))

  const headers = { 'idempotency-key': 'another key' }
  const keyed = await many(fifty, n => send(n, 'POST', '/bills', { number: 'two', customer }, headers))
  t.strictSame(new Set(keyed.map(({ status, body }) => `${status} ${String(body['id'])}`)).size, 1,
    'one key, one bill, and every response has it')
  t.equal(keyed[0]?.status, 201)

  for (let round = 0; round < 12; round++) {
    const person = await makePerson(`Bob ${round}`)
    const place = round % 6
    // In every other round the deletion comes when one of the bills is made, together with further ones.
    const begun = round % 2 === 0 ? undefined : send(place + 1, 'POST', '/bills', { customer: person })
    await begun
    const settled = await many(8, n => n === place
      ? send(n, 'DELETE', `/people/${person}`)
      : n === place + 1 && begun !== undefined ? begun : send(n, 'POST', '/bills', { customer: person }))
    const isDeleted = settled[place]?.status === 204
    const { items } = (await send(0, 'GET', `/bills?customer=${person}`)).body as { items: unknown[] }
    const made = settled.filter(({ status }) => status === 201).length
    t.equal(items.length, made)
    t.ok(isDeleted ? made === 0 : made > 0 && settled[place]?.status === 409, `round ${round}: ${made} bills`)
    t.ok(settled.every(({ status }) => [201, 204, 400, 409].includes(status)))
  }
}

/** A transfer that is sent under the same id until it has an answer. */
interface Transfer {
  readonly id: string
  readonly account: string
  readonly params: { readonly to: string, readonly amount: number }
  status?: number
}

const writers = 32
const kills = isLong ? 10 : 1

/** Both at once, so that a server that is killed leaves transfers and invoices unfinished. */
async function checkKilled (t: Test, pair: Pair): Promise<void> {
  const { servers, start } = pair
  const invoices = await prepareInvoices(t, pair)
  const transfers = await beginTransfers(t, pair)
  invoices.begin()
  for (let count = 0; count < kills; count++) {
    while (invoices.answered() < (count + 1) * invoicesInAll / (kills + 1)) await delay(1)
    const killed = servers[count % 2] as Running
    killed.stop('SIGKILL')
    await killed.ended
    // The last transfers were sent before the last kill, and wait for an answer.
    if (count === kills - 1) transfers.stop()
    servers[count % 2] = await start()
  }
  await transfers.check()
  await invoices.check()
}

const opening = 100

/** Transfers money until it is stopped; returns when the writers have been answered once each. */
async function beginTransfers (t: Test, { send }: Pair) {
  const accounts = (await many(10, n => send(n, 'POST', '/accounts', { owner: `owner ${n}`, balance: opening })))
    .map(({ body }) => body['id'] as string)
  const sent: Transfer[] = []
  const settle = async (n: number, { id, account, params }: Transfer): Promise<number> => {
    for (let attempt = n; ; attempt++) {
      const body = { account, action: 'TransferMoney', params }
      const answer = await send(attempt, 'PUT', `/rest/commands/${id}`, body).catch(() => undefined)
      if (answer !== undefined) return answer.status
      // No answer is no answer: the other server, or this one when it is back, finds out.
      await delay(20)
    }
  }
  const over = new AbortController()
  const write = async (n: number): Promise<void> => {
    while (!over.signal.aborted) {
      const [from, to] = [Math.floor(Math.random() * 10), 1 + Math.floor(Math.random() * 9)]
      const transfer: Transfer = {
        id: randomUUID(),
        account: accounts[from] as string,
        params: { to: accounts[(from + to) % 10] as string, amount: 1 + Math.floor(Math.random() * 20) }
      }
      sent.push(transfer)
      transfer.status = await settle(n, transfer)
    }
  }
  const writing = many(writers, write)
  while (sent.filter(({ status }) => status !== undefined).length < writers) await delay(1)
  const check = async (): Promise<void> => {
    await writing
    const statuses = new Set(sent.map(({ status }) => status))
    t.strictSame([...statuses].filter(status => ![200, 201, 409].includes(status ?? 0)), [], 'each was answered')
    const done = sent.filter(({ status }) => status !== 409)
    const balances = (await many(accounts.length, n => send(0, 'GET', `/accounts/${accounts[n]}`)))
      .map(({ body }) => body as { balance: number, revision: number })
    t.equal(balances.reduce((sum, { balance }) => sum + balance, 0), 10 * opening, 'the sum stays the same')
    for (const [index, id] of accounts.entries()) {
      const took = done.filter(({ params }) => params.to === id)
      const gave = done.filter(({ account }) => account === id)
      const sum = (list: readonly Transfer[]): number => list.reduce((sum, { params }) => sum + params.amount, 0)
      t.equal(balances[index]?.balance, opening + sum(took) - sum(gave), 'what was acknowledged was done, and once')
      const { text } = await send(1, 'GET', `/accounts/${id}/commands.ndjson?outcome=done`)
      const log = text.trim().split('\n').map(line => JSON.parse(line) as { id: string, revision: number })
      t.strictSame(log.map(({ revision }) => revision),
        Array.from({ length: balances[index]?.revision ?? 0 }, (_, at) => at + 1), 'each revision is one entry')
      t.strictSame(log.slice(1).map(entry => entry.id).sort(), [...took, ...gave].map(each => each.id).sort())
    }
  }
  return { check, stop: () => { over.abort() } }
}

const invoicesInAll = isLong ? 200 : 24

/** Each booking is billed once, however often that is sent, and each invoice has its booking. */
async function prepareInvoices (t: Test, { send: sendAs }: Pair) {
  const headers = { authorization: 'Bearer ann-secret' }
  const send = (n: number, method: string, path: string, body?: object) => sendAs(n, method, path, body, headers)
  const booked = await many(invoicesInAll, async n => {
    const machine = (await send(n, 'POST', '/machines', { name: `Digger ${n}`, rate: 10 })).body['id']
    const days = { from: '2020-01-01', to: '2020-01-02' }
    const booking = (await send(n, 'POST', '/bookings', { customer: 'Meyer', machine, ...days })).body['id']
    for (const verb of ['hand-out', 'take-back']) {
      const { status, text } = await send(n, 'PUT', `/bookings/${String(booking)}/${verb}`, {})
      t.equal(status, 200, text)
    }
    return booking as number
  })
  const answers: number[] = []
  const bill = async (n: number): Promise<number> => {
    const command = { booking: booked[n % invoicesInAll], action: 'BillBooking', params: {} }
    for (let attempt = n; ; attempt++) {
      const path = `/rest/commands/bill-${String(command.booking)}`
      const answer = await send(attempt, 'PUT', path, command).catch(() => undefined)
      // The next number is waited for by 100 at most; others are asked to come back.
      if (answer === undefined || answer.status === 503) {
        await delay(20)
        continue
      }
      answers.push(answer.status)
      return answer.status
    }
  }
  let billing: Promise<number[]> | undefined
  // Each is sent three times, to both servers.
  const begin = (): void => { billing = many(3 * invoicesInAll, bill) }
  const check = async (): Promise<void> => {
    t.strictSame((await billing)?.filter(status => status !== 200 && status !== 201), [], 'each was answered')

    const read = async (path: string) =>
      ((await send(0, 'GET', `${path}?maxpagesize=1000&sort=id`)).body as { items: Body[] }).items
    const [bookings, invoices] = [await read('/bookings'), await read('/invoices')]
    t.strictSame(invoices.map(({ id }) => id), Array.from({ length: invoicesInAll }, (_, index) => index + 1), 'no gap')
    t.strictSame(bookings.map(({ id, invoice }) => [id, invoice]).sort(),
      invoices.map(({ id, booking }) => [booking, id]).sort(), 'each invoice has its booking, and each booking its own')
    for (const { id, revision } of invoices) {
      const { items } = (await send(1, 'GET', `/invoices/${String(id)}/commands`)).body as { items: Body[] }
      t.match(items, [{ action: 'BillBooking' }])
      t.strictSame([items.length, revision], [1, 1])
    }
  }
  return { begin, check, answered: () => answers.length }
}
