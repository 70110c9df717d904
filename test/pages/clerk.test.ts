import Fastify from 'fastify'
import t from 'tap'
import type { Grant, Intent } from '../../lib/index.js'
import { defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'
import { anyStorage, storages } from '../storages.js'
import { accept, createOrder, formOf, openShop, post, see, textOf } from './shop.js'

for (const { name, make } of anyStorage) {
  t.test(`${name}: a stale page does not overwrite`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { app, ids: { clients: [client] } } = await openShop(t, storage, {
      authorize: ({ headers }) => ({ principal: String(headers['x-person'] ?? 'ann') })
    })
    const { id } = await createOrder(app, { title: 'Bolts', client, total: '100.00' })
    const url = `/shop/orders/${id}`
    const page = await see(app, url)
    for (const noun of ['sendings', 'pricings', 'moves', 'edits', 'deletions']) {
      t.equal(formOf(page, `${url}/${noun}`)['_revision'], '1', `${noun} has the revision`)
    }
    await app.inject({
      method: 'PUT', url: `${url}/price`, headers: { 'x-person': 'bob' }, payload: { total: '200.00', reason: 'Dearer' }
    })

    const price = { ...formOf(page, `${url}/pricings`), total: '300', reason: 'My own reason' }
    const stale = await post(app, `${url}/pricings`, price)
    t.equal(stale.statusCode, 412)
    t.match(textOf(stale.body), 'Someone has changed it since you opened this page.')
    t.match(textOf(stale.body), /What has changed .*by bob Total 100\.00 → 200\.00/)
    const again = formOf(stale.body, `${url}/pricings`)
    t.match(again, { total: '300', reason: 'My own reason', _revision: '2' }, 'what was typed is there still')
    t.equal((await app.inject(url)).json().total, '200.00', 'nothing was done')

    const edit = { ...formOf(page, `${url}/edits`), total: '50.00', title: 'Nuts' }
    const both = await post(app, `${url}/edits`, edit)
    t.equal(both.statusCode, 412)
    t.match(both.body, '<span class="theirs">Now: <span class="number">200.00</span></span>', 'beside the own value')
    t.match(formOf(both.body, `${url}/edits`), { total: '50.00', '_was.total': '200.00', title: 'Nuts' })

    const removal = await post(app, `${url}/deletions`, { ...formOf(page, `${url}/deletions`), _confirm: 'ask' })
    t.equal(removal.statusCode, 412, 'not even the question')
    const one = await post(app, `${url}/sendings`, formOf(page, `${url}/sendings`))
    t.equal(one.statusCode, 412, 'a form without fields')

    const sent = await post(app, `${url}/pricings`, again)
    t.equal(sent.statusCode, 303, 'sent again')
    t.equal((await app.inject(url)).json().total, '300.00')
    t.equal((await post(app, `${url}/pricings`, again)).statusCode, 303, 'a repeated form is a replay, not stale')
    t.equal((await app.inject(url)).json().revision, 3)
  })

  t.test(`${name}: what was typed is never lost`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    let refusal: Problem | undefined
    const { app, ids: { clients: [client] } } = await openShop(t, storage, {
      pages: { user: () => ({ signIn: '/login?a=1&b=2' }) },
      authorize (_request, { action }) {
        if (refusal !== undefined && action === 'PriceOrder') throw refusal
        if (refusal?.statusCode === 401) throw refusal
        return { principal: 'ann' }
      }
    })
    const { id } = await createOrder(app, { title: 'Bolts', client })
    const url = `/shop/orders/${id}`
    const form = { ...formOf(await see(app, url), `${url}/pricings`), total: '7', reason: 'A <long> "text"\n&c.' }
    for (const [problem, status] of [
      [new Problem('busy', 'Too much'), 503],
      [new Problem('too-many-requests', 'Wait'), 429],
      [new Problem('unauthorized', 'Sign in'), 401]
    ] as const) {
      refusal = problem
      const { statusCode, body } = await post(app, `${url}/pricings`, form)
      t.equal(statusCode, status)
      t.match(textOf(body), /You entered: .*A &lt;long&gt; &quot;text&quot; &amp;c\./)
      t.strictSame(formOf(body, `${url}/pricings`), form, `${status}: the same form again`)
      if (status === 401) t.match(body, '<a href="/login?a=1&amp;b=2" target="_blank" rel="noopener">Sign in</a>')
    }
    refusal = undefined
    t.equal((await post(app, `${url}/pricings`, form)).statusCode, 303, 'and it is done')

    const open = formOf(await see(app, url), `${url}/pricings`)
    await app.inject({ method: 'DELETE', url })
    const gone = await post(app, `${url}/pricings`, { ...open, total: '8', reason: 'Too late' })
    t.equal(gone.statusCode, 404)
    t.match(textOf(gone.body), /It was deleted\. Its history .*You entered: .*Too late/)
    t.notMatch(gone.body, 'Send it again')
  })

  t.test(`${name}: lists, rows, members and moments are entered`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { app, ids: { clients: [client], plants: [plant] } } = await openShop(t, storage)
    const empty = formOf(await see(app, '/shop/orders'), '/shop/orders')
    const more = await post(app, '/shop/orders', { ...empty, title: 'Kept', 'lines.1.article': 'Nut', _add: 'lines' })
    t.equal(more.statusCode, 200, 'more rows')
    const wider = formOf(more.body, '/shop/orders')
    t.match(wider, { title: 'Kept', 'lines.1.article': 'Nut', 'lines.2.article': '' }, 'with what was typed')

    const made = await post(app, '/shop/orders', {
      ...wider,
      client: String(client),
      plant: String(plant),
      total: '19.9',
      tags: ' red \n\nblue\n',
      'lines.0.article': '',
      'lines.1.quantity': '5',
      'lines.1.rush': 'true',
      'lines.2.article': 'Bolt',
      'lines.2.quantity': '2',
      'address.city': 'Berlin',
      due: '2026-11-20T10:30',
      _zone: 'Pacific/Auckland'
    })
    t.equal(made.statusCode, 303, made.body)
    const url = String(made.headers.location)
    const order = (await app.inject(url)).json()
    t.match(order, {
      title: 'Kept',
      client,
      plant,
      total: '19.90',
      tags: ['red', 'blue'],
      lines: [{ article: 'Nut', quantity: 5, rush: true }, { article: 'Bolt', quantity: 2 }],
      address: { city: 'Berlin' },
      due: '2026-11-19T21:30:00.000Z'
    })
    t.equal(order.note, undefined)
    const page = await see(app, url)
    t.match(textOf(page), 'Article Quantity Rush Nut 5 Yes Bolt 2')
    t.match(page, '<a href="/shop/clients/1">Client 1</a>', 'by its title')

    const edit = formOf(page, `${url}/edits`)
    t.match(edit, { tags: 'red\nblue', 'lines.1.article': 'Bolt', 'address.city': 'Berlin', due: '2026-11-19T21:30' })
    t.equal((await post(app, `${url}/edits`, { ...edit, title: 'New' })).statusCode, 303)
    t.strictSame(
      { ...(await app.inject(url)).json(), title: 'Kept', revision: 1, updatedAt: order.updatedAt }, order,
      'what was not touched stays'
    )
    const next = formOf(await see(app, url), `${url}/edits`)
    t.equal((await post(app, `${url}/edits`, {
      ...next, tags: '', 'lines.0.article': '', 'lines.0.quantity': '', 'lines.0.rush': '', due: ''
    })).statusCode, 303)
    const { tags, lines, due } = (await app.inject(url)).json()
    t.strictSame([tags, lines, due], [undefined, [{ article: 'Bolt', quantity: 2 }], undefined], 'emptied')

    for (const key of ['title.x', 'lines.0.colour', 'lines.x', 'lines.1000.article', 'address.city.x', 'tags.0']) {
      const odd = await post(app, '/shop/orders', { ...empty, title: 'x', client: String(client), [key]: 'y' })
      t.equal(odd.statusCode, 400, key)
      t.match(textOf(odd.body), ' is unknown.', 'as in JSON')
    }

    const wrong = await post(app, '/shop/orders', {
      ...empty, title: 'x', client: String(client), 'lines.0.article': 'Nut', 'lines.0.quantity': 'many', due: 'noon'
    })
    t.equal(wrong.statusCode, 400)
    t.match(wrong.body, 'id="create-lines-0-quantity-error">Quantity must be a whole number.')
    t.match(wrong.body, '<a href="#create-due">Due must be a date and time')
    t.match(formOf(wrong.body, '/shop/orders'), { 'lines.0.quantity': 'many', due: 'noon' })
  })
}

