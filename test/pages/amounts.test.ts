import t from 'tap'
import { english } from '../../lib/html/index.js'
import { memoryStorage } from '../../lib/index.js'
import { de } from '../../lib/locales/de.js'
import { openLeases } from './leases.js'
import { formOf, post, see, textOf } from './shop.js'

const german = { texts: [english, de], language: () => 'de' }

/** What beside a field says what is wrong with it. */
const errorOf = (page: string, id: string): string | undefined =>
  new RegExp(`id="${id}-error">([^<]*)<`).exec(page)?.[1]

t.test('amounts are entered, shown and refused in the language of the page', async t => {
  let language = 'de'
  const app = await openLeases(t, memoryStorage(), { texts: [english, de], language: () => language })
  const page = await see(app, '/leases')
  t.notMatch(page, 'type="number"')
  t.match(page, /name="rent" required[^>]* type="text" inputmode="decimal"/)
  t.match(page, /name="places" type="text" inputmode="numeric"/)
  const empty = { ...formOf(page, '/leases'), name: 'Hall' }
  t.match(empty, { _language: 'de-DE', months: '12,5', deposit: '0,50', 'site.area': '1,5', 'parts.0.weight': '0,5' })
  // The reader changes to another language, with the form still open.
  language = 'en'
  const typed = {
    ...empty,
    rent: '1234,5',
    fee: '12,5',
    places: '1.234.567',
    rates: '1,5\n2\n1.234,50',
    sizes: '0,25\n-3',
    'steps.0.from': '1',
    'steps.0.price': '1,5',
    'steps.1.from': '10',
    'steps.1.price': '2'
  }
  const made = await post(app, '/leases', typed)
  t.equal(made.statusCode, 303, made.body)
  const url = String(made.headers.location)
  const lease = (await app.inject(url)).json()
  t.match(lease, {
    rent: 1234.5,
    fee: '12.50',
    places: 1234567,
    rates: ['1.50', '2.00', '1234.50'],
    sizes: [0.25, -3],
    steps: [{ from: 1, price: '1.50' }, { from: 10, price: '2.00' }],
    months: 12.5,
    site: { city: 'Ulm', area: 1.5 }
  })

  language = 'de'
  const edit = formOf(await see(app, url), `${url}/edits`)
  t.match(edit, {
    rent: '1234,5',
    '_was.rent': '1234,5',
    rates: '1,50\n2,00\n1234,50',
    '_was.rates': '1,50\n2,00\n1234,50',
    'steps.0.price': '1,50'
  })
  t.equal((await post(app, `${url}/edits`, edit)).statusCode, 303)
  t.equal((await app.inject(url)).json().revision, 1, 'untouched')
  t.equal((await post(app, `${url}/edits`, { ...edit, 'steps.1.price': '2,5' })).statusCode, 303)
  t.match((await app.inject(url)).json(), {
    rent: 1234.5, rates: ['1.50', '2.00', '1234.50'], steps: [{ from: 1, price: '1.50' }, { from: 10, price: '2.50' }]
  })

  const wrong = await post(app, '/leases', {
    ...typed, rent: '12.500', fee: '99.5', places: '2,5', rates: '1\n1.500', 'steps.0.price': '1.5', months: 'viele'
  })
  t.equal(wrong.statusCode, 400)
  for (const [id, text] of [
    ['rent', 'Rent ist nicht eindeutig: Schreiben Sie 12500 oder 12,5.'],
    ['fee', 'Fee muss so geschrieben werden: 99,5.'],
    ['places', 'Places muss eine ganze Zahl sein.'],
    ['rates', 'Rates 2 ist nicht eindeutig: Schreiben Sie 1500 oder 1,5.'],
    ['steps-0-price', 'Price muss so geschrieben werden: 1,5.'],
    ['months', 'Months muss eine Zahl sein.']
  ] as const) t.equal(errorOf(wrong.body, `create-${id}`), text)
  t.match(formOf(wrong.body, '/leases'), {
    rent: '12.500', fee: '99.5', rates: '1\n1.500', sizes: '0,25\n-3', 'steps.0.price': '1.5', months: 'viele'
  }, 'as typed')

  const beyond = await post(app, '/leases', { ...typed, rent: '0,25', fee: '10000', deposit: '1,555' })
  t.strictSame(['rent', 'fee', 'deposit'].map(id => errorOf(beyond.body, `create-${id}`)), [
    'Rent muss mindestens 0,5 sein.', 'Fee darf höchstens 9999,50 sein.',
    'Deposit muss eine Zahl mit höchstens 2 Nachkommastellen und 15 Stellen insgesamt sein, zum Beispiel 19,99.'
  ], 'the bounds too')
})

