import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { memoryStorage, type Storage } from '../../lib/index.js'
import { createCart, openCarts } from './carts.js'
import { formOf, post, see, textOf } from './shop.js'

const linesOf = async (app: FastifyInstance, url: string): Promise<object[]> => (await app.inject(url)).json().lines

const errorOf = (page: string, id: string): string | undefined =>
  new RegExp(`id="${id}-error">([^<]*)<`).exec(page)?.[1]

t.test('rows show the titles of the items that they refer to, as links', async t => {
  const app = await openCarts(t, 3)
  const lines = [{ product: 'p2', quantity: 1 }, { product: 'p1', quantity: 2 }, { product: 'p2', quantity: 3 }]
  await createCart(app, {})
  const url = await createCart(app, { lines, similar: [1], gift: { product: 'p3' } })
  const link = (id: number): string => `<a href="/products/p${id}">Product ${id}</a>`
  const page = await see(app, url, { 'accept-language': 'de' })
  t.match(page, `<td dir="auto" data-label="Artikel">${link(2)}</td>`)
  t.match(page, link(1))
  t.match(page, `<li dir="auto">Product: ${link(3)}</li>`, 'also in a single object')
  t.match(page, '<li dir="auto"><a href="/carts/1">1</a></li>', 'and in a list of ids')
  t.match(await see(app, '/carts'), `data-label="Product">${link(2)}`)
  const expanded = await see(app, `${url}?expand=lines.product,similar`)
  t.match(expanded, `data-label="Product">${link(2)}`, 'if they are asked for, too')
  await app.inject({ method: 'PATCH', url, payload: { lines: lines.slice(1, 2) } })
  const log = await see(app, `${url}/commands`)
  t.match(log, new RegExp(`class="before">.*${link(2)}`, 's'))
  t.match(log, new RegExp(`→ <bdi>.*${link(1)}`, 's'))
  const [, asked = ''] = (await post(app, `${url}/takings`, {
    ...formOf(await see(app, url), `${url}/takings`), 'lines.0.quantity': '1'
  })).body.split('You entered')
  t.match(textOf(asked), 'Product 1 1', 'a question')
})

t.test('items that the caller may not see stay as they are', async t => {
  let isHidden = false
  const where = [{ field: 'id', op: 'ne', values: ['p1'] } as const]
  const app = await openCarts(t, 60, { authorize: () => isHidden ? { where } : {} })
  const lines = [{ product: 'p1', quantity: 1 }, { product: 'p2', quantity: 2 }]
  const url = await createCart(app, { lines })
  isHidden = true
  const page = await see(app, url)
  t.match(page, '<td dir="auto" data-label="Product">p1</td>')
  t.notMatch(page, 'Product 1<')
  const edit = formOf(page, `${url}/edits`)
  t.match(edit, { '_find.lines.0.product': 'p1', '_find.lines.1.product': 'Product 2 (p2)' })
  t.equal((await post(app, `${url}/edits`, { ...edit, 'lines.0.quantity': '5' })).statusCode, 303)
  t.strictSame(await linesOf(app, url), [{ product: 'p1', quantity: 5 }, lines[1]])
  const wanted = await post(app, `${url}/edits`, { ...edit, '_find.lines.1.product': 'Product 1 (p1)' })
  t.equal(errorOf(wanted.body, 'edit-_find-lines-1-product'), 'Product has no match for &quot;Product 1 (p1)&quot;.')
})

t.test('few items are a choice in each row', async t => {
  const app = await openCarts(t, 3)
  const page = await see(app, '/carts')
  t.match(page, /<select id="create-lines-1-product" name="lines.1.product" aria-label="Product, Row 2">/)
  t.match(page, '<option value="p3">Product 3</option>')
  t.match(page, '<select id="create-gift-product" name="gift.product"')
  const form = { ...formOf(page, '/carts'), 'lines.1.product': 'p3', 'lines.1.quantity': '2' }
  const more = formOf((await post(app, '/carts', { ...form, _add: 'lines' })).body, '/carts')
  t.match(more, { 'lines.1.product': 'p3', 'lines.2.product': '' })
  const { headers } = await post(app, '/carts', { ...more, 'gift.product': 'p1' })
  const url = String(headers.location)
  t.match((await app.inject(url)).json(), { lines: [{ product: 'p3', quantity: 2 }], gift: { product: 'p1' } })
  const edits = `${url}/edits`
  const edit = formOf(await see(app, url), edits)
  t.match(edit, { 'lines.0.product': 'p3' })
  await post(app, edits, { ...edit, 'lines.0.quantity': '5' })
  t.strictSame(await linesOf(app, url), [{ product: 'p3', quantity: 5 }])
  const second = { 'lines.1.product': 'p9', 'lines.1.quantity': '1' }
  const gone = await post(app, edits, { ...formOf(await see(app, url), edits), ...second })
  t.equal(gone.statusCode, 400)
  t.equal(errorOf(gone.body, 'edit-lines-1-product'), 'Product must be an existing id of products.', 'at its cell')
})

