// A checker: whatever a caller asks for, in any form and representation, nothing that a grant hides is in the answer.
import type { FastifyInstance, InjectOptions } from 'fastify'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { readEvents } from '../feed/events.js'
import { storages } from '../storages.js'
import { authorize, goods, makerId, mark, orders, startHidden, startNarrower } from './hidden-app.js'

type Role = 'boss' | 'clerk' | 'narrow' | 'anyone'
type Asked = InjectOptions & { readonly url: string }

/** What was asked, and whether the mark was in the answer. */
class Checker {
  readonly leaks: string[] = []
  readonly codes = new Map<number, number>()
  asked = 0

  constructor (readonly app: FastifyInstance, readonly role: Role, readonly prefix = '/shop') {}

  check (what: string, answer: unknown): void {
    this.asked++
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer) ?? ''
    // Goods refer to their makers by a field that is hidden, but the makers themselves may be seen.
    const at = [text.indexOf(mark), /^\w+ .(shop|whole).(goods|orders)/.test(what) ? text.indexOf(makerId) : -1]
      .find(index => index >= 0)
    if (at !== undefined) this.leaks.push(`${what}: …${text.slice(Math.max(0, at - 80), at + 40)}`)
  }

  async ask ({ headers, ...given }: Asked, expected?: number) {
    const asked = { ...given, url: given.url.replace('/shop', this.prefix) }
    const answer = await this.app.inject({ ...asked, headers: { ...headers, 'x-role': this.role } })
    const { statusCode, body } = answer
    this.codes.set(statusCode, (this.codes.get(statusCode) ?? 0) + 1)
    const what = `${asked.method ?? 'GET'} ${asked.url} ${JSON.stringify([headers, asked.payload])}`
    this.check(what, body + JSON.stringify(answer.headers))
    if (expected !== undefined) t.equal(statusCode, expected, `${this.role} ${what} ${body.slice(0, 300)}`)
    if (statusCode >= 500) t.fail(`${what}: ${body}`)
    return answer
  }
}

/** Written by the boss, who sees everything. */
async function prepare (boss: Checker): Promise<void> {
  const post = async (url: string, payload: object) =>
    await boss.ask({ method: 'POST', url: `/shop${url}`, payload }, 201)
  const put = async (url: string, payload: object, expected = 200) =>
    await boss.ask({ method: 'PUT', url: `/shop${url}`, payload }, expected)
  await post('/makers', { id: makerId, name: 'Mill', secret: 'MARK secret' })
  const lines = [{ product: 'tea', quantity: 1, price: 'MARK 1' }, { product: 'mate', quantity: 2, price: 'MARK 2' }]
  const terms = { days: 30, margin: 'MARK margin' }
  await post('/goods', { name: 'Tea', cost: 'MARK cost', code: 'MARK code', maker: makerId, terms, lines })
  await post('/goods', { name: 'Salt', cost: 'MARK other', lines })
  await post('/goods', { name: 'Rice' })
  await put('/goods/1/edit', { cost: 'MARK dear', lines: lines.slice(0, 1), terms: { days: 31, margin: 'MARK more' } })
  await put('/goods/1/reprice', { to: 'MARK 9', why: 'MARK reason' })
  await put('/goods/1/price', { cost: 'MARK 10' })
  await put('/goods/1/recode', { to: 'x' })
  await put('/goods/2/finish', { comment: 'fine' })
  await post('/orders', { good: 1 })
  await put('/orders/1/ship', { cost: 'shipped', carrier: 'van' })
  await put('/goods/1/commands/MARK-chosen', { action: 'RepriceGood', params: { to: 'MARK 11', why: 'MARK' } }, 201)
}

const formats = ['json', 'xml', 'html', 'csv', 'ndjson']
const accepts = ['application/json', 'application/xml', 'text/html', 'text/csv', 'application/x-ndjson']

