import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { baskets, createBasket, german, openBaskets } from './baskets.js'
import { formOf, post, see, textOf } from './shop.js'

/** The texts of the tables of a page or of a form, by rows. */
const tablesOf = (page: string): string[][] => [...page.matchAll(/<table class="rows">(.*?)<\/table>/gs)]
  .map(([, table = '']) => [...table.matchAll(/<tr>(.*?)<\/tr>/gs)]
    .map(([, row = '']) => [...row.matchAll(/<t[dh][^>]*>(.*?)<\/t[dh]>/gs)].map(([, cell = '']) =>
      textOf(cell).trim()).join(' | ')))

/** What beside a field says what is wrong with it. */
const errorOf = (page: string, id: string): string | undefined =>
  new RegExp(`id="${id}-error">([^<]*)<`).exec(page)?.[1]

const inputOf = (page: string, id: string): string =>
  new RegExp(`<(?:input|select) id="${id}"[^>]*>`).exec(page)?.[0] ?? ''

const focusedOf = (page: string): string | undefined => / id="([^"]*)"[^>]* autofocus/.exec(page)?.[1]

const lines = [
  { article: 'Nut', quantity: 1200, price: '0.10', due: '2026-11-20', size: 'small', weight: 0.1 },
  { article: 'Bolt', quantity: 5, price: '0.20', weight: 0.2 },
  { article: 'Saw', quantity: 1, price: '9999999999999.99' }
]

t.test('values in rows are in the language of the reader, with labels by path, titles and totals', async t => {
  const app = await openBaskets(t, memoryStorage(), german)
  const url = await createBasket(app, { lines, place: { city: 'Ulm' }, rates: ['1.50', '1000.00'] })
  const page = await see(app, url)
  t.strictSame(tablesOf(page)[0], [
    'Artikel | Pieces | Einzelpreis | Due | Größe | Weight',
    'Nut | 1.200 | 0,10 | 20.11.2026 | Klein | 0,1',
    'Bolt | 5 | 0,20 |  |  | 0,2',
    'Saw | 1 | 9.999.999.999.999,99 |  |  | ',
    'Summe | 1.206 | 10.000.000.000.000,29 |  |  | 0,3'
  ])
  t.match(textOf(page), 'Rates 1,50 1.000,00')
  t.match(textOf(page), 'Place Town: Ulm')
  t.match(page, '<time datetime="2026-11-20">20.11.2026</time>')
  const other = await openBaskets(t, memoryStorage())
  const english = await see(other, await createBasket(other, { lines }))
  t.strictSame(tablesOf(english)[0]?.slice(0, 2), [
    'Article | Pieces | Price | Due | Size | Weight', 'Nut | 1,200 | 0.10 | 20 Nov 2026 | Small | 0.1'
  ])
  t.strictSame(tablesOf(english)[0]?.at(-1), 'Total | 1,206 | 10,000,000,000,000.29 |  |  | 0.3')
  t.match(textOf(english), 'Called')
  const one = await see(other, await createBasket(other, { lines: lines.slice(0, 1) }))
  t.notMatch(one, '<tfoot>', 'one row is its own total')
})

t.test('inputs in rows are in the language of the reader', async t => {
  const app = await openBaskets(t, memoryStorage(), german)
  const url = await createBasket(app, { lines })
  const page = await see(app, url)
  t.match(inputOf(page, 'edit-lines-0-price'),
    / aria-label="Einzelpreis, Zeile 1" type="text" inputmode="decimal" value="0,10"/)
  t.match(inputOf(page, 'edit-lines-0-due'), / aria-label="Due, Zeile 1" type="date" value="2026-11-20"/)
  t.match(inputOf(page, 'pack-goods-0-article'), / aria-label="Artikel, Zeile 1" /)
  t.match(inputOf(page, 'pack-goods-0-pieces'), / aria-label="How many, Zeile 1" /)
  t.match(page, '<label for="pack-name">Name (freiwillig)</label>', 'a label comes before a title')
  t.match(page, '>Klein</option>')
  const edit = { ...formOf(page, `${url}/edits`), 'lines.1.price': '1.234,5' }
  t.equal((await post(app, `${url}/edits`, edit)).statusCode, 303)
  t.equal((await app.inject(url)).json().lines[1].price, '1234.50')
  const other = await openBaskets(t, memoryStorage())
  const english = await see(other, await createBasket(other, { lines }))
  t.match(english, '<label for="pack-name">New name (optional)</label>', 'of the parameter, not of the field')
})