t.test('many items are found by a part of their titles', async t => {
  const app = await openCarts(t, 60)
  const page = await see(app, '/carts')
  const [input = ''] = /<input id="create-_find-lines-0-product"[^>]*>/.exec(page) ?? []
  t.match(input, ' name="_find.lines.0.product" aria-label="Product, Row 1"')
  t.match(input, ' list="create-_find-lines-0-product-list" data-lookup="/products?')
  const form = formOf(page, '/carts')
  const typed = {
    ...form,
    '_find.lines.0.product': 'duct 60',
    'lines.0.quantity': '1',
    '_find.lines.2.product': 'Product 7 (p7)',
    'lines.2.quantity': '2',
    '_find.lines.3.product': 'Product 8',
    'lines.3.quantity': '3'
  }
  const made = await post(app, '/carts', typed)
  t.equal(made.statusCode, 303, made.body)
  const url = String(made.headers.location)
  t.strictSame(await linesOf(app, url), [
    { product: 'p60', quantity: 1 }, { product: 'p7', quantity: 2 }, { product: 'p8', quantity: 3 }
  ])

  const edits = `${url}/edits`
  const edit = formOf(await see(app, url), edits)
  t.match(edit, { '_find.lines.0.product': 'Product 60 (p60)', '_was._find.lines.0.product': 'Product 60 (p60)' })
  t.equal((await post(app, edits, edit)).statusCode, 303)
  t.equal((await app.inject(url)).json().revision, 1, 'untouched')
  await post(app, edits, { ...edit, 'lines.1.quantity': '9' })
  t.strictSame((await linesOf(app, url))[1], { product: 'p7', quantity: 9 }, 'a touched row keeps its items')
  const next = { ...formOf(await see(app, url), edits), '_find.lines.3.product': 'duct 59', 'lines.3.quantity': '4' }
  const removed = formOf((await post(app, edits, { ...next, _remove: 'lines.0' })).body, edits)
  t.match(removed, { '_find.lines.0.product': 'Product 7 (p7)', '_find.lines.2.product': 'duct 59' })
  await post(app, edits, removed)
  t.strictSame(await linesOf(app, url), [
    { product: 'p7', quantity: 9 }, { product: 'p8', quantity: 3 }, { product: 'p59', quantity: 4 }
  ])

  const wrong = await post(app, '/carts', {
    ...typed, '_find.lines.1.product': '', '_find.lines.2.product': 'nothing', '_find.lines.3.product': 'uct 5'
  })
  t.equal(wrong.statusCode, 400)
  t.equal(errorOf(wrong.body, 'create-_find-lines-1-product'), 'Product has no match for &quot;nothing&quot;.')
  t.match(wrong.body, '<a href="#create-_find-lines-1-product">Product, Row 2 has no match for')
  t.equal(errorOf(wrong.body, 'create-lines-2-product'), 'Product has several matches; choose one.')
  t.match(wrong.body, '<select id="create-lines-2-product" name="lines.2.product"')
  const again = formOf(wrong.body, '/carts')
  t.match(again, { '_find.lines.0.product': 'duct 60', '_find.lines.1.product': 'nothing', 'lines.2.product': '' })
  const chosen = { ...again, '_find.lines.1.product': 'Product 1', 'lines.2.product': 'p50', 'lines.2.quantity': '' }
  const kept = formOf((await post(app, '/carts', chosen)).body, '/carts')
  t.match(kept, { '_find.lines.2.product': 'Product 50 (p50)' }, 'a choice is kept')
  const right = await post(app, '/carts', { ...kept, 'lines.2.quantity': '1' })
  const bought = (await linesOf(app, String(right.headers.location))).map(line => Object.values(line)[0])
  t.strictSame(bought, ['p60', 'p1', 'p50'])

  const take = formOf(await see(app, url), `${url}/takings`)
  t.match(take, { '_find.lines.0.product': 'Product 7 (p7)', 'lines.0.quantity': '' }, 'an operation')
  const german = (await app.inject({
    method: 'POST',
    url: '/carts',
    headers: { accept: 'text/html', 'accept-language': 'de', 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ '_find.lines.0.product': 'nothing', _key: 'a' }).toString()
  })).body
  t.equal(errorOf(german, 'create-_find-lines-0-product'), 'Artikel hat nichts, das zu „nothing“ passt.')
})

