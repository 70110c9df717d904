import { createHash } from 'node:crypto'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions } from '../../lib/index.js'
import { csv, customers, deals, defineFamily, html, json, memoryStorage, ndjson, Type, xml } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { findBarriers } from '../browser/barriers.js'
import { needsBrowser, openBrowser, openTab } from '../browser/open.js'
import { customersApp, people, storageOf } from '../customers-app.js'
import { createDeal, dealsApp, home } from '../deals/app.js'
import { checkHtml } from './valid.js'

const form = 'application/x-www-form-urlencoded'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() }),
  edit: ['text']
})

interface Shown {
  readonly body: string
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
}

/** Every kind of page that there is. */
async function everyPage (app: FastifyInstance): Promise<Map<string, Shown>> {
  const pages = new Map<string, Shown>()
  const get = async (name: string, url: string) => {
    pages.set(name, await app.inject({ url, headers: { accept: 'text/html' } }))
  }
  const post = async (name: string, url: string, members: Record<string, string>) => {
    const response = await app.inject({
      method: 'POST',
      url,
      headers: { accept: 'text/html', 'content-type': form },
      payload: new URLSearchParams(members).toString()
    })
    if (response.statusCode === 303) await get(name, String(response.headers.location))
    else pages.set(name, response)
  }
  const act = async (id: string, verb: string, payload: object) =>
    await app.inject({ method: 'PUT', url: `${home}/${id}/${verb}`, payload })

  await get('no deals', home)
  await get('the home', '/')
  await get('customers', '/customers')
  await get(
    'customers, filtered and sorted',
    '/customers?min-age=30&max-children=2&sort=-age&maxpagesize=5&page=2&count=exact'
  )
  await get('customers, none found', '/customers?min-age=500')
  await get('customers, a wrong filter', '/customers?min-age=x&agee=1')
  await get('a customer', '/customers/1')
  await get('a result', '/query/customers-by-children/1')
  const open = await createDeal(app, { completionDate: '2027-03-31' })
  const held = await createDeal(app, { name: 'A "held" <deal>' })
  await act(held.id, 'hold', { reason: 'Two\nlines' })
  const completed = await createDeal(app)
  await act(completed.id, 'complete', {})
  const cancelled = await createDeal(app)
  await act(cancelled.id, 'cancel', { amercement: 5, reason: 'r' })
  await get('deals', home)
  await get('an open deal', `${home}/${open.id}`)
  await get('a held deal', `${home}/${held.id}`)
  await get('a completed deal', `${home}/${completed.id}`)
  await get('a cancelled deal', `${home}/${cancelled.id}`)
  await get('some members of a deal', `${home}/${open.id}?fields=price`)
  await post('creating refused', home, { name: '', price: '-1', surprise: 'x' })
  await post('an operation refused for what was entered', `${home}/${open.id}/cancellations`, {
    amercement: 'much',
    reason: ''
  })
  await post('an operation to be confirmed', `${home}/${open.id}/cancellations`, {
    amercement: '5', reason: 'Line 1\nLine 2', _confirm: 'ask'
  })
  await post('a deletion to be confirmed', `${home}/${open.id}/deletions`, { _confirm: 'ask' })
  await post('an operation refused for the state', `${home}/${held.id}/completions`, { comment: 'At last' })
  await post('an operation refused for what others did', `${home}/${held.id}/edits`, {
    name: 'Another', '_was.name': 'A "held" <deal>', _key: 'k', _revision: '1'
  })
  const several = { [`_item.${held.id}`]: '2', [`_item.${open.id}`]: '1' }
  await post('an operation for several', home, { ...several, _operation: 'change-price' })
  await post('an operation for several, refused', home, {
    ...several, _operation: 'change-price', _ready: 'yes', _key: 'k', newPrice: 'much', reason: ''
  })
  await post('an operation for several, done', home, {
    ...several, _operation: 'change-price', _ready: 'yes', _key: 'k', newPrice: '7', reason: 'Papers'
  })
  await post('an operation for none', home, { _operation: 'hold' })
  await get('held deals', `${home}?state=held&search=DEAL`)
  await get('the log', `${home}/${held.id}/commands`)
  await get('the holds', `${home}/${held.id}/holds`)
  await get('no holds', `${home}/${open.id}/holds`)
  const { items: [command] } = (await app.inject(`${home}/${held.id}/holds`)).json<{ items: [{ id: string }] }>()
  await get('a command', `${home}/${held.id}/commands/${command.id}`)
  const { id: gone } = await createDeal(app)
  await act(gone, 'hold', { reason: 'r' })
  await app.inject({ method: 'DELETE', url: `${home}/${gone}` })
  await get('deals, none found', `${home}?name.has=nobody&status=open&or.held=true&or.min-price=5`)
  await get('what is gone', `${home}/${gone}`)
  await get('the log of what is gone', `${home}/${gone}/commands`)
  await get('the operations', `${home}/${held.id}/operations`)
  pages.set(
    'a refusal without a form',
    await app.inject({ method: 'PUT', url: `${home}/${held.id}/complete`, headers: { accept: 'text/html' } })
  )
  pages.set(
    'a deal just created',
    await app.inject({
      method: 'POST',
      url: home,
      headers: { accept: 'text/html' },
      payload: { name: 'New', price: 1 }
    })
  )
  pages.set(
    'a hold just created',
    await app.inject({
      method: 'POST',
      url: `${home}/${open.id}/holds`,
      headers: { accept: 'text/html' },
      payload: { reason: 'r' }
    })
  )
  await get('not found', '/customers/0')
  await get('not a suffix', '/customers.pdf')
  await get('a wrong query of one', '/customers/1?page=1')
  pages.set(
    'a wrong body',
    await app.inject({ method: 'POST', url: home, headers: { accept: 'text/html' }, payload: { price: 'x' } })
  )
  pages.set(
    'a wrong method',
    await app.inject({ method: 'DELETE', url: '/customers', headers: { accept: 'text/html' } })
  )
  pages.set(
    'a form of another site',
    await app.inject({
      method: 'POST',
      url: home,
      headers: { accept: 'text/html', origin: 'https://evil.example', 'content-type': form },
      payload: 'name=a&price=1'
    })
  )
  return pages
}

