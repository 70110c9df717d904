import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { accountsApp, openAccount, readAccount, readAccountLog, transferForms } from './accounts/app.js'
import type { BankAccount } from './accounts/model.js'
import { Bank } from './accounts/model.js'
import type { TestRequest, TestResponse } from './deals/app.js'
import { createDeal, dealsApp, home, readLog } from './deals/app.js'
import type { Form } from './deals/forms.js'
import { forms, hasCommandId } from './deals/forms.js'
import type { ModelDeal, ModelEntry, ModelRequest } from './deals/model.js'
import { Model } from './deals/model.js'
import { operation } from './deals/operations.js'
import { runs } from './size.js'
import { storages } from './storages.js'

/** One request of a random sequence. */
interface Step {
  readonly deal: number
  readonly form: number
  readonly said: { readonly operation: string, readonly params: ModelRequest['params'], readonly valid: boolean }
  readonly name: string
  readonly keyed: boolean
  readonly match: number | undefined
}

const amounts: Readonly<Record<string, number>> = { memory: 30, sqlite: 10, postgres: 10 }

// Few values of each kind, so that the same is said twice and the states meet.
const reason = fc.constantFrom('a', 'b')
const amount = fc.constantFrom(0, 1, 2.5)
const operationSent = fc.oneof(
  { arbitrary: reason.map(reason => ({ operation: 'hold', params: { reason }, valid: true })), weight: 4 },
  { arbitrary: fc.constant({ operation: 'unhold', params: {}, valid: true }), weight: 4 },
  {
    arbitrary: fc.constantFrom({}, { comment: 'c' }).map(params => ({ operation: 'complete', params, valid: true })),
    weight: 1
  },
  {
    arbitrary: fc.record({ amercement: amount, reason }).map(params => ({ operation: 'cancel', params, valid: true })),
    weight: 1
  },
  {
    arbitrary: fc
      .record({ newPrice: amount, reason })
      .map(params => ({ operation: 'change-price', params, valid: true })),
    weight: 4
  },
  {
    arbitrary: fc
      .record({ newDate: fc.constantFrom('2030-01-31', '2028-02-29'), amercement: amount, whyChanged: reason })
      .map(params => ({ operation: 'change-completion-date', params, valid: true })),
    weight: 2
  },
  {
    arbitrary: fc
      .constantFrom({}, { name: 'Deal' }, { name: 'Another' })
      .map(params => ({ operation: 'edit', params, valid: true })),
    weight: 3
  },
  { arbitrary: fc.constant({ operation: 'delete', params: {}, valid: true }), weight: 1 },
  {
    arbitrary: fc
      .constantFrom({}, { reason: 1 }, { reason: '' }, { reason: 'a', more: 1 })
      .map(params => ({ operation: 'hold', params, valid: false })),
    weight: 1
  },
  {
    arbitrary: fc
      .constantFrom({ newPrice: '1', reason: 'a' }, { newPrice: -1, reason: 'a' }, { newPrice: null, reason: 'a' })
      .map(params => ({ operation: 'change-price', params, valid: false })),
    weight: 1
  },
  {
    arbitrary: fc
      .constantFrom({ name: '' }, { name: null }, { price: 1 })
      .map(params => ({ operation: 'edit', params, valid: false })),
    weight: 1
  }
)
const step: fc.Arbitrary<Step> = fc.record({
  deal: fc.nat({ max: 1 }),
  form: fc.nat({ max: forms.length - 1 }),
  said: operationSent,
  name: fc.constantFrom('n1', 'n2', 'n3', 'n4', 'n5', 'n6'),
  keyed: fc.boolean(),
  match: fc.oneof({ arbitrary: fc.constant(undefined), weight: 4 }, { arbitrary: fc.constantFrom(0, 1, -1), weight: 1 })
})

