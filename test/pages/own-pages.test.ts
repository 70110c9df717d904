import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import {
  idReused, notFound, nothingFound, preconditionFailed, preconditionRequired, storageUnavailable
} from '../../lib/core/problems.js'
import { refuseByConstraint } from '../../lib/core/service/refusal.js'
import { ConstraintError, type ConstraintRule } from '../../lib/core/storage/storage.js'
import { english } from '../../lib/html/index.js'
import { adjustColor, findInk, measureContrast, papers } from '../../lib/html/style.js'
import { makeTranslator } from '../../lib/html/words.js'
import { customers, deals, html, json, memoryStorage, problemCodes } from '../../lib/index.js'
import { de } from '../../lib/locales/de.js'
import { createOrder, openShop } from './shop.js'

const see = async (app: FastifyInstance, url: string, headers = {}): Promise<string> =>
  (await app.inject({ url, headers: { accept: 'text/html', ...headers } })).body
const textOf = (html: string): string => html.replace(/<style>.*?<\/style>|<script>.*?<\/script>/gs, '')
  .replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')

t.test('the application has its name, logo, colours and person', async t => {
  const { app } = await openShop(t, memoryStorage(), {
    pages: {
      title: 'ACME & Co',
      logo: '/logo.svg',
      colors: { accent: ['#ffcc00', '#ffe680'] },
      user: async ({ headers }) => ({ name: `<${headers['x-person']}>`, signOut: '/out' })
    }
  })
  const asked = { accept: 'text/html', 'x-person': 'ann' }
  const { body, headers } = await app.inject({ url: '/shop/orders', headers: asked })
  t.match(body, '<img src="/logo.svg" alt="ACME &amp; Co">')
  t.match(body, '<bdi>&lt;ann&gt;</bdi>\n<a href="/out">Sign out</a>')
  t.match(headers['content-security-policy'], "img-src 'self' data:; ")
  t.match(headers.vary, 'Accept-Language')
  const [, brand, ink, accent] = /--brand: (#\w+); --on-brand: (#\w+); --accent: (#\w+) }/.exec(body) ?? []
  t.equal(brand, '#ffcc00', 'as it was given')
  t.ok(measureContrast(brand as string, ink as string) >= 4.5, 'the text of buttons can be read')
  t.ok(measureContrast(accent as string, papers[0]) >= 4.5, 'and so can links')
})

t.test('every colour can be read', async t => {
  const weak: unknown[] = []
  for (let number = 0; number < 0x1000; number += 7) {
    const color = `#${number.toString(16).padStart(3, '0')}`
    if (measureContrast(color, findInk(color)) < 4.5) weak.push(color)
    weak.push(...papers.filter(paper => measureContrast(adjustColor(color, paper), paper) < 4.5)
      .map(paper => `${color} on ${paper}`))
  }
  t.strictSame(weak, [])
})

t.test('a person that cannot be found is not shown', async t => {
  const { app } = await openShop(t, memoryStorage(), { pages: { user () { throw new Error('No directory') } } })
  t.equal((await app.inject({ url: '/shop/orders', headers: { accept: 'text/html' } })).statusCode, 200)
})

t.test('wrong options of pages are errors', async t => {
  for (const [options, message] of [
    [{ logo: 'https://example.org/a.png' }, /"logo" must be a path on the same origin/],
    [{ logo: '//example.org/a.png' }, /"logo"/],
    [{ colors: { accent: 'red' } }, /"colors\.accent" must be a colour such as "#0a58ca"/],
    [{ colors: { accent: ['#fff'] } }, /two of them/],
    [{ colors: { accent: '#fff;}' } }, /"colors\.accent"/],
    [{ colors: { ink: '#fff' } }, /unknown member "ink"/],
    [{ timeZone: 'Berlin' }, /"timeZone" is not a time zone: "Berlin"/],
    [{ texts: [] }, /"texts" must be an object, or a list of objects/],
    [{ texts: [{ lang: 'de', yess: 'ja' }] }, /unknown member "yess"\. Did you mean "yes"/],
    [{ texts: { yes: 1 } }, /"yes" must be a string/],
    [{ user: 'ann' }, /"user" must be a function/],
    [{ titel: 'a' }, /unknown option "titel"/]
  ] as const) t.throws(() => html(options as never), { code: 'FST_DEALBOOK_INVALID_HTML_OPTION', message })
  for (const logo of ['/a.svg', 'a.svg', 'data:image/png;base64,AA']) t.doesNotThrow(() => html({ logo }))
})

t.test('a page has the language of the reader', async t => {
  const { app, ids: { clients: [client] } } = await openShop(t, memoryStorage(), {
    pages: { texts: [english, de], timeZone: 'Europe/Berlin' }, clock: () => new Date('2026-11-17T12:00:00Z')
  })
  const { id } = await createOrder(app, { title: 'Schrauben', client, total: '12345.60', due: '2026-12-01T08:00:00Z' })
  for (const [language, lang] of [
    ['de-AT,de;q=0.9,en;q=0.5', 'de'], ['en-US', 'en'], ['fr', 'en'], ['fr, de;q=0.5', 'de'], ['*', 'en'], ['', 'en']
  ] as const) {
    t.match(await see(app, '/shop/orders', { 'accept-language': language }), `<html lang="${lang}"`, language)
  }
  const german = { 'accept-language': 'de' }
  const list = textOf(await see(app, '/shop/orders', german))
  for (const said of [
    'Aufträge', 'Neuer Auftrag', 'Alle Offen 1 Versendet 0', 'Suchen', '12.345,60', '17.11.2026, 13:00', '1–1 von 1'
  ]) t.match(list, said)
  const item = textOf(await see(app, `/shop/orders/${id}`, german))
  for (const said of [
    'Schrauben Offen', 'Kunde Client 1', 'Summe 12.345,60', 'Fällig 01.12.2026, 09:00 · in 13 Tagen', 'Versenden',
    'Preis ändern', 'Verlauf Angelegt', 'Zeiten in Europe/Berlin.'
  ]) t.match(item, said)
  await app.inject({ method: 'PUT', url: `/shop/orders/${id}/send`, payload: {} })
  t.match(textOf(await see(app, `/shop/orders/${id}`, german)), 'Schrauben Versendet')
  t.match(textOf(await see(app, '/shop/orders?min-total=viel', german)), 'Bitte berichtigen Sie Ihre Angaben')
  t.match(textOf(await see(app, '/shop/orders/99', german)), 'Das gibt es nicht')
})

t.test('the host chooses the language', async t => {
  const { app } = await openShop(t, memoryStorage(), {
    pages: { texts: [de, english], language: ({ headers }) => headers['x-lang'] as string | undefined }
  })
  for (const [asked, lang] of [['en', 'en'], ['de', 'de'], ['xx', 'de']] as const) {
    t.match(await see(app, '/shop/orders', { 'x-lang': asked }), `<html lang="${lang}"`, asked)
  }
  t.match(await see(app, '/shop/orders', { 'accept-language': 'en' }), '<html lang="en"', 'else by Accept-Language')
})

t.test('German has every text, and every problem a title', async t => {
  t.strictSame(Object.keys(de).sort(), Object.keys(english).sort())
  const translate = makeTranslator(de.messages)
  for (const { title } of Object.values(problemCodes)) {
    t.not(translate(title), title, title)
  }
  const rules: readonly ConstraintRule[] = ['unique', 'required', 'reference', 'in-use', 'value', 'other']
  const refusals = [
    ...rules.flatMap(rule => [['name'], []].map(fields =>
      refuseByConstraint(new ConstraintError('deals', 1, rule, { fields, other: 'orders' })))),
    ...(['unique', 'reference', 'in-use'] as const).map(rule =>
      refuseByConstraint(new ConstraintError('deals', 1, rule, { fields: ['name'], other: 'orders', declared: true }))),
    refuseByConstraint(new ConstraintError('deals', 1, 'unique', { fields: ['name', 'age'], declared: true })),
    notFound('deal', 1), nothingFound('deals'), preconditionFailed('deal', 2, '; revision 1 was shown'),
    preconditionRequired('deal'), idReused(), idReused('a'), storageUnavailable()
  ]
  for (const { message, errors = [] } of refusals) {
    for (const text of errors.length === 0 ? [message] : errors.map(({ detail }) => detail)) {
      t.not(translate(text), text, text)
    }
  }
  for (const [name, text] of Object.entries(de)) {
    // Texts that are the same in both languages.
    if (['application', 'technical'].includes(name)) continue
    const own = english[name as keyof typeof english]
    if (typeof text === 'string') t.not(text, own, name)
  }
})

t.test('texts are translated by templates', async t => {
  const translate = makeTranslator({
    'a {} b {}': '{} und {}', 'x {} y': 'Y {}', plain: 'schlicht', '{} must {}': '{} muss {}'
  })
  for (const [text, expected] of [
    ['plain', 'schlicht'], ['a 1 b 2', '1 und 2'], ['a  b ', ' und '], ['x z y', 'Y z'], ['x y', 'x y'],
    ['age must b', 'age muss b'], ['other', 'other'], ['a 1', 'a 1'], ['', '']
  ] as const) t.equal(translate(text), expected, text)
  const long = 'a '.repeat(100_000)
  t.equal(translate(long), long, 'also a long one, in linear time')
})

t.test('deals and customers speak German', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const shared = { prefix: '/crm', storage: memoryStorage(), representations: [json, html({ texts: de })] }
  app.register(customers, shared)
  app.register(deals, { ...shared, version: 'v1' })
  const payload = { name: 'Tee', price: 5 }
  const { id } = (await app.inject({ method: 'POST', url: '/crm/rest/v1/deals', payload })).json()
  const url = `/crm/rest/v1/deals/${id}`
  await app.inject({ method: 'PUT', url: `${url}/hold`, payload: { reason: 'x' } })
  const pages = await Promise.all(['/crm/', '/crm/customers', '/crm/rest/v1/deals', url, `${url}/commands`]
    .map(async url => textOf((await see(app, url)).replace(/<details class="requests">.*?<\/details>/s, ''))))
  for (const page of pages) t.notMatch(page, /\b(The|the|deal|Deals|Customers|held|Held|Price|of|Not)\b/)
})
