import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import t from 'tap'
import type { FamilyOptions, HtmlOptions } from '../../lib/index.js'
import { csv, defineFamily, english, html, json, memoryStorage, Type } from '../../lib/index.js'
import { accept, createOrder, openShop, see, textOf } from './shop.js'

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

const simple = { ...named, fields: Type.Object({ id: Type.Integer(), name: Type.String() }), create: ['name'] } as const

t.test('pages do not depend on what the functions of a host return', async t => {
  const nothing = () => null as unknown as undefined
  const fail = () => { throw new Error('odd') }
  const texts = [english, { lang: 'de' }]
  const cases: readonly HtmlOptions[] = [
    { user: nothing },
    { user: () => ({ name: nothing() as unknown as string }) },
    { user: fail },
    { texts, language: nothing },
    { texts, language: fail }
  ]
  for (const pages of cases) {
    const app = await openTasks(t, defineFamily(simple), [], pages)
    for (const [url, status] of [['/s/tasks', 200], ['/s/tasks/7', 404]] as const) {
      const { statusCode, headers, body } = await app.inject({ url, headers: accept })
      t.strictSame([statusCode, headers['content-type']], [status, 'text/html; charset=utf-8'])
      t.notMatch(body, />null</)
    }
  }
  for (const state of [null, 7, {}, '']) {
    const app = await openTasks(t, defineFamily({ ...simple, state: () => state as string }), [{ name: 'a' }])
    for (const url of ['/s/tasks', '/s/tasks/1']) {
      const { statusCode, body } = await app.inject({ url, headers: accept })
      t.equal(statusCode, 200, `the state ${JSON.stringify(state)}`)
      t.notMatch(body, 'class="badge', 'is none')
    }
  }
})

t.test('an item whose title cannot be seen has its id', async t => {
  const fields = Type.Object({
    id: Type.Integer(), name: Type.Optional(Type.String()), parent: Type.Optional(Type.Integer())
  })
  const parents = defineFamily({ ...named, fields, create: ['name'] })
  const app = await openTasks(t, parents, [{ name: '' }, { name: ' \u200b' }, {}])
  for (const id of [1, 2, 3]) {
    const page = await see(app, `/s/tasks/${id}`)
    t.match(page, `<h1 dir="auto">Task ${id}</h1>`)
    t.match(await see(app, `/s/tasks/${id}/commands`), `<a href="/s/tasks/${id}"><bdi>${id}</bdi></a>`)
  }
})