async function wholeApp (
  t: { teardown (close: () => Promise<unknown>): void },
  options: Partial<FamilyOptions> = {}
): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  app.register(customers, { storage: await storageOf(people(40)) })
  app.register(deals, { storage: memoryStorage(), version: 'v1', home: true, ...options })
  await app.ready()
  return app
}

t.test('every kind of page', async t => {
  const pages = await everyPage(await wholeApp(t))

  await checkHtml(t, Array.from(pages, ([name, { body }]) => [name, body] as const))

  await t.test('has its headers, one script, and nothing that is fetched', async t => {
    for (const [name, { headers, body }] of pages) {
      const allowed = /script-src 'sha256-([^']+)'/.exec(String(headers['content-security-policy']))?.[1]
      t.equal(headers['content-type'], 'text/html; charset=utf-8', name)
      t.match(
        headers['content-security-policy'],
        new RegExp('^default-src \'none\'; style-src \'sha256-[\\w+/]{43}=\'; ' +
          'script-src \'sha256-[\\w+/]{43}=\'; connect-src \'self\'; form-action \'self\'; ' +
          'base-uri \'none\'; frame-ancestors \'none\'$'),
        `${name}: CSP`
      )
      t.strictSame(
        [headers['x-content-type-options'], headers['referrer-policy'], headers.vary],
        ['nosniff', 'same-origin', 'Accept, Accept-Language'],
        `${name}: headers`
      )
      const [markup, script, ...others] = body.split(/<script>|<\/script>\n<\/body>/) as [string, string?]
      const hash = createHash('sha256').update(script ?? '').digest('base64')
      t.strictSame([others.length, hash === allowed], [1, true], `${name}: script`)
      t.notMatch(markup, /<script|<link|<img|<iframe|\son\w+=|\sstyle="|javascript:/, name)
    }
  })

  await t.test('has the status of what it shows', async t => {
    const statuses = Object.fromEntries(
      [...pages].filter(([, { statusCode }]) => statusCode !== 200).map(([name, { statusCode }]) => [name, statusCode])
    )
    t.strictSame(statuses, {
      'customers, a wrong filter': 400,
      'creating refused': 400,
      'an operation refused for what was entered': 400,
      'an operation refused for the state': 409,
      'an operation refused for what others did': 412,
      'an operation for several, refused': 400,
      'an operation for none': 400,
      'what is gone': 404,
      'a refusal without a form': 409,
      'a deal just created': 201,
      'a hold just created': 201,
      'not found': 404,
      'not a suffix': 404,
      'a wrong query of one': 400,
      'a wrong body': 400,
      'a wrong method': 405,
      'a form of another site': 403
    })
  })

  await t.test('can be used by everyone, light and dark', needsBrowser, async t => {
    const browser = await openBrowser(t)
    // Scripts on, for axe alone: the pages have none.
    const tab = await openTab(browser, { javaScriptEnabled: true, bypassCSP: true })
    const layouts = [...pages].filter(bringsNew())
    t.ok(layouts.length > 15, `${layouts.length} pages differ in more than their texts`)
    for (const [name, { body }] of layouts) {
      await tab.emulateMedia({ colorScheme: 'light' })
      await tab.setContent(body)
      t.strictSame(await findBarriers(tab), [], `${name}, light`)
      // In the dark nothing but the colours differs.
      await tab.emulateMedia({ colorScheme: 'dark' })
      t.strictSame(await findBarriers(tab, ['color-contrast']), [], `${name}, dark`)
    }
  })
})

