import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { defineFamily, memoryStorage } from '../lib/index.js'
import { formOf, submit, unfold } from './browser/forms.js'
import { needsBrowser, openBrowser, openTab } from './browser/open.js'
import { parseCsv } from './csv.js'
import { createDeal, dealsApp, home } from './deals/app.js'
import { escapeForName, oddStrings } from './odd-strings.js'
import { isLong, runs } from './size.js'
import { membersOf, parseXml } from './xml.js'

// One for all: to start a browser takes longer than most of what is done with it.
const browser = needsBrowser.skip === false ? await openBrowser(t) : undefined

interface Kept { readonly id: string, readonly name: string, readonly holdReason: string }

const strings = oddStrings()
// What XML 1.0 has no way to write, and what is no text.
// eslint-disable-next-line no-control-regex
const unwritable = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/
const isKept = (text: string) => text !== '' && text.isWellFormed() && !unwritable.test(text)

t.test('odd strings as names and reasons', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  t.ok(strings.length > 500)
  const kept: Kept[] = []
  const wrong: unknown[] = []
  const { id: free } = await createDeal(app)
  for (const text of strings) {
    const created = await app.inject({ method: 'POST', url: home, payload: { name: text, price: 1 } })
    if (isKept(text)) {
      const { id } = created.json<{ id: string }>()
      const held = await app.inject({ method: 'POST', url: `${home}/${id}/holds`, payload: { reason: text } })
      if (created.statusCode !== 201 || held.statusCode !== 201) {
        wrong.push([escapeForName(text), created.body, held.body])
      }
      kept.push({ id, name: text, holdReason: text })
    } else {
      const held = await app.inject({ method: 'POST', url: `${home}/${free}/holds`, payload: { reason: text } })
      const at = [created, held]
        .map(answer => answer.json<{ status: number, errors: [{ pointer: string }] }>())
        .map(({ status, errors: [{ pointer }] }) => [status, pointer])
      if (String(at) !== '400,/name,400,/reason') wrong.push([escapeForName(text), at])
    }
  }
  t.strictSame(wrong, [], 'each is kept, or refused with the member named')
  await app.inject({ method: 'DELETE', url: `${home}/${free}` })
  t.ok(kept.length > 400, 'most are kept')
  // Each is on a page; those that are also read by themselves are written by the same.
  const some = kept.filter((_, index) => isLong || index % 5 === 0)

  await t.test('JSON', async t => {
    const read = await Promise.all(some.map(async ({ id }) => (await app.inject(`${home}/${id}`)).json<Kept>()))
    t.strictSame(read.map(deal => [deal.name, deal.holdReason]), some.map(({ name }) => [name, name]))
    const { items } = (await app.inject(`${home}?maxpagesize=1000`)).json<{ items: Kept[] }>()
    t.strictSame(items.map(({ id, name, holdReason }) => ({ id, name, holdReason })), kept, 'a page')
    const lines = (await app.inject(`${home}.ndjson`)).body.trimEnd().split('\n').map(line => JSON.parse(line) as Kept)
    t.strictSame(lines, items, 'NDJSON')
  })

  await t.test('XML', async t => {
    const read = await Promise.all(some.map(async ({ id }) => parseXml((await app.inject(`${home}/${id}.xml`)).body)))
    t.strictSame(
      read.map(deal => [deal.name, membersOf(deal).name, membersOf(deal).holdReason]),
      some.map(({ name }) => ['deal', name, name])
    )
    const page = parseXml((await app.inject(`${home}.xml?maxpagesize=1000`)).body)
    t.strictSame([page.name, ...page.children.map(({ name }) => name)], ['deals', 'items', 'page', 'pageSize', 'links'])
    t.strictSame(page.children[0]?.children.map(deal => membersOf(deal).name), kept.map(({ name }) => name), 'a page')
    const [first] = kept as [Kept]
    const log = parseXml((await app.inject(`${home}/${first.id}/commands.xml`)).body)
    const reasons = log.children[0]?.children.map(
      ({ children }) => children.find(({ name }) => name === 'params')?.children.at(-1)?.text
    )
    t.ok(reasons?.includes(first.holdReason), 'the log')
  })

  await t.test('CSV', async t => {
    const [head, ...rows] = parseCsv((await app.inject(`${home}.csv`)).body) as [string[], ...string[][]]
    const column = (name: string) => rows.map(row => row[head.indexOf(name)])
    // A formula gets an apostrophe, wherever a cell could begin; everything else, numbers too, is as it was.
    const expected = kept.map(({ name }) => name
      .replace(/([;\t\r\n])(?=[\s\u200b]*[=+\-@＝＋－＠])/g, "$1'")
      .replace(/^(?!-\d+(?:\.\d+)?$)(?=[;\s\u200b]*[=+\-@＝＋－＠]|[\t\r\n])/, "'"))
    t.strictSame(column('name'), expected)
    t.strictSame(column('holdReason'), expected)
    t.strictSame(column('id'), kept.map(({ id }) => id))
  })

  await t.test('HTML, as a browser reads it', needsBrowser, async t => {
    const address = await app.listen({ port: 0 })
    const tab = await openTab(browser as Browser)
    await tab.goto(`${address}${home}.html?maxpagesize=1000&fields=name,holdReason&sort=id`)
    const cells = await tab
      .locator('tbody tr')
      // Not the boxes to select rows, and not the state.
      .evaluateAll(rows => rows.map(row =>
        [...row.children].filter(cell => cell.hasAttribute('data-label')).map(cell => cell.textContent)))
    // The beginning of what is long, without what HTML forbids.
    const rows = kept.map(({ name }) => {
      const clean = name.replace(/[\u007f-\u009f\p{Noncharacter_Code_Point}]/gu, '\ufffd')
      const cut = clean.length > 200 ? `${[...clean].slice(0, 199).join('')}…` : clean
      return [cut, cut]
    })
    t.strictSame(cells, rows, 'the list')
    t.equal(await tab.locator('main script, img, svg, main style').count(), 0, 'nothing of it became markup')
    // Each markup that could break out of something, on its own page with its forms and its log.
    for (const { id, name } of kept.filter(({ name }) => /^["'<&\r\n]/.test(name)).slice(0, runs(40))) {
      await tab.goto(`${address}${home}/${id}`)
      const values = await tab.locator('dt, dd').evaluateAll(cells => cells.map(({ textContent }) => textContent))
      t.equal(values[values.lastIndexOf('Name') + 1], name, escapeForName(name))
      t.equal(values[values.indexOf('Hold reason') + 1], name, `${escapeForName(name)}: reason`)
      t.equal(await tab.locator('h1').textContent(), `${name} Held`)
    }
  })
})

t.test('odd strings typed into a form that is refused are still there', needsBrowser, async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const address = await app.listen({ port: 0 })
  const { id } = await createDeal(app)
  const tab = await openTab(browser as Browser)
  for (const reason of [
    '</textarea><b>',
    '\n\nfirst lines are empty',
    ' " onfocus="alert(1)" ',
    '&lt;',
    'שלום\u202e',
    'a\nb\n'
  ]) {
    await tab.goto(`${address}${home}/${id}`)
    const form = await unfold(tab, 'cancel')
    await form.getByLabel('Reason').fill(reason)
    // Not by its button, since the browser itself would see that the amount is missing.
    await form.getByLabel('Fee').evaluate(field => {
      field.removeAttribute('required')
    })
    await submit(form)
    t.match(await tab.getByRole('alert').textContent(), 'Please correct what you entered.', 'it was refused')
    t.equal(await formOf(tab, 'cancel').getByLabel('Reason').inputValue(), reason, escapeForName(reason))
  }
})