for (const { name, make } of storages) {
  t.test(`${name}: references are found by their titles`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const hidden: number[] = []
    const { app, ids } = await openShop(t, storage, {
      counts: [60, 3],
      authorize: (_request, { family }) => family === 'clients' && hidden.length > 0
        ? { where: [{ field: 'id', op: 'ne', values: hidden }] }
        : {}
    })
    const [first, second] = ids.clients as [number, number]
    const page = await see(app, '/shop/orders')
    t.match(page, `<option value="${ids.plants[0]}">Plant 1</option>`, 'few are a choice')
    t.match(page, /name="_find\.client" required [^>]*list="create-_find-client-list" data-lookup="[^"]*search="/)
    const empty = formOf(page, '/shop/orders')
    const order = async (find: string) =>
      await post(app, '/shop/orders', { ...empty, title: 'a', '_find.client': find })
    for (const [find, expected] of [
      ['Client 1', first],
      [`Client 2 (${second})`, second],
      ['lient 60', ids.clients.at(-1)]
    ] as const) {
      const { statusCode, headers, body } = await order(find)
      t.equal(statusCode, 303, body)
      t.equal((await app.inject(String(headers.location))).json().client, expected, find)
    }
    const several = await order('Client 5')
    t.equal(several.statusCode, 303, 'the exact title wins')
    const many = await order('ent 5')
    t.equal(many.statusCode, 400)
    t.match(many.body, `<option value="${ids.clients[49]}">Client 50</option>`)
    t.match(textOf(many.body), 'Client has several matches; choose one.')
    const chosen = await post(app, '/shop/orders', { ...formOf(many.body, '/shop/orders'), client: String(first) })
    t.equal(chosen.statusCode, 303)
    t.match(textOf((await order('nobody')).body), 'Client has no match for &quot;nobody&quot;.')
    t.match(formOf((await order('nobody')).body, '/shop/orders'), { '_find.client': 'nobody' }, 'what was typed')

    const list = await see(app, '/shop/orders')
    t.match(list, `<a href="/shop/clients/${first}">Client 1</a>`, 'in lists')
    const found = await app.inject({ url: '/shop/orders?_find.client=lient+60&state=open', headers: accept })
    t.strictSame([found.statusCode, found.headers.location],
      [303, `/shop/orders?state=open&sort=-id&client=${ids.clients.at(-1)}`], 'filtered the same way')
    const related = await see(app, `/shop/clients/${first}`)
    t.match(related, `<a href="/shop/orders?client=${first}">Orders (2)</a>`, 'a way back')

    hidden.push(first)
    t.match(textOf((await order('Client 1')).body), 'has several matches', 'what may not be read is not found')
    t.match(textOf((await order(`Client 1 (${first})`)).body), 'has no match for')
    t.notMatch(await see(app, '/shop/orders'), '>Client 1<', 'and has no title')
  })

  t.test(`${name}: states, search, numbers of pages and columns of a list`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { app, ids: { clients: [client] } } = await openShop(t, storage)
    for (let index = 1; index <= 25; index++) {
      const note = index === 7 ? 'Fragile' : 'Solid'
      const { id } = await createOrder(app, { title: `Order ${index}`, client, note })
      if (index % 5 === 0) await app.inject({ method: 'PUT', url: `/shop/orders/${id}/send`, payload: {} })
    }
    const all = await see(app, '/shop/orders?maxpagesize=10')
    t.match(textOf(all), 'All Open 20 Sent 5')
    t.match(textOf(all), '1–10 of 25')
    t.match(all, /<tr>.*?Order 25<.*?<span class="badge good">Sent<\/span>/s)
    t.match(all, 'rel="next" href="/shop/orders?maxpagesize=10&amp;sort=-id&amp;page=2"')
    t.match(textOf(await see(app, '/shop/orders?maxpagesize=10&sort=-id&page=3')), '21–25 of 25 First Previous')
    const sent = await see(app, '/shop/orders?state=sent')
    t.match(sent, 'aria-current="true">\n<span class="dot good"></span>Sent')
    t.match(textOf(sent), 'State: Sent × Clear all')
    t.match(textOf(sent), '1–5 of 5')
    t.match(textOf(await see(app, '/shop/orders?search=fragile+order')), /Order 7 .*1–1 of 1/)
    const columns = await see(app, '/shop/orders?fields=title&fields=note')
    t.match(textOf(columns), /Title State Note .*Solid/)
    t.match(columns, 'name="fields" value="note" checked')
    t.match(all, 'href="/shop/orders?sort=-id&amp;format=csv">Export</a>')
  })

  t.test(`${name}: one operation for several rows`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { app, ids: { clients: [client] } } = await openShop(t, storage)
    const made = await Promise.all(['a', 'b', 'c'].map(async title => await createOrder(app, { title, client })))
    const [a, b, c] = made.map(({ id }) => id) as [number, number, number]
    await app.inject({ method: 'PUT', url: `/shop/orders/${b}/send`, payload: {} })
    const list = await see(app, '/shop/orders')
    t.match(list, `name="_item.${a}"\nvalue="1" aria-label="Select a"`)
    const rows = { [`_item.${a}`]: '1', [`_item.${b}`]: '2', [`_item.${c}`]: '9' }

    const from = 'state=open&search=a&sort=-id&page=1'
    t.match(await see(app, `/shop/orders?${from}&maxpagesize=2`),
      `name="_from" value="${from}&maxpagesize=2"`.replaceAll('&', '&amp;'), 'a list knows its filters')
    const asked = await post(app, '/shop/orders', { _operation: 'price', ...rows, _from: from })
    t.equal(asked.statusCode, 303, 'so that a browser can go back to the form')
    const question = String(asked.headers.location)
    const page = await see(app, question)
    t.match(textOf(page), 'Selected: 3')
    const way = `href="/shop/orders?${from.replaceAll('&', '&amp;')}"`
    t.match(page, `<a class="button" ${way}>No, go back</a>`)
    const form = formOf(page, '/shop/orders')
    t.strictSame(formOf(await see(app, question), '/shop/orders'), form, 'with the same key, however often')
    const wrong = await post(app, '/shop/orders', { ...form, total: 'much', reason: 'All' })
    t.equal(wrong.statusCode, 400)
    t.match(formOf(wrong.body, '/shop/orders'), { total: 'much', reason: 'All', [`_item.${c}`]: '9' })
    const ready = { ...form, total: '5', reason: 'All' }
    const stale = 'Someone has changed it since you opened this page\\.'
    const done = 'Done: price the order'
    for (const what of ['done', 'repeated']) {
      const results = await post(app, '/shop/orders', ready)
      t.equal(results.statusCode, 303, what)
      const url = String(results.headers.location)
      for (const round of ['shown', 'reloaded']) {
        const result = await see(app, url)
        t.match(textOf(result),
          new RegExp(`a ${done} b ${done} c ${stale} Back to the list`), `${what}, ${round}`)
        t.match(result, `<a ${way}>Back to the list</a>`)
      }
      t.equal((await app.inject(url)).statusCode, 400, 'only pages have it')
      t.match(textOf(await see(app, url.replace(/_result=./, '_result=~'))),
        new RegExp(`a The result is not known\\..*b The result.*c ${stale}`), 'the log decides what was done')
      t.notMatch(await see(app, url.replace('precondition-failed', '<b>')), '<b>')
    }
    for (const odd of ['//evil.example', 'https://evil.example', 'state=open#x', 'none=1', 'search=%0d%0aa', 'é']) {
      const { headers: { location } } = await post(app, '/shop/orders', { _operation: 'send', ...rows, _from: odd })
      const links = /<a class="button" href="([^"]*)"/.exec(await see(app, String(location)))?.[1]
      t.equal(links, odd.startsWith('search') ? `/shop/orders?${odd}` : '/shop/orders', odd)
    }
    const items = await Promise.all([a, b, c].map(async id => (await app.inject(`/shop/orders/${id}`)).json()))
    t.strictSame(items.map(({ total, revision }) => [total, revision]), [['5.00', 2], ['5.00', 3], ['0.00', 1]])

    const inVain = await post(app, '/shop/orders', { ...ready, [`_item.${a}`]: '9', [`_item.${b}`]: '9', _key: 'n' })
    t.notMatch(await see(app, String(inVain.headers.location)), '<main id="main" data-done', 'if all are refused')
    const send = { _operation: 'send', [`_item.${b}`]: '3', _ready: 'yes', _key: 'k' }
    const sendings = await post(app, '/shop/orders', send)
    t.match(textOf(await see(app, String(sendings.headers.location))), 'b Nothing changed', 'as always')
    const removal = { _operation: 'delete', [`_item.${b}`]: '3', _ready: 'yes', _key: 'l' }
    const gone = String((await post(app, '/shop/orders', removal)).headers.location)
    t.match(textOf(await see(app, gone)), ' b Deleted', 'also of what is gone, by its title')
    const edit = { method: 'PATCH', url: `/shop/orders/${c}`, payload: { title: 'd' } } as const
    t.equal((await app.inject(edit)).statusCode, 200)
    const others = { _operation: 'delete', [`_item.${a}`]: '2', [`_item.${c}`]: '2', _ready: 'yes', _key: 'm' }
    const both = String((await post(app, '/shop/orders', others)).headers.location)
    t.match(textOf(await see(app, both)), / a Deleted .* ?d Deleted/, 'the last one that it had')
    for (const sent of [`${a}:1,x:1`, 'x']) {
      const url = `/shop/orders?_operation=send&_items=${sent}`
      const { statusCode, body } = await app.inject({ url, headers: accept })
      t.equal(statusCode, 400)
      const text = /The query is invalid _items has &quot;x&quot;, which is not an id; .* such as 1:7,2:3/
      t.match(textOf(body), text)
    }
    const odd = await post(app, '/shop/orders', { _operation: 'send', '_item.x': '1' })
    t.equal(odd.statusCode, 400)
    t.match(textOf(odd.body), 'item x must end with an id, such as _item.1')
    for (const form of [{ _operation: 'send' }, { _operation: '', [`_item.${a}`]: '1' }]) {
      const nothing = await post(app, '/shop/orders', { ...form, _from: 'state=open' })
      t.equal(nothing.statusCode, 400)
      t.match(textOf(nothing.body), 'Select at least one row and an operation')
      t.match(textOf(nothing.body), 'State: Open ×', 'with the filters')
    }
  })

  t.test(`${name}: days are those of the zone of the page`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    // In Auckland, it is the 17th since 11:00.
    let now = '2026-11-16T11:30:00.000Z'
    const { app, ids: { clients: [client] } } = await openShop(t, storage, {
      clock: () => new Date(now), pages: { timeZone: 'Pacific/Auckland' }
    })
    await createOrder(app, { title: 'Early', client })
    now = '2026-11-16T14:30:00.000Z'
    const page = await see(app, '/shop/orders')
    t.match(textOf(page), '17 Nov 2026, 00:30')
    t.match(page, 'Times are in Pacific/Auckland.')
    t.match(page, '<input type="hidden" name="time-zone" value="Pacific/Auckland">')
    const today = /<a href="([^"]*)">Today/.exec(page)?.[1]?.replaceAll('&amp;', '&') as string
    t.match(today, 'min-createdAt=2026-11-17&time-zone=Pacific%2FAuckland')
    t.match(textOf(await see(app, today)), '1–1 of 1')
    t.match(textOf(await see(app, '/shop/orders?min-createdAt=2026-11-17&time-zone=UTC')), 'No orders match')
    t.match(textOf(await see(app, '/shop/orders/1')), '17 Nov 2026, 00:30 · 3 hours ago')
  })
}