t.test('values in rows of the log and of lists', async t => {
  const app = await openBaskets(t, memoryStorage(), german)
  const url = await createBasket(app, { lines: lines.slice(1, 2) })
  await app.inject({ method: 'PATCH', url, payload: { lines: [{ article: 'Nut', quantity: 1, price: '2.50' }] } })
  const page = await see(app, `${url}/commands`)
  t.match(page, '<th scope="col" class="number">Einzelpreis</th>')
  t.match(textOf(page), 'Nut 1 2,50')
  t.notMatch(page, '<tfoot>')
  const list = await see(app, '/baskets?fields=name,lines')
  t.match(list, 'data-label="Einzelpreis" class="number"><span class="number">2,50</span>')
  await app.inject({ method: 'PUT', url: `${url}/pack`, payload: { goods: [], name: 'B' } })
  t.match(textOf(await see(app, url)), 'Name A → B')
})

t.test('labels name only what exists, and titles stay in the schemas', async t => {
  for (const path of ['lines.colour', 'goods.price', 'place.zip', 'lines.price.x']) {
    t.throws(() => baskets.extend({ labels: { de: { fields: { [path]: 'x' } } } }), {
      message: new RegExp(`labels "de": fields has "${path}", which is not a field or a parameter`)
    })
  }
  baskets.extend({ labels: { de: { fields: { 'goods.pieces': 'Stück', 'place.city': 'Ort' } } } })
  const { labels } = baskets.rename({ lines: 'items' }).definition
  t.match(labels?.['de']?.fields, { items: 'Positionen', 'items.price': 'Einzelpreis' })
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: {} })
  app.register(baskets, { storage: memoryStorage() })
  await app.ready()
  const document = JSON.stringify(app.swagger())
  for (const title of ['Pieces', 'Called', 'Town', 'How many', 'New name']) t.match(document, `"title":"${title}"`)
})

t.test('rows are added and removed without a script, and nothing is written', async t => {
  const app = await openBaskets(t, memoryStorage())
  const empty = formOf(await see(app, '/baskets'), '/baskets')
  const typed = {
    ...empty, name: 'B', rates: '1.5', 'lines.0.article': 'Nut', 'lines.0.quantity': 'many', 'lines.1.article': 'Bolt'
  }
  const rowsOf = (form: Record<string, string>): (string | undefined)[] =>
    Object.keys(form).filter(name => /^lines\.\d+\.article$/.test(name)).map(name => form[name])
  const more = await post(app, '/baskets', { ...typed, _add: 'lines' })
  t.equal(more.statusCode, 200, 'one more')
  const three = formOf(more.body, '/baskets')
  t.strictSame(rowsOf(three), ['Nut', 'Bolt', ''])
  t.match(three, { name: 'B', rates: '1.5', 'lines.0.quantity': 'many' }, 'with what was typed')
  t.equal(focusedOf(more.body), 'create-lines-2-article')
  t.notMatch(more.body, 'role="alert"')
  t.match(more.body, '<details class="create" open>')

  const less = await post(app, '/baskets', { ...three, 'lines.2.article': 'Saw', _remove: 'lines.0' })
  t.equal(less.statusCode, 200, 'one less')
  const two = formOf(less.body, '/baskets')
  t.strictSame(rowsOf(two), ['Bolt', 'Saw'])
  t.match(two, { name: 'B', 'lines.0.quantity': '' })
  t.equal(focusedOf(less.body), 'create-lines-0-article')
  const last = formOf((await post(app, '/baskets', { ...two, _remove: 'lines.1' })).body, '/baskets')
  t.strictSame(rowsOf(last), ['Bolt'])
  const none = await post(app, '/baskets', { ...last, _remove: 'lines.0' })
  t.strictSame(rowsOf(formOf(none.body, '/baskets')), [''], 'one is left to fill in')
  for (const row of ['lines', 'lines.x', 'lines.7', 'rates.0', '__proto__.0', '']) {
    const odd = await post(app, '/baskets', { ...two, _remove: row })
    t.strictSame(rowsOf(formOf(odd.body, '/baskets')), ['Bolt', 'Saw'], `${row} removes nothing`)
  }
  t.equal((await app.inject('/baskets')).json().items.length, 0, 'nothing was written')
  const made = await post(app, '/baskets', { ...two, 'lines.0.quantity': '1', 'lines.1.quantity': '2' })
  t.strictSame((await app.inject(String(made.headers.location))).json().lines,
    [{ article: 'Bolt', quantity: 1 }, { article: 'Saw', quantity: 2 }])
})