/** Every address that is read. */
async function walkReads (checker: Checker): Promise<void> {
  const { app } = checker
  const headers = { 'x-role': checker.role }
  const { items } = (await app.inject({ url: '/shop/goods/1/commands?maxpagesize=9', headers })).json()
  const ids = (items as { id: string }[]).map(({ id }) => encodeURIComponent(id))
  const queries = ['', 'fields=id,name', 'sort=-name', 'name=Tea', 'name.has=a', 'search=te', 'state=open',
    'count=exact',
    'maxpagesize=1', 'maxpagesize=1&page=2', 'expand=good', 'or.name=Tea&or.id=2', 'lines.null=false', 'status=open']
  const lists = ['/goods', '/orders', '/makers', '/goods/1/commands', '/goods/2/commands', '/goods/commands',
    '/orders/1/commands',
    '/rest/commands', '/goods/1/repricings', '/goods/1/pricings', '/goods/1/recodings', '/goods/1/finishings',
    '/goods/1/edits', '/goods/1/deletions', '/goods/1/operations', '/orders/1/operations', '/query/goods-by-name/Tea',
    '/query/goods/1',
    '/query/goods-by-cost/5', '/', '/goods/1', '/goods/2', '/goods/3', '/goods/9', '/orders/1',
    '/orders/1?expand=good', '/goods/1?revision=1', '/goods/1?revision=3', '/goods/1?at=2999-01-01',
    '/makers/x', '/nothing', '/goods/1/nothing',
    ...ids.flatMap(id => [`/goods/1/commands/${id}`, `/rest/commands/${id}`])]
  for (const [index, url] of lists.entries()) {
    const separator = url.includes('?') ? '&' : '?'
    for (const format of formats) await checker.ask({ url: `/shop${url}${separator}format=${format}` })
    const [accept, format] = [accepts[index % 5] as string, formats[index % 5] as string]
    await checker.ask({ url: `/shop${url}`, headers: { accept } })
    if (!url.includes('?')) await checker.ask({ url: `/shop${url}.${format}` })
  }
  for (const url of ['/goods', '/orders', '/rest/commands', '/goods/commands', '/goods/1/commands']) {
    for (const [index, query] of queries.entries()) {
      for (const format of ['json', formats[index % 5]]) {
        await checker.ask({ url: `/shop${url}?${query}&format=${format}` })
      }
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      await checker.ask({ method: 'QUERY' as never, url: `/shop${url}`, headers, payload: query })
    }
    const accept = 'text/html,text/csv;q=0.9'
    for (const end of ['csv', 'ndjson']) await checker.ask({ url: `/shop${url}.${end}`, headers: { accept } })
  }
}

/** Naming something hidden is as naming something that does not exist. */
async function walkNames (checker: Checker): Promise<void> {
  for (const name of ['cost', 'code', 'maker', 'quality']) {
    for (const query of [`${name}=5`, `min-${name}=5`, `${name}.has=5`, `${name}.regex=5`, `${name}.null=true`,
      `${name}>5`,
      `or.${name}=5`, `sort=${name}`, `sort=-${name}`, `fields=${name}`, `fields=id,${name}`, `expand=${name}`,
        `${name}.ne=5`]) {
      for (const format of ['json', 'xml']) {
        const { body } = await checker.ask({ url: `/shop/goods?${query}&format=${format}` }, 400)
        const other = query.replace(name, 'zzzz')
        const { body: unknown } = await checker.ask({ url: `/shop/goods?${other}&format=${format}` }, 400)
        const strip = (text: string) => text.replaceAll(name, 'zzzz').replace(/ Did you mean [^?]*\?/g, '')
        t.equal(strip(body), strip(unknown), `${query}, as of a name that does not exist`)
      }
    }
  }
  for (const url of ['/goods?state=MARK-best', '/goods?expand=lines.price', '/goods/1?fields=cost',
    '/goods/1?expand=maker',
    '/rest/commands?principal=x', '/goods/commands?principal=x', '/goods/1/commands?principal=x',
    '/goods/1/commands?sort=principal',
    '/goods/1/commands?fields=principal', '/rest/commands?fields=principal']) {
    const { statusCode, body } = await checker.app.inject({ url: `/shop${url}`, headers: { 'x-role': checker.role } })
    t.equal(statusCode, 400, `${url} ${body}`)
    checker.asked++
  }
}