t.test('the outcomes of several commands are for the person who sent them', async t => {
  let grant: Grant = { principal: 'ann' }
  const { app, ids: { clients: [client] } } = await openShop(t, memoryStorage(), { authorize: () => grant })
  await createOrder(app, { title: 'Seen', client })
  await createOrder(app, { title: 'Hidden', client })
  const where = [{ field: 'id', op: 'eq', values: [1] }] as const
  const unknown = 'The result is not known.'
  for (const [name, sender, reader, seen, hidden] of [
    ['the same person', { principal: 'ann' }, { principal: 'ann' }, 'Seen Done:', 'Hidden Done:'],
    ['who sees less now', { principal: 'ann' }, { principal: 'ann', where }, 'Seen Done:', '2 Done:'],
    ['another person', { principal: 'ann' }, { principal: 'bob' }, `Seen ${unknown}`, `Hidden ${unknown}`],
    ['nobody', { principal: 'ann' }, {}, `Seen ${unknown}`, `Hidden ${unknown}`],
    ['without names', {}, {}, 'Seen Done:', 'Hidden Done:'],
    ['without names, narrowed', {}, { where }, 'Seen Done:', `2 ${unknown}`]
  ] as const) {
    grant = sender
    const { items } = (await app.inject('/shop/orders')).json<{ items: { id: number, revision: number }[] }>()
    const rows = Object.fromEntries(items.map(({ id, revision }) => [`_item.${id}`, String(revision)]))
    const total = String(items[0]?.revision)
    const form = { _operation: 'price', _ready: 'yes', _key: name, total, ...rows }
    const { headers: { location } } = await post(app, '/shop/orders', form)
    grant = reader
    const page = textOf(await see(app, String(location)))
    t.match(page, seen, name)
    t.match(page, hidden, name)
  }
})

