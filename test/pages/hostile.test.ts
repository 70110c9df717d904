import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import t from 'tap'
import type { FamilyOptions, HtmlOptions } from '../../lib/index.js'
import { csv, defineFamily, html, json, memoryStorage, Type } from '../../lib/index.js'
import { createOrder, openShop, see, textOf } from './shop.js'

/** A family of tasks, with some items. */
async function openTasks (
  t: { teardown (close: () => Promise<unknown>): void },
  tasks: FastifyPluginAsync<FamilyOptions>,
  items: readonly object[] = [],
  pages: HtmlOptions = {}
): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  app.register(tasks, { prefix: '/s', storage: memoryStorage(), representations: [json, html(pages), csv] })
  for (const payload of items) {
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/s/tasks', payload })
    if (statusCode !== 201) throw new Error(body)
  }
  return app
}

const named = { name: 'tasks', singular: 'task' } as const

const linksOf = (page: string, part: string): string[] =>
  [...(new RegExp(`<nav class="${part}.*?</nav>`, 's').exec(page)?.[0] ?? '').matchAll(/href="([^"]*)"/g)]
    .map(([, href = '']) => href.replaceAll('&amp;', '&'))

t.test('filters of a list stay when another is set', async t => {
  const { app, ids: { clients } } = await openShop(t, memoryStorage(), { counts: [51, 1] })
  const [client] = clients as [number]
  await createOrder(app, { title: 'First', client })
  await createOrder(app, { title: 'Second', client })
  const page = await see(app, `/shop/orders?client=${client}`)
  const filter = page.slice(page.indexOf('role="search"'), page.indexOf('class="columns"'))
  t.match(filter, `<input type="hidden" name="client" value="${client}">`, 'an item that was looked up')
  t.match(textOf(page), 'Client: Client 1 ×', 'which is shown by its title')
  const titles = async (url: string) => (await see(app, url)).match(/First|Second(?=<)/g)?.slice(0, 2)
  t.strictSame(await titles('/shop/orders?sort='), await titles('/shop/orders'), 'the default order')
})

t.test('tabs of states, whatever their filters are', async t => {
  const status = Type.Union([Type.Literal('in progress'), Type.Literal("it's")])
  const plain = await openTasks(t, defineFamily({
    ...named, fields: Type.Object({ id: Type.Integer(), name: Type.String(), status }), create: ['name', 'status']
  }))
  for (const query of ['state=in+progress', 'state=in%20progress', 'state=it%27s', "state=it's"]) {
    t.match(await see(plain, `/s/tasks?${query}`), /aria-current="true">\n<span class="dot/, query)
  }
  const app = await openTasks(t, defineFamily({
    ...named,
    fields: Type.Object({
      id: Type.Integer(), name: Type.String(), state: Type.Optional(Type.String()), done: Type.Boolean()
    }),
    states: { open: { filter: 'done=false&min-id=1' }, ended: { filter: 'done=true' } },
    create: ['name', 'done']
  }), [{ name: 'a', done: false }, { name: 'b', done: true }])
  const [all, open, ended] = linksOf(await see(app, '/s/tasks'), 'states') as [string, string, string]
  for (const url of [all, open, ended]) {
    const page = await see(app, url)
    t.strictSame(linksOf(page, 'states'), [all, open, ended], 'they replace each other')
    t.match(textOf(page), url === all ? '1–2 of 2' : '1–1 of 1')
    t.match(page.replaceAll('&amp;', '&'), `href="${url}" aria-current="true"`)
  }
})