/** Every form of a write. */
async function walkWrites (checker: Checker): Promise<void> {
  const { role } = checker
  const send = async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload: object | string = {},
    headers = {}, expected?: number) =>
    await checker.ask({ method, url: `/shop${url}`, payload, headers }, expected)
  const form = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
  for (const accept of ['application/json', 'text/html']) {
    const headers = { accept }
    await send('POST', '/goods', { name: `New ${role} ${accept}` },
      { ...headers, 'idempotency-key': `k-${role}-${accept}` })
    await send('POST', '/goods', { name: `New ${role} ${accept}` },
      { ...headers, 'idempotency-key': `k-${role}-${accept}` })
    await send('PUT', '/goods/1/edit', { name: `Tea ${accept}` }, headers)
    await send('PUT', '/goods/1/edited', { name: `Tea ${accept} 2` }, headers)
    await send('POST', '/goods/1/edits', { name: `Tea ${accept} 3` }, headers)
    await send('PUT', '/goods/1', { action: 'EditGood', params: { name: `Tea ${accept} 4` } }, headers)
    await send('PATCH', '/goods/1', { name: `Tea ${accept} 5` }, headers)
    await send('PUT', '/goods/1', { name: `Tea ${accept} 6` }, headers)
    await send('PUT', `/goods/1/commands/w-${role}-${accept.slice(-4)}`,
      { action: 'EditGood', params: { name: 'Tea' } }, headers)
    await send('PUT', `/goods/1/commands/w-${role}-${accept.slice(-4)}`,
      { action: 'EditGood', params: { name: 'Tea' } }, headers)
    await send('PUT', `/rest/commands/r-${role}-${accept.slice(-4)}`,
      { good: 1, action: 'EditGood', params: { name: 'Tea 8' } }, headers)
    for (const atomic of [true, false]) {
      const commands = [
        { good: 1, action: 'EditGood', params: { name: `Tea ${atomic}` } },
        { action: 'CreateGood', params: { name: 'Many' } },
        { good: 2, action: 'FinishGood', params: {} }, { good: 2, action: 'EditGood', params: { name: 'Salt' } }
      ]
      await send('POST', '/rest/commands', { commands, atomic }, headers)
      await send('POST', '/rest/commands', { commands: commands.slice(0, 2), atomic }, headers)
      await send('POST', '/rest/commands', { commands: commands.slice(0, 2), atomic },
        { ...headers, 'idempotency-key': `m-${role}-${accept}-${atomic}` })
      await send('POST', '/rest/commands', { commands: commands.slice(0, 2), atomic },
        { ...headers, 'idempotency-key': `m-${role}-${accept}-${atomic}` })
    }
    await send('PUT', '/goods/2/finish', {}, headers)
    await send('POST', '/goods/2/finishings', { comment: 'no' },
      { ...headers, 'idempotency-key': `f-${role}-${accept}` })
    await send('POST', '/goods/2/finishings', { comment: 'no' },
      { ...headers, 'idempotency-key': `f-${role}-${accept}` })
    await send('POST', '/goods/3/recodings', { to: 'x' }, headers)
    await send('PUT', '/goods/1/edit', { name: 'x' }, { ...headers, 'if-match': '"1"' })
    await send('POST', '/orders', { good: 1 }, headers)
    await send('POST', '/orders', { good: 99 }, headers)
    await send('POST', '/command/EditGood/', { id: 1, name: 'Command' }, headers)
    await send('DELETE', `/makers/${makerId}`, {}, headers)
    await send('POST', '/goods', { name: 'A', code: 'MARK x'.slice(5) }, headers)
  }
  // Forms of pages, with a question, and those of several rows.
  for (const [url, payload] of [
    ['/goods/1/edits', 'name=Form'], ['/goods/1/edits', 'name=Form+2&_confirm=true'],
    ['/goods/1/repricings', 'to=cheap&why=so&_confirm=true'],
    ['/goods/1/repricings', 'to='], ['/goods/1/deletions', '_confirm=true'], ['/goods', 'name=Formed'],
    ['/goods', 'name='],
    ['/goods/1/finishings', 'comment=a&_confirm=true'], ['/goods/1/edits', 'name=x&_revision=1&_key=abc'],
    ['/goods', '_operation=edit&_item.1=1&_item.2=1'],
    ['/goods', '_operation=finish&_item.1=1&_item.2=1&_ready=true&comment=x'],
    ['/orders/1/shipments', 'cost=c&carrier=v&_confirm=true'], ['/orders/1/edits', 'note=a&_confirm=true']
  ] as const) await send('POST', url, payload, form)
}