t.test('outcomes that no address could show are shown at once', async t => {
  let grant: Grant | Problem = {}
  const authorize = (_request: unknown, { action }: Intent): Grant => {
    if (grant instanceof Problem && action === 'list') throw grant
    return grant instanceof Problem ? {} : grant
  }
  const { app, ids: { clients: [client] } } = await openShop(t, memoryStorage(), { authorize })
  const where = [{ field: 'client', op: 'eq', values: [client as number] }] as const
  for (const [name, sender, status] of [
    ['everything', {}, 303],
    ['a part, by a person', { principal: 'ann', where }, 303],
    ['a part, by nobody', { where }, 200],
    ['no list', new Problem('forbidden', 'No lists'), 200]
  ] as const) {
    grant = {}
    const { id } = await createOrder(app, { title: name, client })
    grant = sender
    const form = { _operation: 'delete', [`_item.${id}`]: '1', '_item.999': '1', _ready: 'yes', _key: name }
    const { statusCode, headers, body } = await post(app, '/shop/orders', form)
    t.equal(statusCode, status, name)
    const page = textOf(status === 200 ? body : await see(app, String(headers.location)))
    const missing = status === 200 ? 'There is no order &quot;999&quot;' : 'The resource does not exist'
    t.match(page, new RegExp(`${name} Deleted 999 ${missing}`), name)
  }
})