t.test('problems that repeat what was sent are well-formed', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const wrong: unknown[] = []
  // Of those that are kept, pages have each, written by the same functions.
  const some = strings.filter((text, index) => isLong || !isKept(text) || index % 5 === 0)
  for (const text of some) {
    const path = encodeURIComponent(text.toWellFormed())
    if (path.length > 90 || path === '') continue
    const xml = await app.inject({ url: `${home}/${path}`, headers: { accept: 'application/xml' } })
    const problem = parseXml(xml.body)
    if (problem.name !== 'problem' || membersOf(problem).status !== String(xml.statusCode)) {
      wrong.push([escapeForName(text), xml.body])
    }
    const html = await app.inject({ url: `${home}?${path}=1`, headers: { accept: 'text/html' } })
    // eslint-disable-next-line no-control-regex
    if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f]|<b>|<script>.*<script|<img|<svg/s.test(html.body)) {
      wrong.push([escapeForName(text), html.body])
    }
  }
  t.strictSame(wrong, [])
  const odd = await app.inject({ method: 'POST', url: home, headers: { accept: 'application/xml' }, payload: '{}' })
  t.equal(odd.statusCode, 415)
  const named = await app.inject({
    method: 'POST',
    url: home,
    headers: { accept: 'application/xml', 'content-type': 'application/json' },
    payload: '{"name":"a","price":1,"<b>\\n&":1}'
  })
  t.equal(named.statusCode, 400)
  t.match(parseXml(named.body).text, '/<b>\n&')
})

t.test('members of any name are XML too', async t => {
  const things = defineFamily({
    name: 'things',
    singular: 'thing',
    fields: Type.Object({ id: Type.Integer(), data: Type.Unknown(), tags: Type.Array(Type.String()) }),
    create: ['data', 'tags']
  })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(things, { storage: memoryStorage() })
  const data = {
    plain: 1,
    'a b': 2,
    '<x>': 3,
    '': 4,
    '1st': 5,
    'tab\tline\nend\rquote"': 6,
    'xml:lang': 7,
    'ns:name': 8,
    ünïcode: 9,
    null: null,
    list: [1, [2], { three: 3 }]
  }
  const created = await app.inject({
    method: 'POST',
    url: '/things',
    headers: { accept: 'application/xml' },
    payload: { data, tags: ['a', '<b>'] }
  })
  t.equal(created.statusCode, 201)
  const thing = parseXml(created.body)
  const [shown, tags] = ['data', 'tags'].map(wanted => thing.children.find(({ name }) => name === wanted))
  t.strictSame(shown?.children.map(({ name, attributes }) => attributes.name ?? name), Object.keys(data))
  t.equal(shown?.children.find(({ attributes }) => attributes.name === '<x>')?.text, '3')
  t.strictSame(tags?.children.map(({ name, text }) => [name, text]), [['item', 'a'], ['item', '<b>']])
  const page = await app.inject('/things.html')
  t.equal(page.statusCode, 200)
  const csv = parseCsv((await app.inject('/things.csv?fields=data,tags')).body)
  t.strictSame(csv[1]?.map(cell => JSON.parse(cell) as unknown), [data, ['a', '<b>']], 'whole values are JSON in CSV')
})
