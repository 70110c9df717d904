import { randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { Stored } from '../../lib/index.js'
import { deals, defineFamily, memoryStorage } from '../../lib/index.js'
import type { Entry } from '../deals/app.js'
import { dealsApp, home } from '../deals/app.js'
import type { Book } from './book.js'
import { dealAfter, makeDeal, refusal, testOverStorages } from './book.js'

const long = 'x'.repeat(4000)

/** Commands that change nothing, at the revision that the deal has, each under an id of its own. */
async function flood (book: Book, id: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += 90) {
    const names = Array.from({ length: Math.min(90, count - from) }, (_, index) => from + index)
    await Promise.all(names.map(index => book.run('unhold', id, {}, { command: `${id}-${index}` })))
  }
}

async function crawl (app: FastifyInstance, url: string): Promise<{ entries: Entry[], urls: string[] }> {
  const entries: Entry[] = []
  const urls: string[] = []
  for (let next: string | undefined = url; next !== undefined;) {
    urls.push(next)
    const page: { items: Entry[], page: number, links: { next?: string } } = (await app.inject(next)).json()
    entries.push(...page.items)
    next = page.links.next
  }
  return { entries, urls }
}

testOverStorages(async (t, { book, storage }) => {
  const app = await dealsApp(storage)
  t.teardown(() => app.close())
  const put = async (id: string, command: string, action: string, params: object) =>
    await app.inject({ method: 'PUT', url: `${home}/${id}/commands/${command}`, payload: { action, params } })

  t.test('what changes nothing is kept small, and answered again as it was', async t => {
    const id = await dealAfter(book, 'hold')
    const params = { comment: long }
    for (const [action, sent, outcome, status] of [
      ['CompleteDeal', params, 'refused', 409],
      ['HoldDeal', { reason: 'Papers are missing' }, 'unchanged', 201]
    ] as const) {
      const command = randomUUID()
      const first = await put(id, command, action, sent)
      t.equal(first.statusCode, status, action)
      const row = await storage.get('commands', command) as Stored
      t.equal(row.outcome, outcome)
      t.notOk('params' in row)
      t.ok(JSON.stringify(row).length < 700, `${JSON.stringify(row).length} bytes`)
      const again = await put(id, command, action, sent)
      t.equal(again.headers['idempotent-replayed'], 'true')
      t.strictSame(again.json(), first.json(), 'the same answer')
      t.equal((await put(id, command, action, { ...sent, ...otherParams[action] })).statusCode, 422, 'other content')
      const read = (await app.inject(`${home}/${id}/commands/${command}`)).json<Entry>()
      t.match(read, { id: command, action, outcome })
      t.notOk('params' in read, 'nor does the log show them')
      if (outcome === 'unchanged') t.strictSame(read, first.json())
    }
    const done = await put(id, randomUUID(), 'UnholdDeal', {})
    t.strictSame(done.json<Entry>().params, {}, 'of a change they are shown')
  })

  t.test('the order of members makes no other content', async t => {
    const id = await dealAfter(book, 'complete')
    const command = randomUUID()
    const cancel = { amercement: 5, reason: 'a' }
    const first = await refusal(book.run('cancel', id, cancel, { command }))
    const again = await refusal(book.run('cancel', id, { reason: 'a', amercement: 5 }, { command }))
    t.strictSame(again.document(), first.document())
    await t.rejects(book.run('cancel', id, { ...cancel, amercement: 6 }, { command }), { code: 'id-reused' })
  })

  t.test('nor does a zero with a sign, which no database keeps', async t => {
    const noted = deals.extend({ fields: Type.Object({ note: Type.Optional(Type.Unknown()) }), create: ['note'] })
    const service = noted.service({ storage })
    const create = async (zero: number) =>
      await service.create({ name: 'Tea', price: 1, note: { list: [zero] } }, { key: 'zero' })
    await create(-0)
    t.equal((await create(-0)).replayed, true)
    t.equal((await create(0)).replayed, true)
    await t.rejects(create(1), { code: 'id-reused' })
  })

  t.test('what was kept whole before is still answered, and shown, as it was', async t => {
    const id = await makeDeal(book)
    const now = new Date().toISOString()
    const command = randomUUID()
    const params = { newPrice: 100, reason: 'None' }
    await storage.commit([{
      type: 'insert',
      family: 'commands',
      item: {
        id: command,
        family: 'deals',
        target: id,
        action: 'ChangeDealPrice',
        params,
        outcome: 'unchanged',
        revision: 1,
        createdAt: now,
        updatedAt: now
      }
    }])
    const again = await put(id, command, 'ChangeDealPrice', params)
    t.match(again, { statusCode: 200, headers: { 'idempotent-replayed': 'true' } })
    t.strictSame(again.json<Entry>().params, params)
    t.equal((await put(id, command, 'ChangeDealPrice', { ...params, newPrice: 1 })).statusCode, 422)
  })

  t.test('a log goes on by key, page by page and as a whole', async t => {
    const id = await dealAfter(book, 'hold', 'unhold')
    await flood(book, id, 620)
    await book.run('hold', id, { reason: 'a' })
    await refusal(book.run('complete', id, {}, { command: `r-${id}` }))
    await book.run('hold', id, { reason: 'a' }, { command: `u-${id}` })
    await book.run('unhold', id)

    const { entries, urls } = await crawl(app, `${home}/${id}/commands?maxpagesize=100`)
    t.equal(entries.length, 627)
    t.equal(new Set(entries.map(entry => entry.id)).size, 627, 'each once')
    t.equal(urls.length, 7)
    t.ok(urls.slice(1).every(url => /[?&]after=[\w-]+$/.test(url) && !url.includes('page=2')), String(urls[1]))
    const told = entries.map(({ revision, outcome }) => `${revision} ${outcome}`)
    t.strictSame(told.slice(0, 4), ['1 done', '2 done', '3 done', '3 unchanged'])
    t.strictSame(told.slice(-4), ['4 done', '4 refused', '4 unchanged', '5 done'])

    const lines = (await app.inject(`${home}/${id}/commands.ndjson`)).body.trimEnd().split('\n')
    t.strictSame(lines.map(line => JSON.parse(line) as unknown), entries, 'the export has the same in the same order')
    const rest = (await app.inject(`${urls[3] as string}&format=ndjson`.replace('maxpagesize=100&', ''))).body
    t.strictSame(rest.trimEnd().split('\n').length, 327, 'or what comes after a place')

    const holds = await crawl(app, `${home}/${id}/unholds?maxpagesize=200`)
    t.equal(holds.entries.length, 622, 'the part that a noun names too')
    const third = (await app.inject(`${urls[2] as string}&count=exact`)).json()
    t.match(third, { total: 627, page: 1, links: { first: `${home}/${id}/commands?maxpagesize=100&count=exact` } })
    t.equal(third.items[0].id, entries[200]?.id)
    const filtered = await crawl(app, `${home}/${id}/commands?maxpagesize=2&outcome=done`)
    t.strictSame(filtered.entries.map(({ revision }) => revision), [1, 2, 3, 4, 5], 'filters stay')
    const other = await crawl(app, `${home}/${id}/commands?maxpagesize=100&sort=-revision,createdAt`)
    t.equal(new Set(other.entries.map(entry => entry.id)).size, 627, 'in another order too')

    const pages: string[] = []
    let after: string | undefined
    do {
      const page = await book.log(id, { limit: 250, ...(after === undefined ? {} : { after }) })
      pages.push(...page.items.map(entry => entry.id))
      after = page.next
    } while (after !== undefined)
    t.strictSame(pages, entries.map(entry => entry.id), 'by the service too')
    const { next = '', prev } = await book.log(id, { limit: 5, sort: '-revision' })
    t.equal(prev, undefined)
    const further = await book.log(id, { limit: 5, sort: '-revision', after: next })
    t.equal((await book.log(id, { limit: 5, sort: '-revision', before: further.prev as string })).items.length, 5)

    const html = (await app.inject({ url: `${home}/${id}`, headers: { accept: 'text/html' } })).body
    t.strictSame(html.match(/<li class="done">/g)?.length, 5, 'the page of the deal shows the changes')
    const log = await app.inject({ url: urls[2] as string, headers: { accept: 'text/html' } })
    t.ok(log.body.includes('rel="next"') && log.body.includes('after='), 'a page by key leads on by key')
  })

  t.test('a place that is none', async t => {
    const id = await makeDeal(book)
    const cursor = (values: unknown) => Buffer.from(JSON.stringify(values)).toString('base64url')
    const place = (...values: unknown[]) => cursor(['commands revision,outcome,createdAt,id', true, ...values])
    const now = new Date().toISOString()
    for (const text of [
      '', 'x', cursor(1), cursor(null), cursor([]), place(1, 'done', now), place(1, 2, now, 'a'),
      place('1', 'done', now, 'a'), place(1, 'done', 'today', 'a'), place(1, 'done', now, '\u0000'),
      place(1.5, 'done', now, 'a'), cursor([1, 'done', now, 'a'])
    ]) {
      const answer = await app.inject(`${home}/${id}/commands?after=${text}`)
      t.match(answer.json(), { status: 400, errors: [{ parameter: 'after' }] }, text)
      await t.rejects(book.log(id, { after: text }), { code: 'invalid-query' })
    }
    const good = place(1, 'done', now, 'a')
    t.equal((await app.inject(`${home}/${id}/commands?after=${good}`)).statusCode, 200)
    for (const other of ['page=2', 'sort=id']) {
      t.match((await app.inject(`${home}/${id}/commands?after=${good}&${other}`)).json(), { status: 400 }, other)
    }
    t.equal((await app.inject(`${home}?after=${good}`)).statusCode, 400, 'nor has another list such places')
  })
})