t.test('a choice that is too long for an address is shown at once', async t => {
  const { app, ids: { clients: [client] } } = await openShop(t, memoryStorage())
  await createOrder(app, { title: 'a', client })
  const form = { _operation: 'price', '_item.1': '1', _from: `search=${'a'.repeat(7000)}` }
  const { statusCode, body } = await post(app, '/shop/orders', form)
  t.equal(statusCode, 200)
  t.match(textOf(body), 'Selected: 1')
  const done = await post(app, '/shop/orders', { ...formOf(body, '/shop/orders'), total: '3' })
  t.equal(done.statusCode, 200)
  t.match(textOf(done.body), 'a Done: price the order')
})

t.test('from a filtered list to an item and back, the filters stay', async t => {
  const routes = defineFamily({
    name: 'routes',
    singular: 'route',
    fields: Type.Object({ id: Type.Integer(), name: Type.String(), from: Type.String() }),
    create: ['name', 'from'],
    edit: ['name']
  })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(routes, { storage: memoryStorage() })
  for (const from of ['Ulm', 'Bonn']) {
    await app.inject({ method: 'POST', url: '/routes', payload: { name: `by ${from}`, from } })
  }
  const decode = (text = ''): string => text.replaceAll('&amp;', '&')
  const linksOf = (page: string): (string | undefined)[] => [...page.matchAll(/<a href="(\/routes[^"]*)"><bdi>/g)]
    .map(([, href]) => decode(href))
  const plain = await see(app, '/routes')
  t.match(plain, '<a href="/routes/1">', 'a plain list needs no more')
  const query = 'from=Ulm&name.has=by&sort=-id'
  const list = await see(app, `/routes?${query}`)
  t.match(list, 'by Ulm')
  t.notMatch(textOf(list), 'by Bonn', 'a field of this name is filtered by')
  const link = `/routes/1?from=${encodeURIComponent(query)}`
  t.match(list, `<a href="${link}">`)
  const item = await see(app, link)
  t.strictSame(linksOf(item), [`/routes?${query}`], 'the way back')
  const edit = formOf(item, '/routes/1/edits')
  t.equal(edit._from, query)
  const edited = await post(app, '/routes/1/edits', { ...edit, name: 'by Aalen' })
  t.equal(edited.headers.location, link, 'after a form')
  t.match(edited.headers['set-cookie'], 'Path=/routes/1;')
  const refused = await post(app, '/routes/1/edits', { ...edit, name: '', '_was.name': 'x' })
  t.equal(refused.statusCode, 412)
  t.strictSame(linksOf(refused.body), [`/routes?${query}`], 'also if it is refused')
  const created = await post(app, '/routes', { ...formOf(list, '/routes'), name: 'c', from: 'Ulm' })
  t.equal(created.headers.location, `/routes/3?from=${encodeURIComponent(query)}`, 'to a new one')
  const asked = await post(app, '/routes/1/deletions', { _key: 'k', _from: query, _confirm: 'ask' })
  t.match(asked.body, `<a class="button" href="${link}" autofocus>No, go back</a>`)
  t.strictSame(linksOf(asked.body), [`/routes?${query}`, link])
  const gone = await post(app, '/routes/1/deletions', formOf(asked.body, '/routes/1/deletions'))
  t.equal(gone.headers.location, `/routes?${query}`)
  for (const odd of ['//evil.example', 'https://evil.example', 'none=1', 'name=a#b', '%0d%0aa: b', 'é', '']) {
    const { statusCode, body } = await app.inject({
      url: `/routes/2?from=${encodeURIComponent(odd)}`, headers: accept
    })
    t.equal(statusCode, 200, odd)
    t.strictSame(linksOf(body), ['/routes'], odd)
    const { headers: { location } } = await post(app, '/routes/2/edits', { _key: odd, _from: odd, name: odd })
    t.equal(location, '/routes/2', odd)
  }
  const long = `name.has=${'a'.repeat(1000)}`
  const { headers: { location } } = await post(app, '/routes/2/edits', { _key: 'k', _from: long, name: 'd' })
  t.equal(location, '/routes/2', 'one that is long is not in every link')
  t.equal((await app.inject(link.replace('/1', '/2'))).json().id, 2, 'a copied address, in JSON')
})

