import type { Intent, Storage } from '../../lib/index.js'
import { readEvents } from '../feed/events.js'
import type { Checker } from './checker.js'
import { authorize, goods, makerId, orders, since, weight } from './hidden-app.js'

/** Written by the boss, who sees everything. */
export async function prepare (boss: Checker): Promise<void> {
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
  await preparePast(post, put, async url => { await boss.ask({ method: 'DELETE', url: `/shop${url}` }, 204) })
}

type Send = (url: string, payload: object, expected?: number) => Promise<unknown>

/** Goods that are deleted, and such that cannot be as they were. */
async function preparePast (post: Send, put: Send, remove: (url: string) => Promise<void>): Promise<void> {
  const whole = {
    cost: 'MARK gone',
    maker: makerId,
    weight,
    since,
    more: { open: 'yes', secret: 'MARK secret' },
    terms: { days: 1, margin: 'MARK' },
    lines: [{ product: 'tin', quantity: 3, price: 'MARK' }]
  }
  await post('/makers', { id: 'mill-8', name: 'Second mill', secret: 'MARK secret' })
  // All before the first is deleted: later ids may be skipped.
  await post('/goods', { name: 'Gone', code: 'MARK gone', ...whole })
  await post('/goods', { name: 'Clash', code: 'MARK clash', ...whole })
  await post('/goods', { name: 'Clashing' })
  await post('/goods', { name: 'Orphan', ...whole, maker: 'mill-8' })
  await post('/goods', { name: 'First', code: 'MARK first', ...whole })
  await post('/goods', { name: 'Third' })
  await put('/goods/4/edit', { name: 'Gone soon', cost: 'MARK soon', more: { open: 'no', secret: 'MARK less' } })
  for (const url of ['/goods/4', '/goods/5', '/goods/7', '/makers/mill-8']) await remove(url)
  await put('/goods/6/edit', { code: 'MARK clash' })
  await put('/goods/8/edit', { name: 'Second', code: 'MARK second', cost: 'MARK', since: '1777-03-06', weight: 5 })
  await put('/goods/8/edit', { more: { open: 'no', secret: 'MARK 3' }, lines: [], weight: null })
  await put('/goods/9/edit', { code: 'MARK first' })
  await put('/goods/8/weigh', { more: 3 }, 409)
  await put('/goods/4/restore', {})
  await remove('/goods/4')
  await post('/orders', { good: 8 })
  await put('/orders/2/label', { code: 'own' })
  await put('/orders/2/edit', { note: 'noted' })
}

export const formats = ['json', 'xml', 'html', 'csv', 'ndjson']
export const accepts = ['application/json', 'application/xml', 'text/html', 'text/csv', 'application/x-ndjson']

export const listQueries: readonly string[] = ['', 'fields=id,name', 'sort=-name', 'name=Tea', 'name.has=a',
  'search=te', 'state=open', 'count=exact', 'maxpagesize=1', 'maxpagesize=1&page=2', 'expand=good',
  'or.name=Tea&or.id=2', 'lines.null=false', 'status=open']

export const addresses: readonly string[] = ['/goods', '/orders', '/makers', '/goods/1/commands', '/goods/2/commands',
  '/goods/commands', '/orders/1/commands', '/rest/commands', '/goods/1/repricings', '/goods/1/pricings',
  '/goods/1/recodings', '/goods/1/finishings',
  '/goods/1/edits', '/goods/1/deletions', '/goods/1/operations', '/orders/1/operations', '/query/goods-by-name/Tea',
  '/query/goods/1',
  '/query/goods-by-cost/5', '/', '/goods/1', '/goods/2', '/goods/3', '/goods/9', '/orders/1',
  '/orders/1?expand=good', '/goods/1?revision=1', '/goods/1?revision=3', '/goods/1?at=2999-01-01',
  '/goods/4?revision=1', '/goods/4?revision=2', '/goods/4?revision=3', '/goods/4/commands', '/goods/8?revision=2',
  '/orders/2?revision=1&expand=good', '/goods/commands?action=DeleteGood&outcome=done', '/goods/8/reversions',
  '/goods/4/restorations', '/goods/4/operations', `/makers/${makerId}`, '/orders/2/labels', '/goods/commands',
  '/goods/commands/deleted', '/makers/commands/deleted',
  '/makers/x', '/nothing', '/goods/1/nothing']