/** Whether a page has an element, of a class and with attributes, that none before it has. */
function bringsNew (): (page: readonly [name: string, shown: Shown]) => boolean {
  const seen = new Set<string>()
  return ([, { body }]) => {
    const before = seen.size
    for (const [, tag = '', attributes = ''] of body.matchAll(/<(\w+)((?: [^<>]*)?)>/g)) {
      const names = [...attributes.matchAll(/ ([\w-]+)(?:="|(?=[ >]|$))/g)].map(([, name]) => name).sort()
      seen.add([tag, / class="[^"]*"/.exec(attributes)?.[0], ...names].join(' '))
    }
    return seen.size > before
  }
}

t.test('forms of other sites are refused', async t => {
  const app = await dealsApp(memoryStorage(), { trustedOrigins: ['https://partner.example'] })
  t.teardown(() => app.close())
  const { id } = await createDeal(app)
  const cases: readonly (readonly [headers: Record<string, string>, status: number])[] = [
    [{}, 201],
    [{ host: 'own.example', origin: 'https://own.example' }, 201],
    [{ host: 'own.example:8080', origin: 'http://own.example:8080' }, 201],
    [{ host: 'own.example', origin: 'https://evil.example' }, 403],
    [{ host: 'own.example', origin: 'https://own.example.evil.example' }, 403],
    [{ host: 'own.example', origin: 'http://own.example:81' }, 403],
    [{ host: 'own.example', origin: 'null' }, 403],
    [{ host: 'own.example', origin: 'https://evil.example/own.example' }, 403],
    [{ origin: 'https://partner.example' }, 201],
    [{ origin: 'https://partner.example', 'sec-fetch-site': 'cross-site' }, 201],
    [{ origin: 'https://partner.example.evil.example' }, 403],
    // a proxy may have changed Host; what the browser says itself counts
    [{ host: 'inner', origin: 'https://own.example', 'sec-fetch-site': 'same-origin' }, 201],
    [{ 'sec-fetch-site': 'none' }, 201],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site', origin: 'https://other.own.example' }, 403]
  ]
  for (const [headers, status] of cases) {
    const name = JSON.stringify(headers)
    const before = (await app.inject(`${home}?count=exact`)).json<{ total: number }>().total
    const sent = await app.inject({
      method: 'POST',
      url: home,
      headers: { ...headers, 'content-type': form },
      payload: 'name=a&price=1'
    })
    t.equal(sent.statusCode, status, name)
    t.equal(
      (await app.inject(`${home}?count=exact`)).json<{ total: number }>().total - before,
      status === 201 ? 1 : 0,
      `${name}: done or not`
    )
    if (status === 403) t.match(sent.json(), { type: 'urn:dealbook:problem:cross-site', detail: /trustedOrigins/ })
    // A body-less POST needs no form.
    const bare = await app.inject({ method: 'POST', url: `${home}/${id}/unholds`, headers })
    t.equal(bare.statusCode, status === 403 ? 403 : 200, `${name}: without a body`)
  }
  const json = await app.inject({
    method: 'POST',
    url: home,
    headers: { origin: 'https://evil.example' },
    payload: { name: 'a', price: 1 }
  })
  t.equal(json.statusCode, 201, 'for JSON a browser asks first, and the host answers')
})

t.test('a form for programs: no page, no redirection', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const post = async (payload: string, accept = '*/*') =>
    await app.inject({ method: 'POST', url: home, headers: { accept, 'content-type': form }, payload })
  t.match(await post('name=a&price=1.5'), { statusCode: 201, headers: { 'content-type': /^application\/json/ } })
  t.match((await post('name=a&price=x')).json(), { status: 400, errors: [{ pointer: '/price' }] })
  t.match((await post('name=a&name=b&price=1')).json(), { status: 400, errors: [{ pointer: '/name' }] })
  t.match(await post('name=a&price=1', 'text/html'), { statusCode: 303, headers: { location: /deals\/./ } })
  const { id } = await createDeal(app)
  const put = await app.inject({
    method: 'PUT',
    url: `${home}/${id}/hold`,
    headers: { 'content-type': form },
    payload: 'reason=r'
  })
  t.equal(put.statusCode, 415, 'only where browsers send forms')
})

t.test('what a host sets', async t => {
  const css = 'h1 { color: rgb(1, 2, 3) }\r\nh1::after { content: "<b>&" }\r\n'
  const own = html({ title: 'Tea & <Co>', home: '/start?a=1&b="2"', css })
  const app = await wholeApp(t, { representations: [json, xml, own, csv, ndjson] })
  const { body } = await app.inject({ url: home, headers: { accept: 'text/html' } })
  t.match(body, '<title>Deals - Tea &amp; &lt;Co&gt;</title>')
  t.match(body, '<a href="/start?a=1&amp;b=&quot;2&quot;">Tea &amp; &lt;Co&gt;</a>')
  t.match(
    (await app.inject({ url: '/customers', headers: { accept: 'text/html' } })).body,
    '<strong><a href="/">API</a></strong>',
    'each mount its own'
  )
  for (const [options, message] of [
    [{ css: 'a {} </style><script>' }, /"css" must not contain "<\/style"/],
    [{ css: '</STYLE >' }, /must not contain/],
    [{ css: 1 }, /"css" must be a string/],
    [{ titel: 'x' }, /unknown option "titel"/],
    [{ texts: 'x' }, /"texts" must be an object, or a list of objects/],
    [{ texts: [] }, /"texts" must be an object, or a list of objects/],
    [{ texts: { yess: 'ja' } }, /texts: unknown member "yess"\. Did you mean "yes"\?/],
    [{ texts: [{}, { yess: 'ja' }] }, /texts: unknown member "yess"/],
    [{ texts: { yes: () => 'ja' } }, /texts: "yes" must be a string/],
    [{ texts: { label: 'Name' } }, /texts: "label" must be a function/],
    [{ timeZone: 'Mars/Base' }, /"timeZone" is not a time zone/],
    [{ logo: 'https://x.example/a.png' }, /"logo" must be a path on the same origin/],
    [{ logo: '//x.example/a.png' }, /"logo" must be a path on the same origin/],
    [{ colors: { accent: 'red' } }, /"colors.accent" must be a colour/],
    [{ colors: { accent: ['#000000'] } }, /"colors.accent" must be a colour/]
  ] as const) t.throws(() => html(options as object), { code: 'FST_DEALBOOK_INVALID_HTML_OPTION', message })

  await t.test('its CSS is let in by the policy', needsBrowser, async t => {
    const tab = await openTab(await openBrowser(t))
    await tab.goto(`${await app.listen({ port: 0 })}${home}`)
    const look = await tab.locator('h1').evaluate(heading => {
      const { getComputedStyle } = globalThis as unknown as {
        getComputedStyle (element: unknown, part?: string): { color: string, content: string }
      }
      return [getComputedStyle(heading).color, getComputedStyle(heading, '::after').content]
    })
    t.strictSame(look, ['rgb(1, 2, 3)', '"<b>&"'])
  })
})

t.test('a cached page is not used for another reader, or in another language', async t => {
  const texts = [{ lang: 'en' }, { lang: 'nl', all: 'Alle' }]
  const own = html({ texts, user: ({ headers }) => ({ name: String(headers.from) }) })
  const app = await customersApp(t, { options: { representations: [json, own] } })
  for (const [from, language] of [['ann', 'en'], ['bob', 'en'], ['bob', 'nl']] as const) {
    const { statusCode, headers, body } = await app.inject({
      url: '/customers/1',
      headers: { accept: 'text/html', 'accept-language': language, from, 'if-none-match': '"1-html"' }
    })
    t.match([statusCode, headers.etag, headers['cache-control']], [200, undefined, 'private, no-store'])
    t.match(body, `<html lang="${language}"`)
    t.match(body, `<bdi>${from}</bdi>`)
  }
})

t.test('a host says what the pages say', async t => {
  const names: Record<string, string> = { deals: 'Zaken', deal: 'Zaak', price: 'Prijs' }
  const dutch = html({
    texts: {
      lang: 'nl',
      label: name => names[name] ?? name,
      from: label => `${label} vanaf`,
      no: 'nee',
      create: singular => `${singular} aanmaken`,
      next: undefined as never
    }
  })
  const app = await wholeApp(t, { representations: [json, dutch] })
  await createDeal(app)
  for (const search of ['', '?maxpagesize=1&page=2']) {
    const { body } = await app.inject({ url: home + search, headers: { accept: 'text/html' } })
    for (const text of ['<html lang="nl"', '>Zaken</h1>', 'Prijs vanaf', '>nee<', 'Zaak aanmaken']) t.match(body, text)
  }
})

t.test('a list for work', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const page = async (search = '') =>
    (await app.inject({ url: `${home}${search}`, headers: { accept: 'text/html' } })).body
  const names = (body: string) =>
    [...body.matchAll(/<td class="title"[^>]*><div dir="auto"><a [^>]*>([^<]*)/g)].map(([, name]) => name)
  t.match(await page(), /<details class="create" open>/, 'where there is nothing, the first can be made')
  const first = await createDeal(app, { name: 'Supply contract', price: 1234567.5 })
  await app.inject({ method: 'PUT', url: `${home}/${first.id}/hold`, payload: { reason: 'long '.repeat(800) } })
  const unseen = await createDeal(app, { name: ' \u200b ' })
  await createDeal(app, { name: 'Tea (draft' })

  const body = await page()
  t.strictSame(names(body), ['Tea (draft', unseen.id, 'Supply contract'], 'the newest first, each to be clicked')
  t.match(body, /<details class="create">/)
  t.match(body, '<td class="number" data-label="Price"><div dir="auto"><span class="number">1,234,567.5</span></div>')
  t.notMatch(body, 'long long', 'a reason is for the page of the deal')
  t.strictSame(
    [...body.matchAll(/<th scope="col"[^>]*><a [^>]*>([^<]*)/g)].map(([, label]) => label),
    ['Name', 'Price', 'Completion date', 'Created at'],
    'the columns that the family names'
  )
  t.ok((await page('?fields=holdReason')).length < body.length, 'of a long text, the beginning')
  const next = /rel="next" href="[^"]*\?maxpagesize=1&amp;sort=-id&amp;page=2"/
  t.match(await page('?maxpagesize=1'), next, 'the order stays')
  t.strictSame(names(await page('?sort=id')).at(0), 'Supply contract', 'another order can be asked for')
  const { items } = (await app.inject(home)).json<{ items: { id: string }[] }>()
  t.equal(items[0]?.id, first.id, 'programs are given the order of ids')

  const today = new Date().toISOString().slice(0, 10)
  t.equal(names(await page(`?max-createdAt=${today}&min-createdAt=${today}`)).length, 3, 'to today is all of today')
  t.strictSame(names(await page('?name.has=supply')), ['Supply contract'])
  t.strictSame(names(await page('?name.has=(DRAFT')), ['Tea (draft'], 'a text is no pattern')

  for (const search of ['', '?count=exact']) {
    t.match(await page(search), '<span class="range">1–3 of 3</span>', 'a page that is not full needs no count')
  }
  t.match(await page('?maxpagesize=2'), '<span class="range">1–2 of 3</span>')
  t.match(body, 'href="/rest/v1/deals?sort=-id&amp;maxpagesize=20">20<')
  t.match(body, '<strong aria-current="true">50</strong>')
})

t.test('states are tabs that count what they lead to', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  for (const [name, verb] of [['Tea', 'hold'], ['Silk', 'hold'], ['Rice', undefined]] as const) {
    const { id } = await createDeal(app, { name })
    if (verb !== undefined) {
      await app.inject({ method: 'PUT', url: `${home}/${id}/${verb}`, payload: { reason: 'r' } })
    }
  }
  const read = async (search: string) => {
    const { body } = await app.inject({ url: home + search, headers: { accept: 'text/html' } })
    const [, tabs = ''] = /<nav class="states"[^>]*>(.*?)<\/nav>/s.exec(body) ?? []
    const shown = [...tabs.matchAll(/<a href="([^"]*)"( aria-current="true")?>(.*?)<\/a>/gs)]
      .map(([, href, now, text]) => [href?.replaceAll('&amp;', '&'), now !== undefined,
        text?.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ').trim()])
    return { body, shown }
  }
  const { body, shown } = await read('?state=held&search=ea')
  for (const [search, open, held] of [
    ['', 1, 2], ['?state=open', 1, 2], ['?search=e', 1, 1], ['?search=e&state=held', 1, 1], ['?search=ilk', 0, 1],
    ['?search=e&maxpagesize=1', 1, 1], ['?search=e&maxpagesize=1&page=2', 1, 1], ['?name=Rice', 1, 0], ['?page=9', 1, 2]
  ] as const) {
    const { shown } = await read(search)
    t.strictSame(shown.slice(1, 3).map(([, , text]) => text), [`Open ${open}`, `Held ${held}`], search)
  }
  const link = (state = '') => `${home}?search=ea&sort=-id${state}`
  t.strictSame(shown, [
    [link(), false, 'All'], [link('&state=open'), false, 'Open 0'], [link('&state=held'), true, 'Held 1'],
    [link('&state=completed'), false, 'Completed 0'], [link('&state=cancelled'), false, 'Cancelled 0'],
    [`${home}/commands/deleted`, false, 'Deleted']
  ])
  t.match(body, '<input type="search" name="search" value="ea" aria-label="Search">')
  t.match(body, '<input type="hidden" name="state" value="held">', 'another search stays in this state')
  t.strictSame([...body.matchAll(/<td class="title"[^>]*><div dir="auto"><a [^>]*>([^<]*)/g)].map(([, name]) => name),
    ['Tea'])
})

t.test('one operation for several rows', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const [tea, silk, rice] = [await createDeal(app), await createDeal(app), await createDeal(app)]
  const { body: list } = await app.inject({ url: home, headers: { accept: 'text/html' } })
  for (const { id } of [tea, silk, rice]) {
    t.match(list, new RegExp(`<input type="checkbox" form="many" name="_item.${id}"\\s+value="1"`))
  }
  await app.inject({ method: 'PUT', url: `${home}/${rice.id}/hold`, payload: { reason: 'r' } })
  const send = async (members: Record<string, string>) => await app.inject({
    method: 'POST',
    url: home,
    headers: { accept: 'text/html', 'content-type': form },
    payload: new URLSearchParams({ ...several, ...members }).toString()
  })
  // The revisions that the list has shown.
  const several = Object.fromEntries([tea, silk, rice].map(({ id }) => [`_item.${id}`, '1']))
  const follow = async ({ statusCode, headers: { location } }: LightMyRequestResponse) => {
    t.equal(statusCode, 303)
    return await app.inject({ url: String(location), headers: { accept: 'text/html' } })
  }
  const asked = await follow(await send({ _operation: 'hold' }))
  t.match(asked.body, 'Selected: 3')
  const revisions = async () => await Promise.all([tea, silk, rice].map(async ({ id }) =>
    (await app.inject(`${home}/${id}`)).json<{ revision: number }>().revision))
  t.strictSame(await revisions(), [1, 1, 2], 'nothing is done yet')
  const _key = /name="_key" value="([^"]+)"/.exec(asked.body)?.[1] as string
  const ready = { _operation: 'hold', _ready: 'yes', _key }
  t.match(await send({ ...ready, reason: '' }), { statusCode: 400, body: /Please correct what you entered/ })
  t.strictSame(await revisions(), [1, 1, 2])
  for (const round of ['done', 'sent again']) {
    const { body } = await follow(await send({ ...ready, reason: 'Papers' }))
    const outcomes = [...body.matchAll(/<li class="(\w+)">\s*<a href="([^"]+)">.*?<span>([^<]*)<\/span>/gs)]
    t.strictSame(outcomes.map(([, outcome, href]) => [outcome, href]), [
      ['done', `${home}/${tea.id}`], ['done', `${home}/${silk.id}`], ['refused', `${home}/${rice.id}`]
    ], round)
    t.strictSame(outcomes.map(([, , , text]) => text).slice(0, 2), ['Held', 'Held'])
    t.strictSame(await revisions(), [2, 2, 2], 'each once')
  }
  for (const wrong of [{ _operation: 'edit' }, { _operation: 'none' }, { _operation: '' }]) {
    t.equal((await send(wrong)).statusCode, 400, wrong._operation)
  }
})

