import { randomBytes, randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { Members } from '../../lib/index.js'
import type { Checks, Entry, Item, TestRequest, TestResponse } from '../deals/app.js'
import { createDeal, dealsApp, home, readDeal, readLog, withoutTimes } from '../deals/app.js'
import type { Form } from '../deals/forms.js'
import { forms, hasCommandId } from '../deals/forms.js'
import type { ExpectedOperation, State } from '../deals/operations.js'
import { operation, operations, stepsTo } from '../deals/operations.js'
import { anyStorage } from '../storages.js'

const states = Object.keys(stepsTo) as State[]

for (const { name, make } of anyStorage) {
  t.test(name, async t => {
    const { storage, dispose } = await make()
    const app = await dealsApp(storage)
    t.teardown(dispose)

    for (const described of operations) {
      t.test(`${described.name} is one thing, whatever form says it`, async t => {
        for (const form of forms) await checkDone(t, app, described, form)
      })
      t.test(`${described.name} where it changes nothing`, async t => {
        for (const form of forms) await checkUnchanged(t, app, described, form)
      })
    }

    const named = await dealsApp(storage, {
      authorize: ({ headers }) => ({ principal: String(headers['x-user'] ?? 'ann') })
    })
    for (const described of operations) {
      t.test(`${described.name} is done once under a key`, async t => {
        for (const form of forms) await checkKeyed(t, named, described, form)
      })
    }

    for (const state of states) {
      t.test(`what a deal that is ${state} allows`, async t => {
        for (const described of operations) {
          for (const form of forms) await checkInState(t, app, { described, form, state })
        }
      })
    }

    t.test('a reason as long as it may be', async t => {
      const reason = randomBytes(3000).toString('base64')
      const { id } = await createDeal(app, { name: reason.slice(0, 1000) })
      const held = await app.inject({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason } })
      t.match(held.json(), { holdReason: reason })
      const filter = `holdReason=${encodeURIComponent(reason)}`
      for (const query of ['sort=-holdReason,name', filter, 'holdReason.null=false']) {
        const { items } = (await app.inject(`${home}?${query}&maxpagesize=1000`)).json<{ items: Item[] }>()
        t.match(items.find(item => item.id === id), { holdReason: reason }, query.slice(0, 20))
      }
    })

    t.test('Prefer: return=minimal', async t => {
      for (const form of forms) await checkMinimal(t, app, operation('hold'), form)
    })
  })
}

/** What a log says of a change. */
function compare (before: Members, after: Members): Members {
  const names = Object.keys({ ...before, ...after }).filter(name => !['revision', 'updatedAt'].includes(name))
  const ends = (from: unknown, to: unknown) => ({ ...from !== undefined && { from }, ...to !== undefined && { to } })
  return Object.fromEntries(names.filter(name => before[name] !== after[name])
    .map(name => [name, ends(before[name], after[name])]))
}

/** The operation in a state that allows it: deal, log, status, headers and body. */
async function checkDone (t: Checks, app: FastifyInstance, described: ExpectedOperation, form: Form): Promise<void> {
  const before = await createDealAfter(app, described.before)
  const command = randomUUID()
  const request = form.request(described, before.id, command)
  if (request === undefined) return
  const answer = await app.inject(request)
  const after = await readDeal(app, before.id)
  const log = await readLog(app, before.id)
  const entry = log.at(-1) as Entry
  const label = `${form.name}:`

  t.strictSame(withoutTimes(after), expected(before, described.effect), `${label} the deal`)
  t.ok(after['updatedAt'] as string >= (before['updatedAt'] as string), `${label} its time`)
  t.equal(after['createdAt'], before['createdAt'], `${label} its first time`)
  t.equal(log.length, before.revision + 1, `${label} one entry more`)
  const { id, createdAt, ...rest } = entry
  t.strictSame(rest, {
    deal: before.id,
    action: described.action,
    params: described.params,
    changes: compare(before, after),
    outcome: 'done',
    revision: before.revision + 1
  }, `${label} the entry`)
  t.equal(createdAt, after['updatedAt'], `${label} the time of the entry is that of the deal`)
  if (hasCommandId(form)) t.equal(id, command, `${label} the id is the client's`)

  t.equal(answer.statusCode, form.done, `${label} the status`)
  checkAnswer(t, label, { form, described, answer }, { deal: after, entry })
}