t.test('rows of a form that edits', async t => {
  const app = await openBaskets(t, memoryStorage())
  const url = await createBasket(app, { lines })
  const edits = `${url}/edits`
  const form = formOf(await see(app, url), edits)
  const less = await post(app, edits, { ...form, name: 'C', _remove: 'lines.0' })
  t.equal(less.statusCode, 200)
  t.match(less.body, '<details class="operation" name="operation" open>')
  const two = formOf(less.body, edits)
  t.match(two, { name: 'C', 'lines.0.article': 'Bolt', 'lines.1.article': 'Saw', 'lines.2.article': '' })
  t.equal((await app.inject(url)).json().revision, 1, 'nothing was written')
  t.equal((await post(app, edits, two)).statusCode, 303)
  t.match((await app.inject(url)).json(), { name: 'C', lines: lines.slice(1) })

  const next = formOf(await see(app, url), edits)
  const fourth = formOf((await post(app, edits, { ...next, _add: 'lines' })).body, edits)
  t.match(fourth, { 'lines.0.article': 'Bolt', 'lines.4.article': '' })
  t.equal((await post(app, edits, fourth)).statusCode, 303)
  t.equal((await app.inject(url)).json().revision, 2, 'untouched')
  let all = next
  for (const row of ['lines.0', 'lines.0']) all = formOf((await post(app, edits, { ...all, _remove: row })).body, edits)
  await post(app, edits, all)
  t.strictSame((await app.inject(url)).json().lines, [], 'all removed')

  await app.inject({ method: 'PATCH', url, payload: { lines } })
  const script = formOf(await see(app, url), edits)
  for (const name of Object.keys(script)) if (name.startsWith('lines.1.')) delete script[name]
  await post(app, edits, script)
  t.strictSame((await app.inject(url)).json().lines, [lines[0], lines[2]], 'as the script removes one')

  const stale = formOf(await see(app, url), edits)
  await app.inject({ method: 'PATCH', url, payload: { name: 'D' } })
  const added = formOf((await post(app, edits, { ...stale, _add: 'lines', 'lines.4.article': 'Axe' })).body, edits)
  const refused = await post(app, edits, { ...added, 'lines.4.quantity': '1' })
  t.equal(refused.statusCode, 412, 'changes of others are still shown')
  t.match(textOf(refused.body), 'Called C → D')
})