t.test('a history for people', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const { id } = await createDeal(app)
  for (const [verb, payload] of [['hold', { reason: 'r' }], ['unhold', {}], ['complete', {}]] as const) {
    await app.inject({ method: 'PUT', url: `${home}/${id}/${verb}`, payload })
  }
  const read = async (search = '') =>
    (await app.inject({ url: `${home}/${id}/commands${search}`, headers: { accept: 'text/html' } })).body
  const entries = (body: string) => [...body.matchAll(/<p class="what"><strong>([^<]*)/g)].map(([, text]) => text)
  const body = await read()
  t.strictSame(entries(body), ['Completed', 'Released', 'Held', 'Created'], 'the newest first')
  const fields = [...body.matchAll(/<label for="([^"]*)">([^<]*)/g)].map(([, , label]) => label)
  t.strictSame(fields, ['Action', 'Outcome', 'Day from', 'Day to', 'Principal contains'])
  const [, actions = ''] = /<select id="filter-action"[^>]*>(.*?)<\/select>/s.exec(body) ?? []
  t.strictSame([...actions.matchAll(/<option value="([^"]*)">([^<]*)/g)].map(([, value, label]) => [value, label]), [
    ['', 'Any'], ['CreateDeal', 'Create the deal'], ['HoldDeal', 'Hold'], ['UnholdDeal', 'Release'],
    ['CompleteDeal', 'Complete'], ['CancelDeal', 'Cancel the deal'], ['ChangeDealPrice', 'Change the price'],
    ['ChangeDealCompletionDate', 'Change the completion date'], ['EditDeal', 'Rename'],
    ['DeleteDeal', 'Delete the deal'], ['RestoreDeal', 'Restore the deal']
  ])
  t.strictSame(entries(await read('?action=HoldDeal&outcome=&principal.has=')), ['Held'])
  t.strictSame(entries(await read('?sort=revision')).at(0), 'Created', 'another order can be asked for')
  t.strictSame((await app.inject(`${home}/${id}/commands`)).json<{ items: { action: string }[] }>().items
    .map(({ action }) => action), ['CreateDeal', 'HoldDeal', 'UnholdDeal', 'CompleteDeal'], 'not for programs')
})