t.test('the items of a hundred rows are read at once', async t => {
  const storage = memoryStorage()
  let reads = 0
  const counting: Storage = {
    ...storage,
    find: async (family, query, signal) => {
      if (family === 'products') reads++
      return await storage.find(family, query, signal)
    },
    get: async (family, id, signal) => {
      if (family === 'products') reads++
      return await storage.get(family, id, signal)
    }
  }
  const app = await openCarts(t, 120, { storage: counting })
  const lines = Array.from({ length: 100 }, (_, index) => ({ product: `p${index + 1}`, quantity: 1 }))
  const url = await createCart(app, { lines })
  reads = 0
  const page = await see(app, url)
  t.match(page, '>Product 100</a>')
  t.equal(reads, 2, 'the titles, and the first to choose from')
  const edits = `${url}/edits`
  const form = { ...formOf(page, edits), 'lines.99.quantity': '2' }
  reads = 0
  t.equal((await post(app, edits, form)).statusCode, 303)
  t.strictSame((await linesOf(app, url))[99], { product: 'p100', quantity: 2 })
  t.ok(reads <= 2, `${reads} reads`)
})

t.test('titles in rows are escaped', async t => {
  const app = await openCarts(t, 51)
  const evil = '"><script>alert(1)</script>'
  await app.inject({ method: 'POST', url: '/products', payload: { id: 'x', name: evil } })
  const url = await createCart(app, { lines: [{ product: 'x', quantity: 1 }], gift: { product: 'x', note: evil } })
  const { body } = await post(app, '/carts', { '_find.lines.0.product': evil, 'lines.0.product': evil, _add: 'lines' })
  for (const page of [await see(app, url), await see(app, `${url}/commands`), await see(app, '/carts'), body]) {
    t.notMatch(page, '<script>alert')
    t.match(page, '&lt;script&gt;alert')
  }
})

t.test('parameters that name other items by a path are looked up, in every version', async t => {
  const app = await openCarts(t, 60)
  const url = await createCart(app, { lines: [{ product: 'p7', quantity: 2 }] })
  const ship = `${url}/shippings`
  const form = formOf(await see(app, url), ship)
  t.match(form, { '_find.goods.0.product': '' })
  const typed = { ...form, '_find.goods.0.product': 'duct 60', '_find.goods.1.product': 'Product 7 (p7)' }
  const done = await post(app, ship, typed)
  t.equal(done.statusCode, 303, done.body)
  t.match(await see(app, url), '<a href="/products/p60">Product 60</a>', 'in the log')
  const wrong = await post(app, ship, { ...typed, '_find.goods.0.product': '', '_find.goods.1.product': 'nothing' })
  t.match(errorOf(wrong.body, 'ship-_find-goods-0-product'), /^Product has no match/)
  const sent = { 'goods.1.product': 'p7', 'goods.2.product': 'p99', _key: 'a' }
  const missing = await post(app, ship, sent)
  t.equal(missing.statusCode, 400)
  t.match(errorOf(missing.body, 'ship-_find-goods-1-product'), /existing/, 'at its cell')

  const next = '/v2/carts/1'
  const page = await see(app, next, { 'accept-language': 'de' })
  t.match(page, '<td dir="auto" data-label="Artikel"><a href="/v2/products/p7">Product 7</a></td>')
  const edits = formOf(page, `${next}/edits`)
  t.match(edits, { '_find.items.0.article': 'Product 7 (p7)', 'items.0.quantity': '2' })
  const [table = ''] = /<fieldset class="rows" id="edit-items".*?<\/fieldset>/s.exec(page) ?? []
  t.match(table, '<th scope="col">Artikel</th>')
  const more = { '_find.items.1.article': 'Product 8', 'items.1.quantity': '3' }
  const edited = await post(app, `${next}/edits`, { ...edits, ...more })
  t.equal(edited.statusCode, 303, edited.body)
  t.strictSame(await linesOf(app, url), [{ product: 'p7', quantity: 2 }, { product: 'p8', quantity: 3 }])
  const refused = await post(app, `${next}/edits`, { 'items.0.article': 'p7', 'items.0.quantity': '0', _key: 'b' })
  t.match(errorOf(refused.body, 'edit-items-0-quantity'), 'Quantity must be at least 1.')
})