for (const { name, make } of storages) {
  t.test(`${name}: any sequence of requests leaves what the model says`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await dealsApp(storage)
    let run = 0
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async steps => {
      const model = new Model()
      const ids: string[] = []
      for (const price of [10, 20]) {
        model.create('Deal', price)
        ids.push((await createDeal(app, { name: 'Deal', price })).id)
      }
      const suffix = `.${run++}`
      for (const each of steps) {
        await take(app, model, each, { ids, suffix })
        for (const [index, id] of ids.entries()) await compare(app, model.deals[index] as ModelDeal, id)
      }
    }), { numRuns: runs(amounts[name] ?? 10) })
    t.pass('they agree')
  })
}

const transfers = Object.entries(transferForms).filter(([form]) => form !== 'page')

/** One transfer between three accounts, or to one that is not there, or a deletion. */
const transfer = fc.record({
  from: fc.nat({ max: 2 }),
  to: fc.nat({ max: 3 }),
  amount: fc.oneof(
    { arbitrary: fc.constantFrom(1, 3, 7), weight: 12 },
    { arbitrary: fc.constant(undefined), weight: 1 }
  ),
  form: fc.nat({ max: transfers.length - 1 }),
  name: fc.constantFrom('t1', 't2', 't3', 't4'),
  match: fc.oneof({ arbitrary: fc.constant(undefined), weight: 4 }, { arbitrary: fc.constantFrom(0, 1, -1), weight: 1 })
})

for (const { name, make } of storages) {
  t.test(`${name}: any sequence of transfers leaves what the model says`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await accountsApp(storage)
    let run = 0
    await fc.assert(fc.asyncProperty(fc.array(transfer, { minLength: 5, maxLength: 25 }), async steps => {
      const bank = new Bank()
      const ids: string[] = []
      for (const balance of [10, 5, 0]) {
        bank.open(balance)
        ids.push(await openAccount(app, 'ann', balance))
      }
      const suffix = `.${run++}`
      for (const each of steps) {
        await takeTransfer(app, bank, each, [...ids, 'nobody'], suffix)
        for (const [index, id] of ids.entries()) await compareAccount(app, bank.accounts[index] as BankAccount, id)
      }
    }), { numRuns: runs((amounts[name] ?? 10) / 2) })
    t.pass('they agree')
  })
}

async function takeTransfer (
  app: FastifyInstance,
  bank: Bank,
  { from, to, amount, form: index, name: text, match }: typeof transfer extends fc.Arbitrary<infer S> ? S : never,
  ids: readonly string[],
  suffix: string
): Promise<void> {
  const [form, [done, say]] = transfers[index] as typeof transfers[number]
  const name = amount !== undefined && form.startsWith('command') ? text + suffix : undefined
  const request: TestRequest = amount === undefined
    ? { method: 'DELETE', url: `/accounts/${ids[from]}` }
    : say(ids[from] as string, { to: ids[to], amount }, name ?? '')
  const revision = (bank.accounts[from] as BankAccount).revision
  const headers = match === undefined ? {} : { 'if-match': `"${revision + match}"` }
  const answer = await app.inject({ ...request, headers })
  const { status, replayed } = bank.take({ from, to, amount, name, match })
  const expected = status !== 200 || replayed ? status : amount === undefined ? 204 : done
  same([form, answer.statusCode, answer.headers['idempotent-replayed']],
    [form, expected, replayed ? 'true' : undefined])
}

async function compareAccount (app: FastifyInstance, kept: BankAccount, id: string): Promise<void> {
  const { balance, revision } = await readAccount(app, id)
  same({ balance, revision }, kept.gone ? {} : { balance: kept.balance, revision: kept.revision })
  const log = await readAccountLog(app, id)
  same(log.map(({ action, outcome, revision }) => canonical({ action, outcome, revision })).sort(),
    kept.log.map(entry => canonical(entry)).sort())
}

