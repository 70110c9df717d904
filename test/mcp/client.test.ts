import { readFileSync } from 'node:fs'
import { ProtocolError } from '@modelcontextprotocol/client'
import t from 'tap'
import { anyStorage } from '../storages.js'
import { connect, crmApp, toResult } from './app.js'

const tools = [
  'customers_find', 'customers_get',
  'deals_find', 'deals_get', 'deals_operations', 'deals_deleted', 'deals_create', 'deals_hold', 'deals_unhold',
  'deals_complete',
  'deals_cancel', 'deals_change-price', 'deals_change-completion-date', 'deals_edit', 'deals_delete',
  'deals_restore'
]

for (const mode of ['legacy', 'auto', { pin: '2026-07-28' }] as const) {
  t.test(`the official client connects, lists and calls: ${JSON.stringify(mode)}`, async t => {
    const app = await crmApp()
    t.teardown(() => app.close())
    const client = await connect(t, app, mode)
    t.equal(client.getNegotiatedProtocolVersion(), mode === 'legacy' ? '2025-11-25' : '2026-07-28')
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    t.strictSame(client.getServerVersion(), { name: 'fastify-dealbook', version })
    t.strictSame(client.getServerCapabilities(), { tools: {} })
    t.match(client.getInstructions(), /_operations/)
    const listed = await client.listTools()
    t.strictSame(listed.tools.map(({ name }) => name), tools)
    const created = toResult(await client.callTool({ name: 'deals_create', arguments: { name: 'Tea', price: 1 } }))
    t.match(created.content, { item: { name: 'Tea', status: 'open' }, changed: true, replayed: false })
    const unknown = client.callTool({ name: 'deals_hodl', arguments: {} })
    await t.rejects(unknown, new ProtocolError(-32602, 'Unknown tool: deals_hodl. Did you mean "deals_hold"?'))
  })
}

for (const { name, make } of anyStorage) {
  t.test(`a whole deal by tools, on ${name}`, async t => {
    const { storage, dispose } = await make()
    const app = await crmApp({ storage })
    const client = await connect(t, app)
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    const call = async (name: string, args: Record<string, unknown>) =>
      toResult(await client.callTool({ name, arguments: args }))
    const ids: string[] = []
    for (const [index, price] of [100, 20, 50].entries()) {
      const { content } = await call('deals_create', { name: `Tea ${index}`, price, command: `new-${index}` })
      ids.push(content.item.id)
    }
    const [id] = ids
    const again = await call('deals_create', { name: 'Tea 0', price: 100, command: 'new-0' })
    t.match(again.content, { item: { id }, changed: true, replayed: true }, 'a command id creates once')
    const reused = await call('deals_create', { name: 'Tea 9', price: 100, command: 'new-0' })
    t.match(reused, { isError: true, content: { status: 422, type: 'urn:dealbook:problem:id-reused' } })

    const page = await call('deals_find', {
      filter: { 'min-price': 50, status: ['open', 'completed'] },
      sort: '-price',
      fields: ['id', 'price'],
      limit: 1,
      count: true
    })
    t.match(page.content, { total: 2, next: String })
    t.strictSame(page.content.items, [{ id, price: 100 }])
    const { next: after } = page.content
    const rest = await call('deals_find', { filter: { 'min-price': 50 }, sort: '-price', limit: 1, after })
    t.match(rest.content.items, [{ id: ids[2], price: 50 }])
    t.notOk('next' in rest.content)
    const filter = { state: 'open', 'or.price': 20, 'or.name.has': '5' }
    const found = await call('deals_find', { search: 'tea 1', filter })
    t.strictSame(found.content.items.map(item => item.id), [ids[1]])

    const held = await call('deals_hold', { id, reason: 'Papers', command: 'hold-1', revision: 1 })
    t.match(held.content, { item: { held: true, revision: 2 }, command: { id: 'hold-1', action: 'HoldDeal' } })
    const replayed = await call('deals_hold', { id, reason: 'Papers', command: 'hold-1', revision: 1 })
    t.match(replayed.content, { item: { revision: 2 }, replayed: true }, 'recognised before the revision')
    t.match(await call('deals_hold', { id, reason: 'Papers' }), { content: { changed: false } }, 'already so')
    t.match(await call('deals_unhold', { id, revision: 1 }), {
      isError: true, text: /at revision 2/, content: { type: 'urn:dealbook:problem:precondition-failed', revision: 2 }
    })

    const { content: { items } } = await call('deals_operations', { id })
    const byName = Object.fromEntries(items.map(({ name, ...rest }) => [name, rest]))
    t.strictSame(byName.unhold, { tool: 'deals_unhold', allowed: true })
    t.strictSame(byName.complete, { tool: 'deals_complete', allowed: false, reason: 'The deal is held' })

    const refused = await call('deals_complete', { id, command: 'done-1' })
    t.strictSame(refused, {
      isError: true,
      text: 'The operation is not allowed in this state: The deal is held\nAllowed now: unhold, cancel, edit',
      content: {
        type: 'urn:dealbook:problem:wrong-state',
        title: 'The operation is not allowed in this state',
        status: 409,
        detail: 'The deal is held',
        state: 'held',
        operation: 'complete',
        allowed: ['unhold', 'cancel', 'edit']
      }
    })
    t.match((await call('deals_unhold', { id })).content, { item: { held: false } })
    t.match(await call('deals_complete', { id, command: 'done-1' }), {
      isError: true,
      text: /refused before under this command id; to try again, choose a new one/,
      content: { replayed: true }
    }, 'a refusal is replayed, and says so')
    t.match((await call('deals_complete', { id, command: 'done-2' })).content, { item: { status: 'completed' } })
    t.match((await call('deals_get', { id })).content, { id, status: 'completed', price: 100 })

    t.match((await call('deals_delete', { id })).content, { changed: true, item: undefined })
    t.match(await call('deals_get', { id }), { isError: true, content: { status: 404 } })
  })
}