t.test('the form of an operation starts with what is known, and its rows can change', async t => {
  const app = await openBaskets(t, memoryStorage())
  const url = await createBasket(app, { lines })
  const form = formOf(await see(app, url), `${url}/packings`)
  t.match(form, {
    'goods.0.article': 'Nut',
    'goods.0.pieces': '',
    'goods.1.article': 'Bolt',
    'goods.1.pieces': '5',
    'goods.2.article': 'Saw',
    'goods.4.article': '',
    name: 'A',
    note: ''
  })
  const less = await post(app, `${url}/packings`, { ...form, name: 'B', _remove: 'goods.0' })
  const two = formOf(less.body, `${url}/packings`)
  t.match(two, { 'goods.0.article': 'Bolt', 'goods.0.pieces': '5', 'goods.1.article': 'Saw', name: 'B' })
  t.equal(focusedOf(less.body), 'pack-goods-0-article')
  t.equal((await post(app, `${url}/packings`, two)).statusCode, 303)
  t.match((await app.inject(url)).json(), { name: 'B', lines: [lines[0]] })

  const { headers } = await post(app, '/baskets', { _operation: 'pack', [`_item.${url.slice(9)}`]: '2' })
  const many = formOf(await see(app, String(headers.location)), '/baskets')
  t.match(many, { 'goods.0.article': '', name: '' }, 'for several, nothing is known')
  const more = await post(app, '/baskets', { ...many, 'goods.0.article': 'Nut', _add: 'goods' })
  t.match(formOf(more.body, '/baskets'), { 'goods.0.article': 'Nut', 'goods.2.article': '' })
  t.match(textOf(more.body), 'Pack the basket')
  t.equal((await app.inject(url)).json().revision, 2, 'it is not run')
})

t.test('what is wrong in a row stands at its cell', async t => {
  const app = await openBaskets(t, memoryStorage())
  const form = formOf(await see(app, '/baskets'), '/baskets')
  const wrong = await post(app, '/baskets', {
    ...form,
    name: 'B',
    'lines.0.article': 'Nut',
    'lines.0.quantity': '1',
    'lines.3.article': 'Saw',
    'lines.3.quantity': '0',
    'lines.5.quantity': '2'
  })
  t.equal(wrong.statusCode, 400)
  t.equal(errorOf(wrong.body, 'create-lines-1-quantity'), 'Pieces must be at least 1.')
  t.equal(errorOf(wrong.body, 'create-lines-2-article'), 'Article must not be empty.')
  t.match(inputOf(wrong.body, 'create-lines-1-quantity'),
    / aria-describedby="create-lines-1-quantity-error" aria-invalid="true"/)
  t.match(wrong.body, '<a href="#create-lines-1-quantity">Pieces, Row 2 must be at least 1.</a>')

  const url = await createBasket(app, { lines })
  const edit = formOf(await see(app, url), `${url}/edits`)
  const edits = await post(app, `${url}/edits`, { ...edit, 'lines.2.price': 'x' })
  t.match(errorOf(edits.body, 'edit-lines-2-price'), /^Price must be a decimal number/)

  const pack = `${url}/packings`
  const packing = { ...formOf(await see(app, url), pack), 'goods.0.article': 'Axe', 'goods.0.pieces': '1' }
  const changes = { 'goods.1.article': '', 'goods.1.pieces': '', 'goods.2.pieces': '9' }
  const refused = await post(app, pack, { ...packing, ...changes })
  t.equal(refused.statusCode, 400)
  t.equal(errorOf(refused.body, 'pack-goods-0-article'), 'Row 1 is not in the basket.')
  t.equal(errorOf(refused.body, 'pack-goods-1-pieces'), 'How many are too many.')
  t.match(formOf(refused.body, pack), { 'goods.0.article': 'Axe', 'goods.1.article': 'Saw', 'goods.1.pieces': '9' })
  t.match(refused.body, '<a href="#pack-goods-0-article">Row 1 is not in the basket.</a>')
  t.equal(textOf(refused.body).split('is not in the basket').length, 3, 'once in the summary, once at the cell')
})