t.test('every filter in use can be taken away', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  await createDeal(app)
  const search = '?name=nobody&min-price=5&name.regex=%5Eq&or.held=true&or.status=completed&completionDate.null=true' +
    '&max-createdAt=2026-01-31&status.ne=open&id%3E0&maxpagesize=20'
  const { body } = await app.inject({ url: `${home}.html${search}`, headers: { accept: 'text/html' } })
  const chips = [...body.matchAll(/<li><a href="([^"]*)" aria-label="([^"]*) × Remove this filter"><bdi>([^<]*)</g)]
  const texts = [
    'Name: nobody', 'Price from 5', 'Name matches ^q', 'or Held: Yes', 'or Status: Completed',
    'Completion date is not set', 'Created at to 31 Jan 2026', 'Status is not Open', 'Id above 0'
  ]
  t.strictSame(chips.map(([, , label]) => label), texts)
  t.strictSame(chips.map(([, , , text]) => text), texts, 'what is seen is what is read aloud')
  const all = '/rest/v1/deals.html?maxpagesize=20&amp;sort=-id'
  t.match(body, `No deals match these filters. <a href="${all}">Show all<`)
  for (const [, href = '', text = ''] of chips) {
    const fewer = await app.inject(href.replaceAll('&amp;', '&'))
    t.equal(fewer.statusCode, 200, text)
    t.equal([...fewer.body.matchAll(/Remove this filter/g)].length, texts.length - 1, 'one less, at the same suffix')
  }
})

