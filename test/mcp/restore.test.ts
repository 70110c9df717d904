import Fastify from 'fastify'
import t from 'tap'
import { deals, memoryStorage } from '../../lib/index.js'
import { mcp } from '../../lib/mcp/mcp.js'
import { ask, call } from './app.js'

t.test('an agent restores what it deleted, and reverts what it changed', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(mcp, { prefix: '/crm' })
  app.register(deals.extend({ revert: true }), { storage: memoryStorage(), prefix: '/crm', version: 'v1' })
  await app.ready()
  const { item: { id } } = (await call(app, 'deals_create', { name: 'Tea', price: 1 })).content
  await call(app, 'deals_change-price', { id, newPrice: 5, reason: 'Rise' })
  await call(app, 'deals_delete', { id })
  t.match(await call(app, 'deals_get', { id }), { isError: true })
  t.match((await call(app, 'deals_restore', { id })).content, { item: { id, price: 5, revision: 4 }, changed: true })
  t.match((await call(app, 'deals_restore', { id })).content, { changed: false })
  t.match((await call(app, 'deals_revert', { id, to: 1 })).content, { item: { price: 1, revision: 5 } })
  t.match(await call(app, 'deals_revert', { id, to: 9 }), { isError: true, text: /\/to/ })
  const unknown = '01890a5d-ac96-774b-bcce-b302099a8057'
  t.match(await call(app, 'deals_restore', { id: unknown }), { isError: true, content: { status: 404 } })
  const { body: { result } } = await ask(app, 'tools/list')
  const hints = result?.tools.filter(({ name }) => /_re(store|vert)$/.test(name)).map(({ annotations }) => annotations)
  t.match(hints, [{ idempotentHint: true }, { idempotentHint: true }])
})