const jsonOf = async (checker: Checker, method: string, params: object) => {
  const { body } = await checker.ask({
    method: 'POST',
    url: '/shop/mcp',
    payload: { jsonrpc: '2.0', id: 1, method, params }
  })
  return body
}

async function walkTools (checker: Checker): Promise<void> {
  const listed = await jsonOf(checker, 'tools/list', {})
  const { tools } = JSON.parse(listed).result as { tools: { name: string }[] }
  const ofGoods = JSON.stringify(tools.filter(({ name }) => name.startsWith('goods_')))
  if (checker.role !== 'boss') {
    t.notMatch(ofGoods, /"(cost|maker|margin|code|quality|min-cost)"/, 'schemas lack what is hidden')
    t.notMatch(ofGoods, /goods_price/, 'it needs what is hidden')
  }
  for (const [name, args] of [
    ['goods_find', {}], ['goods_find', { filter: { name: 'Tea' } }], ['goods_find', { filter: { cost: 'x' } }],
    ['goods_find', { sort: 'cost' }],
    ['goods_find', { fields: ['cost'] }], ['goods_get', { id: 1 }], ['goods_operations', { id: 1 }],
    ['goods_edit', { id: 1, name: 'Tool' }],
    ['goods_edit', { id: 1, cost: 'Tool' }], ['goods_create', { name: 'By a tool', command: `t-${checker.role}` }],
    ['goods_create', { name: 'By a tool', command: `t-${checker.role}` }], ['goods_create', { name: 'By', cost: 'x' }],
    ['goods_finish', { id: 2 }], ['goods_reprice', { id: 3, to: 'a', why: 'b' }], ['goods_price', { id: 3, cost: 'b' }],
    ['orders_find', {}], ['orders_get', { id: 1 }], ['orders_ship', { id: 1, cost: 'x', carrier: 'y' }],
    ['makers_find', {}]
  ] as const) await jsonOf(checker, 'tools/call', { name, arguments: args })
}

async function walkService (checker: Checker, storage: Storage): Promise<void> {
  const { role } = checker
  const options = {
    storage,
    authorize: (_call: unknown, { family }: { family: string }) => authorize(role,
      family) as never
  }
  const [book, others] = [goods.service(options), orders.service(options)]
  const attempt = async (what: string, work: () => Promise<unknown>) => {
    try {
      checker.check(what, await work())
    } catch (error) {
      const { document } = error as { document?: () => object }
      checker.check(what, document === undefined ? String(error) : (error as { document (): object }).document())
    }
  }
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    get: () => book.get(1),
    find: () => book.find(''),
    findCost: () => book.find('cost=5'),
    findWhere: () => book.find([{ field: 'cost', op: 'eq', values: ['5'] }]),
    expand: () => others.get(1, { expand: ['good'] }),
    log: () => book.log(1),
    logs: () => others.log(1),
    entry: async () => await book.entry(1, (await book.log(1)).items[2]?.id as string),
    offers: () => book.offers(1),
    create: () => book.create({ name: 'Service' }, { key: `s-${role}` }),
    again: () => book.create({ name: 'Service' }, { key: `s-${role}` }),
    edit: () => book.run('edit', 1, { name: 'Service edit' }),
    editCost: () => book.run('edit', 1, { cost: 'none' }),
    preview: () => book.preview('edit', 1, { name: 'Preview' }),
    reprice: () => book.preview('reprice', 1, { to: 'free', why: 'so' }),
    finish: () => book.run('finish', 2),
    all: () => book.runAll([{ operation: 'edit', id: 1, params: { name: 'All' } }, { operation: 'finish', id: 2 }]),
    atomic: () => book.runAll([{ operation: 'edit', id: 1, params: { name: 'All 2' } },
      { operation: 'create', params: { name: 'A' } }], { atomic: true }),
    async follow () {
      const entries: unknown[] = []
      for await (const entry of book.follow()) if (entries.push(entry) === 8) break
      return entries
    }
  }
  for (const [what, work] of Object.entries(calls)) await attempt(what, work)
}