function checkAnswer (
  t: Checks,
  label: string,
  { form, described, answer }: { form: Form, described: ExpectedOperation, answer: TestResponse },
  { deal, entry }: { deal: Item, entry: Entry }
): void {
  const { headers } = answer
  // What was sent is not what is stored: no validators (RFC 9110, 9.3.4).
  t.equal(headers.etag, undefined, `${label} no entity tag`)
  t.equal(headers['last-modified'], undefined, `${label} no date`)
  t.equal(headers['idempotent-replayed'], undefined, `${label} not replayed`)
  t.equal(headers['preference-applied'], undefined, `${label} no preference`)
  if (form.shows === 'nothing') {
    t.equal(answer.body, '', `${label} no body`)
    t.equal(headers.location, undefined)
    t.equal(headers['content-location'], undefined)
    return
  }
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
  t.equal(headers.vary, 'Accept', `${label} Vary`)
  if (form.shows === 'deal') {
    const self = `${home}/${deal.id}`
    const links = { self, collection: home, log: `${self}/commands`, operations: `${self}/operations` }
    t.strictSame(answer.json(), { ...deal, links }, `${label} the deal as a GET shows it`)
    t.equal(headers['content-location'], `${home}/${deal.id}`, `${label} where the deal is`)
    t.equal(headers.location, undefined)
    return
  }
  const self = `${home}/${deal.id}/${form.name === 'noun' ? described.noun : 'commands'}/${entry.id}`
  const { changes, ...sent } = entry
  t.strictSame(
    answer.json(),
    { ...sent, links: { self, deal: `${home}/${deal.id}` } },
    `${label} the entry with links`
  )
  t.equal(headers.location, self, `${label} where the entry is`)
  t.equal(headers['content-location'], undefined)
}

/** The same again: a success that changes nothing and, unless the client named the command, leaves no entry. */
async function checkUnchanged (
  t: Checks,
  app: FastifyInstance,
  described: ExpectedOperation,
  form: Form
): Promise<void> {
  const { id } = await createDealAfter(app, described.before)
  const first = form.request(described, id, randomUUID())
  if (first === undefined) return
  await app.inject(first)
  const before = await readDeal(app, id)
  const log = await readLog(app, id)
  const again = await app.inject(form.request(described, id, randomUUID()) as TestRequest)
  t.equal(again.statusCode, form.unchanged, `${form.name}: the status`)
  t.strictSame(await readDeal(app, id), before, `${form.name}: the deal stays`)
  const added = (await readLog(app, id)).filter(entry => !log.some(({ id }) => id === entry.id))
  t.strictSame(
    added.map(({ action, outcome, revision }) => ({ action, outcome, revision })),
    hasCommandId(form) ? [{ action: described.action, outcome: 'unchanged', revision: before.revision }] : [],
    `${form.name}: the log`
  )
  if (form.name === 'noun') {
    const { id: none, outcome, links } = again.json<Entry>()
    t.strictSame(
      { none, outcome, links },
      { none: undefined, outcome: 'unchanged', links: { deal: `${home}/${id}` } },
      'noun: a description without an address'
    )
    t.equal(again.headers.location, undefined)
  }
}

/** The operation in a given state: done where the table says so, else 409 with the state and what is allowed. */
async function checkInState (
  t: Checks,
  app: FastifyInstance,
  { described, form, state }: { described: ExpectedOperation, form: Form, state: State }
): Promise<void> {
  const before = await createDealAfter(app, stepsTo[state])
  const request = form.request(described, before.id, randomUUID(), otherParams(described))
  if (request === undefined) return
  const answer = await app.inject(request)
  const label = `${described.name} as ${form.name}`
  const after = await readDeal(app, before.id)
  if (described.states.includes(state)) {
    t.equal(answer.statusCode, form.done, `${label} is allowed`)
    t.equal(after.revision, before.revision + 1)
    return
  }
  t.strictSame(after, before, `${label} leaves the deal`)
  if (isAlreadySo(described, before)) {
    t.equal(answer.statusCode, form.unchanged, `${label} has nothing to change`)
    return
  }
  t.equal(answer.statusCode, 409, `${label} is refused`)
  t.match(answer.headers['content-type'], 'application/problem+json')
  t.match(answer.json(), {
    type: 'urn:dealbook:problem:wrong-state',
    status: 409,
    state,
    operation: described.name,
    allowed: operations.filter(({ states }) => states.includes(state)).map(({ name }) => name),
    instance: request.url
  })
  t.equal(
    (await readLog(app, before.id)).length,
    before.revision + (hasCommandId(form) ? 1 : 0),
    `${label}: only a named command is recorded`
  )
}