t.test('a page with a suffix', async t => {
  const app = await customersApp(t, { count: 30 })
  const { body } = await app.inject('/customers.html?maxpagesize=20&min-age=1')
  t.match(body, 'href="/customers/1?from=maxpagesize%3D20%26min-age%3D1"', 'from there on, Accept decides')
  t.match(body, /rel="next" href="\/customers\.html\?/)
  t.match(body, 'action="/customers.html"')
  t.match(body, 'href="/customers?maxpagesize=20&amp;min-age=1&amp;format=json"', 'but for other representations')
})

t.test('what HTML forbids is not in it', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const { id } = await createDeal(app, { name: 'a\u0085b\u009f\u007f\ufdd0\u{1ffff}' })
  for (const url of [home, `${home}/${id}`]) {
    const { body } = await app.inject({ url, headers: { accept: 'text/html' } })
    t.match(body, 'a\ufffdb\ufffd\ufffd\ufffd\ufffd')
    t.notMatch(body, /[\u007f-\u009f\p{Noncharacter_Code_Point}]/u)
  }
})

t.test('people see the page where a program gets the problem', async t => {
  const app = await dealsApp(memoryStorage(), { emptyList: 'not-found' })
  t.teardown(() => app.close())
  const page = await app.inject({ url: home, headers: { accept: 'text/html' } })
  t.equal(page.statusCode, 404)
  t.match(page.body, 'New deal', 'the first can be made')
  const refused = await app.inject({
    method: 'POST',
    url: home,
    headers: { accept: 'text/html', 'content-type': form },
    payload: 'name=&price=1'
  })
  t.equal(refused.statusCode, 400)
  t.match(refused.body, 'Name is required.')
})