t.test('a question, and several items, are answered in the language in which they were asked', async t => {
  const app = await openLeases(t, memoryStorage(), german)
  const { id } = (await app.inject({ method: 'POST', url: '/leases', payload: { name: 'Hall', rent: 1 } })).json()
  const url = `/leases/${id}`
  const raise = { ...formOf(await see(app, url), `${url}/raises`), by: '1,5', client: '1' }
  const asked = await post(app, `${url}/raises`, raise)
  t.match(textOf(asked.body), 'Rent 1 → 2,5')
  t.equal((await post(app, `${url}/raises`, formOf(asked.body, `${url}/raises`))).statusCode, 303)
  t.equal((await app.inject(url)).json().rent, 2.5)

  const many = await post(app, '/leases', { _operation: 'raise', [`_item.${id}`]: '2' })
  const form = formOf(await see(app, many.headers.location as string), '/leases')
  const refused = await post(app, '/leases', { ...form, by: '1.500', client: '1' })
  t.equal(errorOf(refused.body, 'raise-by'), 'By ist nicht eindeutig: Schreiben Sie 1500 oder 1,5.')
  t.match(formOf(refused.body, '/leases'), { by: '1.500', client: '1' })
  await post(app, '/leases', { ...formOf(refused.body, '/leases'), by: '1,25' })
  t.equal((await app.inject(url)).json().rent, 3.75)
})

t.test('filters by amounts have an address for all languages', async t => {
  const app = await openLeases(t, memoryStorage(), german)
  for (const rent of [12.5, 1500]) await app.inject({ method: 'POST', url: '/leases', payload: { name: 'a', rent } })
  const list = await see(app, '/leases')
  t.match(list, /<form method="get" [^>]*class="find"[^>]*>\s*<input type="hidden" name="_language"/)
  const open = async (query: string) => await app.inject({ url: `/leases?${query}`, headers: { accept: 'text/html' } })
  const sent = await open('_language=de-DE&min-rent=12%2C5&max-rent=&rent.lt=99.5&sort=rent')
  t.strictSame([sent.statusCode, sent.headers.location], [303, '/leases?min-rent=12.5&rent.lt=99.5&sort=rent'])
  const head = await app.inject({
    method: 'HEAD', url: '/leases?_language=de-DE&min-rent=12%2C5', headers: { accept: 'text/html' }
  })
  t.strictSame([head.statusCode, head.headers.location], [303, '/leases?min-rent=12.5'], 'as of a GET')
  const found = (await open('min-rent=12.5')).body
  t.match(found, /name="min-rent" type="text" inputmode="decimal" value="12,5"/)
  t.match(textOf(found), 'Rent ab 12,5')
  t.equal((await open('_language=de-DE&min-rent=')).headers.location, '/leases')
  const wrong = await open('_language=de-DE&min-rent=1.500&min-places=much')
  t.equal(wrong.statusCode, 400)
  t.equal(errorOf(wrong.body, 'filter-min-rent'), 'Rent von ist nicht eindeutig: Schreiben Sie 1500 oder 1,5.')
  t.equal(errorOf(wrong.body, 'filter-min-places'), 'Places von muss eine ganze Zahl sein.')
  t.match(wrong.body, /name="min-rent"[^>]* value="1\.500"/, 'as typed')
  t.equal((await app.inject('/leases?_language=de-DE')).statusCode, 400, 'only of pages')
})

t.test('programs send forms with amounts as in JSON, whatever the language', async t => {
  const app = await openLeases(t, memoryStorage(), german)
  const send = async (payload: string) => (await app.inject({
    method: 'POST', url: '/leases', payload, headers: { 'content-type': 'application/x-www-form-urlencoded' }
  })).json()
  t.match(await send('name=a&rent=12.500&rates=1.5%0A2&months=&terms='),
    { rent: 12.5, rates: ['1.50', '2.00'], months: 12.5, terms: 'As usual' }, 'empty fields count as omitted')
  t.match(await send('name=a&rent=12,5'), { status: 400, errors: [{ pointer: '/rent' }] })
  const shown = await post(app, '/leases', { rent: '12.5' })
  t.match(formOf(shown.body, '/leases'), { rent: '12,5', _language: 'de-DE' }, 'shown again on a page')
})