/** Under one key: the first answer again, whatever became of the deal, and nothing is done twice. */
async function checkKeyed (t: Checks, app: FastifyInstance, described: ExpectedOperation, form: Form): Promise<void> {
  const { id, revision } = await createDealAfter(app, described.before)
  const [command, key, match] = [randomUUID(), randomUUID(), { 'if-match': `"${revision}"` }]
  const send = async (request: TestRequest | undefined, headers: object = {}): Promise<TestResponse> =>
    await app.inject({ ...request, headers: { ...request?.headers, 'idempotency-key': key, ...headers } })
  const sendTwice = async (request: TestRequest | undefined): Promise<TestResponse[]> => {
    const another = { 'idempotency-key': randomUUID() }
    return [await send(request, another), await send(request, another)]
  }
  const request = form.request(described, id, command)
  if (request === undefined) return

  const first = await send(request, match)
  t.strictSame(show(first), [form.done, first.body, undefined], form.name)
  // A command that is put again is not created again.
  const again = [hasCommandId(form) ? 200 : form.done, first.body, 'true']
  const replay = await send(request, match)
  t.strictSame(show(replay), again, `${form.name}: before If-Match`)
  for (const name of hasCommandId(form) ? [] : ['location', 'content-location']) {
    t.equal(replay.headers[name], first.headers[name], `${form.name}: ${name}`)
  }
  t.strictSame(show(await send(request, { 'idempotency-key': `"${key}"` })), again, `${form.name}: quoted`)
  const bobs = await send(request, { 'x-user': 'bob' })
  t.strictSame([bobs.statusCode, bobs.headers['idempotent-replayed']], [form.unchanged, undefined], `${form.name}: bob`)

  const unhold = operation('unhold')
  const other = await createDeal(app)
  for (const different of [
    form.request(described, other.id, command),
    form.request(described.name === 'unhold' ? operation('hold') : unhold, id, command),
    { method: 'DELETE', url: `${home}/${id}` } as const
  ]) {
    const { statusCode } = await send(different)
    // Beside an id in the path, the key means nothing.
    const expected = hasCommandId(form) && different?.method === 'DELETE' ? 204 : 422
    t.equal(statusCode, expected, `${form.name}: different content`)
  }
  t.equal((await readDeal(app, other.id)).revision, 1)

  const state = described.name === 'complete' ? 'held' : 'completed'
  if (described.name !== 'unhold' && !described.states.includes(state)) {
    const { id } = await createDealAfter(app, stepsTo[state])
    const [refused, replayed] = await sendTwice(form.request(described, id, randomUUID()))
    t.strictSame([refused, replayed].map(show), [[409, refused?.body, undefined], [409, refused?.body, 'true']])
  }
  await app.inject({ method: 'DELETE', url: `${home}/${id}` })
  t.strictSame(show(await send(request)), again, `${form.name}: after the deal is deleted`)
  const log = await readLog(app, id)
  t.equal(log.filter(({ outcome }) => outcome === 'done').length, revision + 2, `${form.name}: done once`)
}

function show (answer: TestResponse | undefined): unknown[] {
  return [answer?.statusCode, answer?.body, answer?.headers['idempotent-replayed']]
}

async function checkMinimal (t: Checks, app: FastifyInstance, described: ExpectedOperation, form: Form): Promise<void> {
  const { id } = await createDealAfter(app, described.before)
  const say = async (prefer: string): Promise<TestResponse> => {
    const request = form.request(described, id, randomUUID()) as TestRequest
    return await app.inject({ ...request, headers: { ...request.headers, prefer } })
  }
  const answer = await say('respond-async, return=minimal')
  if (form.shows === 'nothing') {
    t.equal(answer.statusCode, 200, `${form.name} never has a body`)
    return
  }
  t.equal(answer.body, '', `${form.name}: no body`)
  t.equal(answer.statusCode, form.done === 201 ? 201 : 204, `${form.name}: the status`)
  t.equal(answer.headers['preference-applied'], 'return=minimal', `${form.name}: said so`)
  if (form.done === 201) t.ok(answer.headers.location, `${form.name}: still where it is`)
  const whole = await say('return=representation')
  t.not(whole.body, '')
  t.equal(whole.headers['preference-applied'], 'return=representation')
  const unchanged = await say('return=minimal')
  t.equal(unchanged.statusCode, form.unchanged === 201 ? 201 : 204, `${form.name}: the status where nothing changes`)
}

/** A new deal, led through these operations. */
async function createDealAfter (app: FastifyInstance, names: readonly string[]): Promise<Item> {
  const { id } = await createDeal(app)
  for (const name of names) {
    const { verb, params } = operation(name)
    const { statusCode, body } = await app.inject({ method: 'PUT', url: `${home}/${id}/${verb}`, payload: params })
    if (statusCode !== 200) throw new Error(body)
  }
  return await readDeal(app, id)
}

function expected (before: Item, effect: ExpectedOperation['effect']): object {
  const deal: Record<string, unknown> = { ...withoutTimes(before), ...effect, revision: before.revision + 1 }
  for (const [name, value] of Object.entries(deal)) if (value === undefined) delete deal[name]
  return deal
}

// Other parameters than those that led to the state, so that the operation would change something.
function otherParams ({ name, params }: ExpectedOperation): ExpectedOperation['params'] {
  return name === 'cancel' ? { ...params, amercement: 99 } : params
}

function isAlreadySo ({ effect, name }: ExpectedOperation, deal: Item): boolean {
  return name !== 'cancel' && Object.entries(effect).every(([member, value]) => deal[member] === value)
}