async function take (
  app: FastifyInstance,
  model: Model,
  { deal, form: formIndex, said, name, keyed, match }: Step,
  { ids, suffix }: { readonly ids: readonly string[], readonly suffix: string }
): Promise<void> {
  const id = ids[deal] as string
  const form = forms[formIndex] as Form
  const text = name + suffix
  const request = said.operation === 'delete' ? deletion(id, form) : say(form, said, id, text)
  if (request === undefined) return
  const sort =
    hasCommandId(form) && said.operation !== 'delete'
      ? 'command'
      : keyed && request.method === 'POST'
        ? 'key'
        : undefined
  const revision = (model.deals[deal] as ModelDeal).revision
  const headers = {
    ...request.headers,
    ...(sort === 'key' ? { 'idempotency-key': text } : {}),
    ...(match === undefined ? {} : { 'if-match': `"${revision + match}-json"` })
  }
  const answer = await app.inject({ ...request, headers })
  const expected = model.take({ deal, ...said, name: sort === undefined ? undefined : { sort, text }, match })
  const status = statusOf(form, said.operation, expected, sort)
  if (answer.statusCode !== status) {
    throw new Error(
      `${said.operation} as ${form.name}: ${answer.statusCode} where the model has ${status}: ${answer.body}`
    )
  }
  if ((answer.headers['idempotent-replayed'] === 'true') !== expected.replayed) {
    throw new Error(`${said.operation} as ${form.name}: replayed or not?`)
  }
  if (form.shows === 'deal' && status === 200 && said.operation !== 'delete') {
    same(withoutOwn(answer), shown(model.deals[deal] as ModelDeal))
  }
}

// The attribute form has no words for wrong parameters; that has its own tests.
function say (
  form: Form,
  { operation: name, params, valid }: Step['said'],
  id: string,
  command: string
): TestRequest | undefined {
  if (!form.name.startsWith('attributes')) return form.request(operation(name), id, command, params)
  if (!valid) return undefined
  const attributes = { hold: { held: true, holdReason: params['reason'] }, unhold: { held: false }, edit: params }[name]
  return attributes && form.request({ ...operation(name), attributes }, id, command)
}

function deletion (id: string, { name }: Form): TestRequest {
  return name === 'POST /command/'
    ? { method: 'POST', url: '/command/DeleteDeal/', payload: { id } }
    : { method: 'DELETE', url: `${home}/${id}` }
}

function statusOf (
  form: Form,
  name: string,
  { status: outcome, replayed }: { readonly status: string, readonly replayed: boolean },
  sort: 'command' | 'key' | undefined
): number {
  switch (outcome) {
    case 'invalid':
      return 400
    case 'missing':
      return 404
    case 'refused':
      return 409
    case 'stale':
      return 412
    case 'reused':
      return 422
  }
  if (name === 'delete') return form.name === 'POST /command/' ? 200 : 204
  if (replayed && sort === 'command') return 200
  return outcome === 'done' ? form.done : form.unchanged
}

async function compare (app: FastifyInstance, kept: ModelDeal, id: string): Promise<void> {
  const answer = await app.inject(`${home}/${id}`)
  if (kept.gone) same(answer.statusCode, 404)
  else same(withoutOwn(answer), shown(kept))
  const log = (await readLog(app, id)).map(({ action, params, outcome, revision }) => ({
    action,
    ...(params === undefined ? {} : { params }),
    outcome,
    revision
  }))
  same(inOrder(log), inOrder(kept.log))
}

function withoutOwn (answer: TestResponse): object {
  const { id, createdAt, updatedAt, links, ...deal } = answer.json<Record<string, unknown>>()
  return deal
}

function shown ({ members, revision }: ModelDeal): object {
  return { ...members, revision }
}

// Entries at one revision that were made in the same millisecond may stand in any order.
function inOrder (log: readonly (Omit<ModelEntry, 'outcome'> & { outcome: string })[]): unknown[] {
  return log.map(entry => canonical(entry)).sort((a, b) => entryRevision(a) - entryRevision(b) || (a < b ? -1 : 1))
}

function entryRevision (text: string): number {
  return (JSON.parse(text) as { revision: number }).revision
}

function same (actual: unknown, expected: unknown): void {
  if (canonical(actual) !== canonical(expected)) {
    throw new Error(`${canonical(actual)} where the model has ${canonical(expected)}`)
  }
}

function canonical (value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member
  )
}