t.test('a person who may not read the page sees why the form was refused', async t => {
  const app = await dealsApp(memoryStorage(), {
    authorize: (_request, { action }) => {
      if (action === 'list') throw Object.assign(new Error('not for you'), { statusCode: 403 })
    }
  })
  t.teardown(() => app.close())
  const refused = await app.inject({
    method: 'POST',
    url: home,
    headers: { accept: 'text/html', 'content-type': form },
    payload: 'name=&price=1'
  })
  t.equal(refused.statusCode, 400)
  t.match(refused.body, 'Name is required.')
})

t.test('filters', async t => {
  const app = await customersApp(t, { count: 30 })
  const page = async (url: string) => (await app.inject({ url, headers: { accept: 'text/html' } })).body
  const body = await page('/customers?age=&min-age=&max-age=50&age.ne=3&sort=age&maxpagesize=5&page=2')
  t.match(body, '<option value="age" selected>Age, ascending</option>', 'the order is in the form')
  t.match(body, '<input type="hidden" name="maxpagesize" value="5">')
  t.match(body, '<input type="hidden" name="age.ne" value="3">', 'a filter without a field stays')
  t.notMatch(body, '<input type="hidden" name="page"', 'another choice begins at the first page')
  const all = 'href="/customers?max-age=50&amp;age.ne=3&amp;sort=age&amp;format=csv">Export<'
  t.match(body, all, 'all that match, as a table in this order')
  const first = '/customers?max-age=50&amp;age.ne=3&amp;sort=age&amp;maxpagesize=5'
  t.match(body, `<a rel="prev" href="${first}">`, 'the first page needs no number')
  const next = /rel="next" href="([^"]+)"/.exec(body)?.[1] as string
  t.equal(next, `${first}&amp;page=3`)
  const third = await page(next.replaceAll('&amp;', '&'))
  t.match(third, `<a rel="prev" href="${first}&amp;page=2">`, 'from page to page by number, forth and back')
  t.match(third, `<a href="${first}&amp;page=6">Last<`)
  t.notMatch(third, '<input type="hidden" name="page"')
  t.match(third, all)
  t.match(third, 'href="/customers?max-age=50&amp;age.ne=3&amp;maxpagesize=5&amp;sort=-age"', 'nor another order')
  t.match(
    body,
    'href="/customers?max-age=50&amp;age.ne=3&amp;sort=age&amp;maxpagesize=5&amp;page=2&amp;format=json"',
    'this page, for programs'
  )
  t.match(
    await page('/customers.html?age=3'),
    'href="/customers?age=3&amp;format=json"',
    'a suffix would win over the format'
  )
  t.match(
    await page('/customers?age.regex=%5E3='),
    '<input type="hidden" name="age.regex" value="^3=">',
    'a value may end like an empty one'
  )
  t.equal((await app.inject('/customers?age=')).statusCode, 400, 'for programs an empty value is wrong')
  const deal = await dealsApp(memoryStorage())
  t.teardown(() => deal.close())
  t.notMatch((await deal.inject({ url: home, headers: { accept: 'text/html' } })).body, 'id.has')
})

t.test('what is long is not in the request that a page shows', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  app.register(notes, { storage })
  await app.ready()
  for (const [id, text] of [[1, "it's short"], [2, "'".repeat(20_000)]] as const) {
    await loadItems(storage, notes, [{ id, text }])
  }
  const page = async (id: number) => (await app.inject({ url: `/notes/${id}`, headers: { accept: 'text/html' } })).body
  t.match(await page(1), '-d &#39;{&quot;text&quot;:&quot;it&#39;\\&#39;&#39;s short&quot;}&#39;')
  const long = await page(2)
  t.match(long, '<form method="post" action="/notes/2/edits"')
  t.ok(long.length < 20 * 20_000, `${long.length} characters`)
  for (const last of 'abcde') {
    const payload = { text: `${"'".repeat(20_000)}${last}` }
    t.equal((await app.inject({ method: 'PATCH', url: '/notes/2', payload })).statusCode, 200)
  }
  const changed = await page(2)
  t.match(changed, '<ol class="timeline">')
  t.ok(changed.length < 25 * 20_000, `nor in every entry of the log: ${changed.length} characters`)
})