/** Every address that is read. */
export async function walkReads (checker: Checker): Promise<void> {
  const { app } = checker
  const headers = { 'x-role': checker.role }
  const { items } = (await app.inject({ url: '/shop/goods/1/commands?maxpagesize=9', headers })).json()
  const ids = (items as { id: string }[]).map(({ id }) => encodeURIComponent(id))
  const lists = [...addresses, ...ids.flatMap(id => [`/goods/1/commands/${id}`, `/rest/commands/${id}`])]
  for (const [index, url] of lists.entries()) {
    const separator = url.includes('?') ? '&' : '?'
    for (const format of checker.take(formats, index)) {
      await checker.ask({ url: `/shop${url}${separator}format=${format}` })
    }
    const [accept, format] = [accepts[(index + 1) % 5] as string, formats[(index + 2) % 5] as string]
    await checker.ask({ url: `/shop${url}`, headers: { accept } })
    if (!url.includes('?')) await checker.ask({ url: `/shop${url}.${format}` })
    if (!checker.isThorough && index % 5 > 0) continue
    await checker.ask({ method: 'HEAD', url: `/shop${url}`, headers: { accept } })
    const { headers: { etag } } = await checker.ask({ url: `/shop${url}` })
    if (etag === undefined) continue
    await checker.ask({ url: `/shop${url}`, headers: { 'if-none-match': etag } }, 304)
    const readAs = (role: string) => app.inject({ url: `/shop${url}`, headers: { 'x-role': role } })
    const { headers: { etag: theirs } } = await readAs('boss')
    if (theirs === undefined || checker.role === 'boss' || checker.prefix !== '/shop') continue
    const { statusCode } = await checker.ask({ url: `/shop${url}`, headers: { 'if-none-match': theirs } })
    // What is the same for both may have the same tag.
    if (statusCode === 200) continue
    const [body, their] = [(await checker.ask({ url: `/shop${url}` })).body, await readAs('boss')]
    checker.expect(body === their.body ? 200 : 304, 200, `if-none-match of another reader, ${url}`)
  }
  for (const url of ['/goods', '/orders', '/rest/commands', '/goods/commands', '/goods/1/commands']) {
    for (const [index, query] of listQueries.entries()) {
      for (const format of checker.take(['json', formats[index % 5]], index)) {
        await checker.ask({ url: `/shop${url}?${query}&format=${format}` })
      }
      if (!checker.isThorough && index % 3 > 0) continue
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      await checker.ask({ method: 'QUERY' as never, url: `/shop${url}`, headers, payload: query })
    }
    const accept = 'text/html,text/csv;q=0.9'
    for (const end of ['csv', 'ndjson']) await checker.ask({ url: `/shop${url}.${end}`, headers: { accept } })
  }
}

/** Every form of a write. */
export async function walkWrites (checker: Checker): Promise<void> {
  const { role } = checker
  const send = async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload: object | string = {},
    headers = {}, expected?: number) =>
    await checker.ask({ method, url: `/shop${url}`, payload, headers }, expected)
  const form = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
  for (const accept of checker.take(['application/json', 'text/html'], role.length)) {
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
    // A refusal hides what the grant of the command hides.
    if (role !== 'uneven') await send('PUT', '/goods/3/weigh', { more: 1 }, headers)
    await send('POST', '/goods/2/finishings', { comment: 'no' },
      { ...headers, 'idempotency-key': `f-${role}-${accept}` })
    await send('POST', '/goods/2/finishings', { comment: 'no' },
      { ...headers, 'idempotency-key': `f-${role}-${accept}` })
    await send('POST', '/goods/3/recodings', { to: 'x' }, headers)
    await send('PUT', '/goods/1/edit', { name: 'x' }, { ...headers, 'if-match': '"1"' })
    await send('POST', '/orders', { good: 1 }, headers)
    await send('POST', '/orders', { good: 99 }, headers)
    await send('POST', '/orders/2/labels', { code: 'first' }, headers)
    await send('PUT', `/orders/2/commands/l-${role}-${accept.slice(-4)}`,
      { action: 'LabelOrder', params: { code: 'first' } }, headers)
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

export async function walkTools (checker: Checker): Promise<void> {
  const listed = await jsonOf(checker, 'tools/list', {})
  const { tools } = JSON.parse(listed).result as { tools: { name: string }[] }
  const ofGoods = JSON.stringify(tools.filter(({ name }) => name.startsWith('goods_')))
  if (checker.role !== 'boss') {
    const named = /"(cost|maker|margin|code|quality|weight|since|min-cost)"/.exec(ofGoods)?.[0]
    checker.expect(named, undefined, 'schemas lack what is hidden')
    if (checker.role !== 'uneven') checker.expect(ofGoods.includes('goods_price'), false, 'it needs what is hidden')
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
    ['makers_find', {}], ['goods_get', { id: 8, revision: 1 }], ['goods_restore', { id: 4 }],
    ['goods_delete', { id: 4 }],
    ['goods_remove', { id: 4 }], ['goods_restore', { id: 5 }], ['goods_restore', { id: 7 }],
    ['goods_revert', { id: 8, to: 1 }], ['goods_revert', { id: 8, to: 99 }], ['orders_label', { id: 2, code: 'own' }],
    ['orders_revert', { id: 2, to: 1 }]
  ] as const) await jsonOf(checker, 'tools/call', { name, arguments: args })
}