async function walkEvents (checker: Checker, base: string): Promise<void> {
  for (const url of ['/rest/commands', '/goods/commands', '/goods/1/commands']) {
    const sort = url.startsWith('/goods/1') ? '&sort=revision' : ''
    const { links } = (await checker.ask({ url: `/shop${url}?maxpagesize=1${sort}` })).json()
    const cursor = /after=([^&]+)/.exec(links.next)?.[1] ?? ''
    // Of the log of an item, next is no place in the feed.
    const { links: { next } } = (await checker.ask({ url: '/shop/goods/commands?maxpagesize=1' })).json()
    const start = url.startsWith('/goods/1') ? /after=([^&]+)/.exec(next)?.[1] ?? '' : cursor
    const stream = await readEvents(`${base}/shop${url}?after=${start}`, { 'x-role': checker.role })
    const events = await stream.take(3)
    stream.close()
    checker.check(`events of ${url}`, events)
  }
}

async function walk (checker: Checker, storage: Storage, base: string): Promise<void> {
  if (checker.role !== 'boss') await walkNames(checker)
  await walkEvents(checker, base)
  await walkWrites(checker)
  await walkTools(checker)
  await walkService(checker, storage)
  await walkReads(checker)
}

for (const { name, make } of storages) {
  t.test(`${name}: nothing hidden is in any answer`, async t => {
    const { storage, dispose } = await make()
    const app = await startHidden(storage)
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    await prepare(new Checker(app, 'boss'))
    const base = await app.listen({ port: 0, host: '127.0.0.1' })
    let asked = 0
    for (const role of ['clerk', 'narrow', 'anyone'] as const) {
      const checker = new Checker(app, role)
      await walk(checker, storage, base)
      t.strictSame([...new Set(checker.leaks)].slice(0, 40), [], `of ${checker.asked} answers to ${role}`)
      t.ok((checker.codes.get(200) ?? 0) > 200, `most are answers ${[...checker.codes]}`)
      asked += checker.asked
    }
    t.ok(asked > 2000, `${asked} answers`)
    // That the checker would find it: a caller from whom nothing is hidden gets it in all of these forms.
    const boss = new Checker(app, 'boss')
    await walk(boss, storage, base)
    const found = (part: string): boolean => boss.leaks.some(leak => leak.includes(part))
    const parts = [...formats.map(format => `format=${format}`), ...accepts, 'QUERY', 'events of', 'PUT', 'PATCH',
      'POST',
      '/shop/mcp', '_confirm', '/operations', 'preview', 'follow', 'again', 'expand', 'atomic', '/rest/commands',
      '/shop/']
    t.strictSame(parts.filter(part => !found(part)), [], `${boss.leaks.length} of ${boss.asked}`)
  })
}

for (const { name, make } of storages) {
  t.test(`${name}: what a narrower version lacks is in none of its answers`, async t => {
    const { storage, dispose } = await make()
    const app = await startNarrower(storage)
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    await prepare(new Checker(app, 'boss', '/whole'))
    const base = await app.listen({ port: 0, host: '127.0.0.1' })
    const checker = new Checker(app, 'anyone')
    await walkEvents(checker, base)
    await walkWrites(checker)
    await walkTools(checker)
    await walkReads(checker)
    // Of a command that it does not have, the version shows its id, which its client chose.
    const leaks = checker.leaks.filter(leak => !leak.includes('MARK-chosen'))
    t.strictSame([...new Set(leaks)].slice(0, 40), [], `of ${checker.asked} answers`)
    t.ok(checker.asked > 500, `${checker.asked} answers`)
    const whole = new Checker(app, 'boss', '/whole')
    await walkReads(whole)
    t.ok(whole.leaks.length > 50, 'which the whole family has')
  })
}
