import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import t from 'tap'
import type { HtmlOptions } from '../../lib/html/index.js'
import { english } from '../../lib/html/index.js'
import type { FamilyOptions } from '../../lib/index.js'
import { csv, defineFamily, html, json, memoryStorage, Type } from '../../lib/index.js'
import { de } from '../../lib/locales/de.js'
import { needsBrowser, openBrowser, openTab } from '../browser/open.js'
import { accept, createOrder, formOf, openShop, post, see, textOf } from './shop.js'

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
  const links = linksOf(await see(app, '/s/tasks'), 'states')
  const [all, open, ended] = links as [string, string, string]
  for (const url of [all, open, ended]) {
    const page = await see(app, url)
    t.strictSame(linksOf(page, 'states'), links, 'they replace each other')
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
    { user: async () => fail() },
    // As a query builder.
    { user: () => ({ then: (_: unknown, reject: (error: Error) => void) => reject(new Error('odd')) }) as never },
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

t.test('a flaw is beside what was entered', async t => {
  const { app, ids: { clients: [client] } } = await openShop(t, memoryStorage())
  const order = { _key: 'k', title: 'a', client: String(client) }
  const { body } = await post(app, '/shop/orders', {
    ...order, 'lines.0.article': '', 'lines.1.article': 'Nut', 'lines.1.quantity': 'many', 'lines.999.article': 'Bolt'
  })
  const { length } = body.match(/name="lines\.\d+\.quantity"/g) ?? []
  t.equal(length, 4, 'no more rows than were filled in, and two')
  const form = formOf(body, '/shop/orders')
  for (const [row, quantity, error] of [[0, 'many', 'must be a whole number'], [1, '', 'is required']] as const) {
    t.equal(form[`lines.${row}.quantity`], quantity, `row ${row}`)
    t.match(body, `id="create-lines-${row}-quantity-error">Quantity ${error}.`)
  }
  t.equal(form['lines.1.article'], 'Bolt')

  const lines = ['x', 'y'].map(article => ({ article, quantity: 1 }))
  const { id } = await createOrder(app, { title: 'b', client, lines })
  const url = `/shop/orders/${id}`
  const edit = formOf(await see(app, url), `${url}/edits`)
  const wrong = await post(app, `${url}/edits`, {
    ...edit, 'lines.0.article': '', 'lines.0.quantity': '', 'lines.1.quantity': 'z'
  })
  const again = formOf(wrong.body, `${url}/edits`)
  t.match(again, { 'lines.0.article': 'y', 'lines.0.quantity': 'z', 'lines.1.article': '', title: 'b' })
  t.equal((await post(app, `${url}/edits`, { ...again, 'lines.0.quantity': '5' })).statusCode, 303)
  t.strictSame((await app.inject(url)).json().lines, [{ article: 'y', quantity: 5 }], 'a row that was emptied is gone')

  const long = await post(app, '/shop/orders', { ...order, tags: `good\n${'x'.repeat(21)}` })
  t.match(long.body, 'id="create-tags-error">Tags 2 must have at most 20 characters.')
  t.equal(textOf(long.body).split('must have at most 20 characters').length, 3, 'there, and as a link to it')

  const none = await post(app, '/shop/orders', { _operation: 'send' })
  t.notMatch(none.body, '<details class="create" open', 'the form of another operation is not refused')
})

t.test('people are told an example, or the description, instead of a pattern', async t => {
  const code = (options: object) => Type.Optional(Type.String({ pattern: '^[A-Z]{2}-[0-9]{3}$', ...options }))
  const family = defineFamily({
    ...named,
    fields: Type.Object({
      id: Type.Integer(),
      name: Type.String(),
      shown: code({ examples: ['AB-123'], description: 'From the list' }),
      described: code({ description: 'Two letters, three digits' }),
      bare: code({})
    }),
    create: ['name', 'shown', 'described', 'bare']
  })
  for (const [texts, ...expected] of [
    [english, 'must look like AB-123.', 'does not have the right form.', 'must match pattern &quot;^[A-Z]'],
    [de, 'muss aussehen wie AB-123.', 'hat nicht die richtige Form.', 'hat nicht die richtige Form.']
  ] as const) {
    const app = await openTasks(t, family, [], { texts })
    const { body } = await post(app, '/s/tasks', { _key: 'k', name: 'a', shown: 'x', described: 'x', bare: 'x' })
    for (const [index, field] of ['Shown', 'Described', 'Bare'].entries()) {
      t.match(body, `-error">${field} ${expected[index]}`, field)
    }
  }
  const app = await openTasks(t, family)
  const { errors } = (await app.inject({ method: 'POST', url: '/s/tasks', payload: { name: 'a', shown: 'x' } })).json()
  t.strictSame(errors, [{ pointer: '/shown', detail: 'must look like AB-123 (pattern "^[A-Z]{2}-[0-9]{3}$")' }],
    'programs get both')
})

t.test('references in forms', async t => {
  const { app, ids: { clients } } = await openShop(t, memoryStorage(), { counts: [51, 1] })
  const [first, second] = clients as [number, number]
  const { id } = await createOrder(app, { title: 'a', client: first })
  const url = `/shop/orders/${id}`
  const edit = formOf(await see(app, url), `${url}/edits`)
  await app.inject({ method: 'PATCH', url, payload: { client: second } })
  const stale = await post(app, `${url}/edits`, { ...edit, '_find.client': 'Client 3' })
  t.equal(stale.statusCode, 412)
  t.match(textOf(stale.body), 'Now: Client 2', 'what others chose has its title')
  const asked = await post(app, `${url}/moves`, { _key: 'k', _confirm: 'ask', plant: '1' })
  t.match(textOf(asked.body), 'Plant Not set → Plant 1', 'what will change, too')
  const huge = await post(app, '/shop/orders', { _key: 'k', title: 'a', '_find.client': 'x'.repeat(9000) })
  t.equal(huge.statusCode, 400)
  t.equal(huge.body.split('x'.repeat(9000)).length, 2, 'a long text is shown once, where it was entered')
})

t.test('suggestions are asked for as the API answers', async t => {
  const fields = Type.Object({ id: Type.Integer(), name: Type.String(), search: Type.Optional(Type.String()) })
  const tasks = defineFamily({ ...named, fields, create: ['name'] })
  const notes = defineFamily({
    name: 'notes',
    singular: 'note',
    fields: Type.Object({ id: Type.Integer(), task: Type.Integer() }),
    references: { task: tasks },
    create: ['task']
  })
  for (const representations of [[json, html()], [html(), csv]]) {
    const app = Fastify({ forceCloseConnections: true })
    t.teardown(() => app.close())
    const options = { prefix: '/s', storage: memoryStorage(), representations }
    app.register(tasks, options)
    app.register(notes, options)
    for (let index = 0; index < 51; index++) {
      await app.inject({ method: 'POST', url: '/s/tasks', payload: { name: `Task ${index}` } })
    }
    const page = await see(app, '/s/notes')
    const lookup = /data-lookup="([^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&')
    t.equal(lookup !== undefined, representations.includes(json), 'only where there is JSON')
    if (lookup !== undefined) t.equal((await app.inject(`${lookup}sk+50`)).json().items[0]?.name, 'Task 50')
    t.match(page, 'name="_find.task"')
  }
})

t.test('a moment that was typed is not taken for the one that was shown', async t => {
  const { app, ids: { clients: [client] } } = await openShop(t, memoryStorage())
  const due = '2026-11-17T12:00:00.000Z'
  const { id } = await createOrder(app, { title: 'a', client, due })
  const url = `/shop/orders/${id}`
  const edit = formOf(await see(app, url), `${url}/edits`)
  // Noon in Berlin, where the page showed 13:00.
  const wrong = await post(app, `${url}/edits`, {
    ...edit, due: '2026-11-17T12:00', '_was.due': '2026-11-17T13:00', _zone: 'Europe/Berlin', title: ''
  })
  t.equal(wrong.statusCode, 400)
  t.match(wrong.body, /name="due" [^>]*value="2026-11-17T12:00">/)
  t.match(wrong.body, `name="_was.due" value="2026-11-17T12:00" data-moment="${due}">`, 'the script writes 13:00')
})

t.test('the script adds rows whatever their members are called', needsBrowser, async t => {
  const line = Type.Object({ 'unit-price': Type.Integer(), no: Type.String() })
  const fields = Type.Object({ id: Type.Integer(), name: Type.String(), lines: Type.Array(line) })
  const app = await openTasks(t, defineFamily({ ...named, fields, create: ['name', 'lines'] }))
  const browser = await openBrowser(t)
  const tab = await openTab(browser, { javaScriptEnabled: true })
  await tab.goto(`${await app.listen({ port: 0 })}/s/tasks`)
  await tab.getByRole('button', { name: 'Add a row' }).click()
  const inputs = await tab.locator('.rows input').evaluateAll(elements => elements.map(element =>
    [element.getAttribute('name'), element.id]))
  const expected = [0, 1, 2].flatMap(row => ['unit-price', 'no'].map(member =>
    [`lines.${row}.${member}`, `create-lines-${row}-${member}`]))
  t.strictSame(inputs, expected)
})