export async function walkService (checker: Checker, storage: Storage): Promise<void> {
  const { role } = checker
  const options = {
    storage,
    authorize: (_call: unknown, { family, action }: Intent) => authorize(role, family, action) as never
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
    past: () => book.get(8, { revision: 1 }),
    pastOrder: () => others.get(2, { revision: 1, expand: ['good'] }),
    restore: () => book.restore(4, { key: `restore-${role}` }),
    restoreAgain: () => book.restore(4, { key: `restore-${role}` }),
    removeAgain: () => book.remove(4),
    canRestore: () => book.can('restore', 4),
    deleted: () => book.findDeleted(),
    restoreTaken: () => book.restore(5),
    restoreMissing: () => book.restore(7),
    previewRevert: () => book.preview('revert', 8, { to: 1 }),
    revert: () => book.revert(8, { to: 1 }),
    revertBack: () => book.revert(8, { to: 2 }),
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

interface Way {
  readonly method: 'PUT' | 'POST'
  readonly url: string
  readonly payload?: object
  readonly isRepeated?: boolean
}

/** All forms of an operation. */
function listWays (
  id: number, [verb, participle, noun, action]: readonly [string, string, string, string], params: object, tag: string
): Way[] {
  const command = { good: id, action, params }
  return [
    { method: 'PUT', url: `/goods/${id}/${verb}`, payload: params },
    { method: 'PUT', url: `/goods/${id}/${participle}`, payload: params },
    { method: 'POST', url: `/goods/${id}/${noun}`, payload: params, isRepeated: true },
    { method: 'PUT', url: `/goods/${id}`, payload: { action, params }, isRepeated: true },
    { method: 'PUT', url: `/goods/${id}/commands/${tag}-own`, payload: { action, params }, isRepeated: true },
    { method: 'PUT', url: `/rest/commands/${tag}-rest`, payload: command, isRepeated: true },
    { method: 'POST', url: `/command/${action}/`, payload: { id, ...params } },
    { method: 'POST', url: '/rest/commands', payload: { commands: [command], atomic: true } },
    { method: 'POST', url: '/rest/commands', payload: { commands: [command, command], atomic: false } }
  ]
}

const restoring = ['restore', 'restored', 'restorations', 'RestoreGood'] as const
const reverting = ['revert', 'reverted', 'reversions', 'RevertGood'] as const

/** Deleted items that come back, or cannot, and earlier revisions, in every form. */
export async function walkPast (checker: Checker): Promise<void> {
  const { role } = checker
  for (const accept of checker.take(['application/json', 'text/html', 'application/xml'], role.length)) {
    const tag = `${role}-${accept.slice(-4)}`
    const ways = [
      ...[4, 5, 7].flatMap(id => listWays(id, restoring, {}, `${tag}-${id}`)),
      ...[1, 2, 99].flatMap(to => listWays(8, reverting, { to }, `${tag}-to-${to}`)),
      ...[1, 2].map(to => ({ method: 'PUT', url: '/orders/2/revert', payload: { to } }) as Way)
    ]
    for (const [index, { method, url, payload, isRepeated = false }] of ways.entries()) {
      const key = isRepeated && !url.includes('commands/') ? { 'idempotency-key': `${tag}-${index}` } : {}
      const request = { method, url: `/shop${url}`, payload: payload ?? {}, headers: { accept, ...key } }
      await checker.ask(request)
      if (isRepeated) await checker.ask(request)
      if (JSON.stringify([url, payload]).includes('4')) await checker.ask({ method: 'DELETE', url: '/shop/goods/4' })
    }
  }
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
  for (const [url, payload] of [
    ['/goods/4/restorations', ''], ['/goods/4/restorations', '_confirm=true'], ['/goods/4/deletions', '_confirm=true'],
    ['/goods/5/restorations', '_confirm=true'], ['/goods/7/restorations', '_confirm=true'],
    ['/goods/8/reversions', 'to=1'], ['/goods/8/reversions', 'to=1&_confirm=true'],
    ['/goods/8/reversions', 'to=99&_confirm=true'], ['/goods/8/deletions', ''], ['/orders/2/labels', 'code=own'],
    ['/orders/2/labels', 'code=own&_confirm=true'], ['/orders/2/reversions', 'to=1&_confirm=true']
  ] as const) await checker.ask({ method: 'POST', url: `/shop${url}`, payload, headers })
}

/** A response that waits for an event, which someone else makes. */
export async function walkWaiting (checker: Checker): Promise<void> {
  for (const url of ['/rest/commands', '/goods/commands']) {
    const { links: { follow } } = (await checker.ask({ url: `/shop${url}?maxpagesize=1` })).json()
    await checker.ask({ url: String(follow).replace(checker.prefix, '/shop'), headers: { prefer: 'wait=1' } })
    const { links } = (await checker.ask({ url: `/shop${url}?maxpagesize=900` })).json()
    const end = String(links.next ?? links.follow).replace(checker.prefix, '/shop')
    const waiting = checker.ask({ url: end, headers: { prefer: 'wait=20' } }, 200)
    const payload = { cost: `MARK ${checker.role} ${url}`, lines: [{ product: 'tea', quantity: 1, price: 'MARK' }] }
    const headers = { 'x-role': 'boss' }
    await checker.app.inject({ method: 'PUT', url: `${checker.prefix}/goods/1/edit`, payload, headers })
    checker.check(`waiting for ${url}`, (await waiting).body)
  }
}

export async function walkEvents (checker: Checker, base: string): Promise<void> {
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