t.test('a prefill that fails is logged with its operation, and the form starts empty', async t => {
  const logged: string[] = []
  const words = { verb: 'a', participle: 'b', noun: 'c', action: 'A' }
  const open = (prefill: (item: { name: string }) => never): ReturnType<typeof openBaskets> => {
    const family = defineFamily({
      name: 'baskets',
      singular: 'basket',
      fields: Type.Object({
        id: Type.Integer(), name: Type.String(), secret: Type.String({ writeOnly: true, default: 's' })
      }),
      create: ['name'],
      operations: {
        note: {
          name: 'note',
          ...words,
          params: Type.Object({ name: Type.String(), text: Type.String() }),
          prefill,
          apply: item => item
        }
      }
    })
    const stream = { write: (line: string) => { logged.push(line) } }
    return openBaskets(t, memoryStorage(), {}, family, { stream, level: 'error' })
  }
  const fails: [make: (item: { name: string }) => never, message: RegExp][] = [
    [() => { throw new Error('oh no') }, /fastify-dealbook, baskets, note: prefill failed: oh no/],
    [() => undefined as never, /prefill failed: it returned nothing; it must return an object with parameters/],
    [item => { item.name = 'x'; return {} as never }, /prefill failed: .*frozen/]
  ]
  for (const [prefill, message] of fails) {
    logged.length = 0
    const app = await open(prefill)
    const url = await createBasket(app, {})
    const page = await app.inject({ url, headers: { accept: 'text/html' } })
    t.equal(page.statusCode, 200)
    t.match(formOf(page.body, `${url}/c`), { name: '', text: '' })
    t.match(logged.join(), message)
  }
  const seen: object[] = []
  const app = await open(item => { seen.push(item); return { text: item.name } as never })
  const url = await createBasket(app, {})
  t.match(formOf(await see(app, url), `${url}/c`), { name: 'A', text: 'A' })
  const shown = ['createdAt', 'id', 'name', 'revision', 'updatedAt']
  t.strictSame(Object.keys(seen[0] ?? {}).sort(), shown, 'without secrets')
})

t.test('hostile values in every cell are escaped', async t => {
  const app = await openBaskets(t, memoryStorage(), german)
  const evil = '<img src=x onerror=alert(1)>"\'&'
  const evils = [1, 2].map(quantity => ({ article: evil, quantity }))
  const url = await createBasket(app, { name: evil, place: { city: evil }, lines: evils })
  for (const path of [url, `${url}/commands`, '/baskets?fields=lines,place']) {
    const page = await see(app, path)
    t.notMatch(page, '<img src=x')
    t.match(page, '&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;')
  }
  const { body } = await post(app, `${url}/packings`, {
    'goods.0.article': evil, 'goods.0.pieces': evil, [`goods.${evil}.pieces`]: '1', _add: evil, [`_find.${evil}`]: evil
  })
  t.notMatch(body, '<img src=x')
  t.notMatch((await post(app, `${url}/packings`, { 'goods.0.article': evil, _remove: `${evil}.0` })).body, '<img src=x')
})

t.test('a hundred rows', async t => {
  const app = await openBaskets(t, memoryStorage())
  const many = (count: number): object[] =>
    Array.from({ length: count }, (_, index) => ({ article: `Nut ${index}`, quantity: index + 1, price: '0.10' }))
  const url = await createBasket(app, { lines: many(100) })
  const page = await see(app, url)
  t.equal(tablesOf(page)[0]?.length, 102)
  t.match(tablesOf(page)[0]?.at(-1), 'Total | 5,050 | 10.00')
  const form = formOf(page, `${url}/edits`)
  t.equal(form['lines.99.article'], 'Nut 99')
  const refused = await post(app, `${url}/edits`, { ...form, 'lines.99.quantity': '-1' })
  t.equal(errorOf(refused.body, 'edit-lines-99-quantity'), 'Pieces must be at least 1.', refused.body)
  const done = await post(app, `${url}/edits`, { ...form, 'lines.99.quantity': '7' })
  t.equal(done.statusCode, 303)
  t.equal((await app.inject(url)).json().lines[99].quantity, 7)
  const full = await createBasket(app, { lines: many(150) })
  const filled = await see(app, full)
  t.match(filled, / name="_add" value="lines" class="plain" formnovalidate hidden>/, 'no more fit into a form')
  const sent = { ...formOf(filled, `${full}/edits`), name: 'B', 'lines.149.quantity': '1' }
  t.equal((await post(app, `${full}/edits`, sent)).statusCode, 303)
  const over = await see(app, await createBasket(app, { lines: many(151) }))
  t.match(over, 'id="edit-name"')
  t.notMatch(over, 'edit-lines', 'more can be read, but not edited on a page')
  t.match(over, 'pack-goods-150', 'rows of fewer columns may be more')
  t.equal(tablesOf(over)[0]?.length, 153)
})