const otherParams: Readonly<Record<string, object>> = { CompleteDeal: { comment: 'y' }, HoldDeal: { reason: 'b' } }

t.test('what a log says of other items is shown where the family refers to them', async t => {
  const plans = defineFamily({
    name: 'plans', singular: 'plan', fields: Type.Object({ id: Type.String() }), create: ['id']
  })
  const fields = Type.Object({ id: Type.String(), plan: Type.Optional(Type.String()) })
  const rooms = { name: 'rooms', singular: 'room', fields, create: ['id'] } as const
  const use = {
    name: 'use',
    verb: 'use',
    participle: 'used',
    noun: 'uses',
    action: 'UseRoom',
    params: Type.Object({ plan: Type.String() })
  }
  const about = { family: 'plans', id: 'p' }
  for (const [what, family, expected] of [
    ['by a field', defineFamily({ ...rooms, references: { plan: plans } }), about],
    ['by an operation', defineFamily({
      ...rooms,
      operations: {
        use: { ...use, with: { plan: { family: plans, id: ({ plan }) => plan } }, apply: room => room }
      }
    }), about],
    ['not at all', defineFamily(rooms), undefined]
  ] as const) {
    const storage = memoryStorage()
    const book = family.service({ storage, authorize: () => ({}) })
    await book.create({ id: 'a' })
    const at = new Date().toISOString()
    const entry = { id: 'c-1', family: 'rooms', target: 'a', action: 'MovePlan', outcome: 'done', about }
    const item = { ...entry, revision: 2, createdAt: at, updatedAt: at }
    await storage.commit([{ type: 'insert', family: 'commands', item }])
    t.strictSame((await book.log('a')).items.map(({ about }) => about), [undefined, expected], what)
  }
})