t.test('the message after a form comes by a cookie, once', async t => {
  const { app, ids: { clients: [client] } } = await openShop(t, memoryStorage())
  const { id } = await createOrder(app, { title: 'Bolts', client })
  const url = `/shop/orders/${id}`
  const sent = await post(app, `${url}/sendings`, formOf(await see(app, url), `${url}/sendings`))
  t.equal(sent.headers.location, url, 'no machinery in the address')
  const cookie = String(sent.headers['set-cookie'])
  t.match(cookie, /^dealbook-command=[^;]+; Path=\/shop\/orders\/1; Max-Age=60; HttpOnly; SameSite=Strict$/)
  const shown = await app.inject({ url, headers: { ...accept, cookie: `a=b; ${cookie.split(';')[0]}; c=d` } })
  t.match(shown.body, /role="status"[^>]*>\n<p>Done: send the order\.<\/p>/)
  t.match(shown.headers['set-cookie'], /^dealbook-command=; .*Max-Age=0/)
  for (const other of ['dealbook-command=nope', 'dealbook-command=%zz', 'dealbook-command=']) {
    const { statusCode, body } = await app.inject({ url, headers: { ...accept, cookie: other } })
    t.equal(statusCode, 200)
    t.notMatch(body, 'role="status"', other)
  }
})