t.test('a form to create shows the defaults, and what is emptied is empty', async t => {
  const app = await openLeases(t, memoryStorage())
  const page = await see(app, '/leases')
  const form = formOf(page, '/leases')
  t.match(form, {
    renews: 'true',
    currency: 'EUR',
    months: '12.5',
    deposit: '0.50',
    terms: 'As usual',
    starts: '2027-01-31',
    seen: '2026-03-01T10:30',
    tags: 'new\nbig',
    'site.city': 'Ulm',
    'site.area': '1.5',
    'parts.0.part': 'Roof',
    'parts.0.weight': '0.5',
    'parts.1.part': '',
    agent: 'Ann',
    client: '2'
  })
  t.match(page, /<select id="create-renews" name="renews" required><option value="">Choose</)
  t.match(page, '<label for="create-terms">Terms (optional)</label>')
  const given = { ...form, name: 'Hall', rent: '1' }
  const read = async (changes: Record<string, string>) => {
    const { statusCode, headers, body } = await post(app, '/leases', { ...given, ...changes })
    return statusCode === 303 ? (await app.inject(String(headers.location))).json() : body
  }
  const { id, createdAt, updatedAt, revision, links, ...same } = await read({})
  const usual = (await app.inject({ method: 'POST', url: '/leases', payload: { name: 'Hall', rent: 1 } })).json()
  for (const name of Object.keys(same)) t.strictSame(same[name], usual[name], name)
  const { terms, tags, agent, parts, site } = await read({
    terms: '', tags: '', agent: '', 'parts.0.part': '', 'parts.0.weight': '', 'site.city': '', 'site.area': ''
  })
  t.strictSame([terms, tags, agent, parts, site], ['', [], null, [], { city: '' }])
  t.match(await read({ renews: 'false', currency: 'CHF', months: '1' }), { renews: false, currency: 'CHF', months: 1 })
  for (const name of ['renews', 'currency', 'months', 'starts']) {
    t.match(errorOf(await read({ [name]: '' }), `create-${name}`), / must be /, `${name} cannot be empty`)
  }
})

t.test('a refused form keeps who was looked up, by a part of the title or by choice', async t => {
  const app = await openLeases(t, memoryStorage(), {}, 60)
  const form = formOf(await see(app, '/leases'), '/leases')
  t.equal(form['_find.client'], 'Client 2 (2)', 'also by default')
  const send = async (changes: Record<string, string>) => {
    const { statusCode, headers, body } = await post(app, '/leases', { ...form, name: 'Hall', ...changes })
    return statusCode === 303 ? (await app.inject(String(headers.location))).json() : formOf(body, '/leases')
  }
  t.match(await send({ '_find.client': 'lient 60', rent: '' }), { '_find.client': 'lient 60', name: 'Hall' })
  t.match(await send({ '_find.client': 'lient 60', rent: '1' }), { client: 60 })
  const several = await send({ '_find.client': 'ent 5', rent: '' })
  t.match(several, { client: '', rent: '' }, 'none is chosen yet')
  const { '_find.client': _, ...rest } = form
  const { body } = await post(app, '/leases', { ...rest, name: 'Hall', client: '55', rent: '' })
  t.match(formOf(body, '/leases'), { '_find.client': 'Client 55 (55)' }, 'chosen')
  t.match(await send({ ...formOf(body, '/leases'), rent: '1' }), { client: 55 })

  const { id } = (await app.inject({ method: 'POST', url: '/leases', payload: { name: 'Hall', rent: 1 } })).json()
  const url = `/leases/${id}`
  const raise = { ...formOf(await see(app, url), `${url}/raises`), by: '1', '_find.client': 'Client 6' }
  const asked = formOf((await post(app, `${url}/raises`, raise)).body, `${url}/raises`)
  await app.inject({ method: 'PATCH', url, payload: { rent: 2 } })
  const stale = await post(app, `${url}/raises`, asked)
  t.equal(stale.statusCode, 412)
  t.match(formOf(stale.body, `${url}/raises`), { by: '1', '_find.client': 'Client 6 (6)' }, 'after a question')
  const chosen = await post(app, '/leases', { _operation: 'raise', [`_item.${id}`]: '2' })
  const many = formOf(await see(app, chosen.headers.location as string), '/leases')
  const again = await post(app, '/leases', { ...many, by: 'much', '_find.client': 'Client 6' })
  t.match(formOf(again.body, '/leases'), { by: 'much', '_find.client': 'Client 6' }, 'for several')
})
