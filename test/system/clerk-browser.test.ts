import type { FastifyInstance } from 'fastify'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import t from 'tap'
import type { HtmlOptions } from '../../lib/html/index.js'
import { english } from '../../lib/html/index.js'
import type { FamilyOptions } from '../../lib/index.js'
import { defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { de } from '../../lib/locales/de.js'
import { findBarriers } from '../browser/barriers.js'
import { focused, focusedFirst, message } from '../browser/forms.js'
import { follow, needsBrowser, openBrowser, openTab } from '../browser/open.js'
import { openLeases } from '../pages/leases.js'
import { createOrder, openShop } from '../pages/shop.js'
import { isLong } from '../size.js'

// One for all: to start a browser takes longer than most of what is done with it.
const shared = needsBrowser.skip === false ? await openBrowser(t) : undefined

const scripts = { javaScriptEnabled: true, locale: 'en-GB', timezoneId: 'Pacific/Auckland' } as const

interface Started {
  readonly app: FastifyInstance
  readonly clients: readonly number[]
  open (path: string, options?: BrowserContextOptions): Promise<Page>
}

async function start (
  t: { teardown (close: () => Promise<unknown>): void },
  options: Partial<FamilyOptions> & { readonly pages?: HtmlOptions, readonly counts?: readonly [number, number] } = {},
  prepare: (app: FastifyInstance) => void = () => {}
): Promise<Started> {
  const { app, ids } = await openShop(t, memoryStorage(), options, prepare)
  const address = await app.listen({ port: 0 })
  return {
    app,
    clients: ids.clients,
    async open (path, options) {
      const tab = await openTab(shared as Browser, options)
      t.teardown(() => tab.close())
      tab.on('pageerror', error => { t.teardown(() => Promise.reject(error)) })
      await tab.goto(address + path)
      return tab
    }
  }
}

const press = async (tab: Page, name: string): Promise<void> =>
  await follow(tab, () => tab.getByRole('button', { name, exact: true }).click())
const total = async (app: FastifyInstance, id: number): Promise<string> =>
  (await app.inject(`/shop/orders/${id}`)).json<{ total: string }>().total

for (const [name, options] of [['without scripts', undefined], ['with the script', scripts]] as const) {
  t.test(`two tabs, ${name}`, needsBrowser, async t => {
    const { app, clients: [client], open } = await start(t)
    const { id } = await createOrder(app, { title: 'Bolts', client, total: '100.00' })
    const [mine, theirs] = [await open(`/shop/orders/${id}`, options), await open(`/shop/orders/${id}`, options)]
    for (const [tab, amount] of [[theirs, '200'], [mine, '300']] as const) {
      await tab.locator('summary', { hasText: 'Price the order' }).click()
      await tab.locator('#price-total').fill(amount)
      await tab.locator('#price-reason').fill(`For ${amount}`)
      await press(tab, 'Price the order')
    }
    t.equal(await total(app, id), '200.00', 'the second is not done')
    t.match(await mine.getByRole('alert').innerText(), /Someone has changed it[^]*100\.00 → 200\.00/)
    t.equal(await mine.locator('#price-reason').inputValue(), 'For 300')
    await press(mine, 'Price the order')
    t.equal(await message(mine), 'Done: price the order.')
    t.equal(new URL(mine.url()).search, '', 'a clean address')
    t.equal(await total(app, id), '300.00')
    await mine.reload()
    t.equal(await mine.getByRole('status').count(), 0, 'the message is shown once')
  })

  t.test(`the safe choice has the focus, ${name}`, needsBrowser, async t => {
    const { app, clients: [client], open } = await start(t)
    const { id } = await createOrder(app, { title: 'Bolts', client })
    const tab = await open(`/shop/orders/${id}`, options)
    await tab.keyboard.press('Tab')
    t.equal(await focused(tab), 'A skip')
    await tab.locator('summary', { hasText: 'Move the order' }).click()
    await tab.locator('#move-plant').selectOption({ label: 'Plant 2' })
    await press(tab, 'Move the order')
    t.match(await tab.locator('main').innerText(), /What will change[^]*Plant[^]*Not set → Plant 2[^]*/)
    t.equal(await focusedFirst(tab), 'A button')
    await follow(tab, () => tab.keyboard.press('Enter'))
    t.equal((await app.inject(`/shop/orders/${id}`)).json().revision, 1, 'nothing was done')
    t.equal(await tab.locator('h1').innerText(), 'Bolts\nOpen'.replace('\n', ' '))
  })

  t.test(`back and reload send nothing again, ${name}`, needsBrowser, async t => {
    const { app, clients: [client], open } = await start(t)
    for (const title of ['Bolts', 'Nuts']) await createOrder(app, { title, client })
    const tab = await open('/shop/orders?search=bolts', options)
    const sent: string[] = []
    tab.on('request', request => { if (request.method() === 'POST') sent.push(new URL(request.url()).pathname) })
    const heading = async (): Promise<string> => await tab.locator('h1').innerText()
    const askToMove = async (): Promise<void> => {
      await tab.locator('summary', { hasText: 'Move the order' }).click()
      await tab.locator('#move-plant').selectOption({ label: 'Plant 2' })
      await press(tab, 'Move the order')
      t.equal(await heading(), 'Move the order?')
    }
    await follow(tab, () => tab.getByRole('link', { name: 'Bolts', exact: true }).click())
    await askToMove()
    if (options !== undefined) {
      await tab.reload()
      t.equal(await heading(), 'Bolts Open', 'reloaded')
      await askToMove()
    }
    const asked = sent.length
    await press(tab, 'Move the order')
    t.equal(await message(tab), 'Done: move the order.')
    if (options !== undefined) {
      await tab.goBack()
      t.equal(await heading(), 'Bolts Open', 'what is done is not asked about')
      await tab.goForward()
    }
    t.strictSame(sent.slice(asked), ['/shop/orders/1/moves'])
    await press(tab, 'Delete the order')
    await press(tab, 'Delete the order')
    t.equal(new URL(tab.url()).search, '?search=bolts&sort=-id', 'the filters of the list')
    t.match(await message(tab), /^Deleted. Its history/)
    await tab.reload()
    t.equal(sent.length, asked + 3)
  })

  t.test(`no ids to type, ${name}`, needsBrowser, async t => {
    const { app, open } = await start(t, { counts: [60, 3] })
    const tab = await open('/shop/orders', options)
    const fields = tab.getByRole('group', { name: 'Lines' })
    await tab.locator('#create-title').fill('Found')
    await tab.locator('#create-_find-client').fill('Client 6')
    if (options !== undefined) {
      await tab.locator('#create-_find-client').fill('lient 60')
      // What was typed before may be suggested until then.
      await tab.locator('datalist option[value="Client 60 (60)"]').waitFor({ state: 'attached' })
      await tab.locator('#create-_find-client').fill('Client 60 (60)')
    }
    t.equal(await fields.getByRole('row').count(), 3)
    const add = fields.getByRole('button', { name: 'Add a row' })
    await (options === undefined ? follow(tab, () => add.click()) : add.click())
    t.ok(await fields.getByRole('row').count() > 3)
    t.equal(await tab.locator('#create-title').inputValue(), 'Found', 'what was typed stays')
    await tab.getByLabel('Article, Row 3').fill('Nut')
    await tab.getByLabel('Quantity, Row 3').fill('7')
    await press(tab, 'Create the order')
    t.match(await tab.locator('main').innerText(), options === undefined ? /Client 6\n/ : /Client 60\n/)
    t.match((await app.inject('/shop/orders')).json().items[0].lines, [{ article: 'Nut', quantity: 7 }])
    await follow(tab, () => tab.locator('main dd a', { hasText: 'Client 6' }).first().click())
    await follow(tab, () => tab.getByRole('link', { name: 'Orders (1)' }).click())
    t.equal(await tab.locator('td.title').innerText(), 'Found')
  })

  t.test(`several rows, ${name}`, needsBrowser, async t => {
    const { app, clients: [client], open } = await start(t)
    for (const title of ['a', 'b', 'c']) await createOrder(app, { title, client, note: 'Fragile' })
    const tab = await open('/shop/orders?state=open&search=fragile', options)
    const filters = '?state=open&search=fragile&sort=-id'
    const choose = async (): Promise<void> => {
      await tab.getByLabel('Select a').check()
      await tab.getByLabel('Select c').check()
      await tab.getByLabel('With the selected:').selectOption({ label: 'Price the order' })
    }
    await choose()
    await tab.getByLabel('Select c').press('Enter')
    await follow(tab, () => tab.getByRole('button', { name: 'Continue' }).press('Enter'))
    t.match(await tab.locator('main').innerText(), 'Selected: 2', 'Enter in a checkbox sends nothing')
    await follow(tab, () => tab.getByRole('link', { name: 'No, go back' }).click())
    t.equal(new URL(tab.url()).search, filters, 'back to the filtered list')
    await choose()
    await press(tab, 'Continue')
    await tab.locator('#price-total').fill('9')
    await press(tab, 'Price the order')
    const result = /c Done: price the order\na Done: price the order/
    t.match(await tab.locator('ul.many').innerText(), result)
    t.strictSame(await Promise.all([1, 2, 3].map(async id => await total(app, id))), ['9.00', '0.00', '9.00'])
    await tab.reload()
    t.match(await tab.locator('ul.many').innerText(), result, 'it can be reloaded')
    await tab.goBack()
    t.match(await tab.locator('main').innerText(), 'Selected: 2', 'the page before is there, without a question')
    await tab.locator('#price-total').fill('9')
    await press(tab, 'Price the order')
    t.match(await tab.locator('ul.many').innerText(), result, 'the same form again is the same command')
    t.equal((await app.inject('/shop/orders/1')).json().revision, 2)
    await follow(tab, () => tab.getByRole('link', { name: 'Back to the list' }).click())
    t.equal(new URL(tab.url()).search, filters)
    await tab.goto(new URL('/shop/orders', tab.url()).href)
    t.equal(await tab.locator('#create-total').inputValue(), '0.00', 'the form for new orders is as ever')
  })

  t.test(`a German page in an English browser, ${name}`, needsBrowser, async t => {
    const app = await openLeases(t, memoryStorage(), { texts: [de] }, 60)
    const address = await app.listen({ port: 0 })
    const tab = await openTab(shared as Browser, options)
    t.teardown(() => tab.close())
    await tab.goto(`${address}/leases`)
    t.strictSame(
      await Promise.all(['renews', 'currency', 'months', 'tags', '_find-client'].map(async id =>
        await tab.locator(`#create-${id}`).inputValue())),
      ['true', 'EUR', '12,5', 'new\nbig', 'Client 2 (2)'], 'the defaults'
    )
    await tab.locator('#create-name').fill('Hall')
    await tab.locator('#create-rent').fill('12.500')
    await tab.locator('#create-rates').fill('1,50\n1,5\n2')
    await tab.locator('#create-steps-0-from').fill('1')
    await tab.locator('#create-steps-0-price').fill('1,5')
    await tab.locator('#create-_find-client').fill('lient 60')
    await press(tab, 'Lease anlegen')
    t.equal(await tab.locator('#create-rent-error').innerText(),
      'Rent ist nicht eindeutig: Schreiben Sie 12500 oder 12,5.')
    t.strictSame(
      await Promise.all(['rent', 'rates', 'steps-0-price', '_find-client'].map(async id =>
        await tab.locator(`#create-${id}`).inputValue())),
      ['12.500', '1,50\n1,5\n2', '1,5', 'lient 60'], 'as typed'
    )
    await tab.locator('#create-rent').fill('1234,5')
    await press(tab, 'Lease anlegen')
    t.equal(await message(tab), 'Angelegt.')
    t.match((await app.inject('/leases/1')).json(), {
      rent: 1234.5, rates: ['1.50', '1.50', '2.00'], steps: [{ from: 1, price: '1.50' }], client: 60, renews: true
    })
    await tab.goto(`${address}/leases`)
    await tab.locator('.filter > summary').click()
    await tab.getByText('Weitere Filter').click()
    await tab.locator('#filter-min-rent').fill('1.234,5')
    await press(tab, 'Anwenden')
    const { searchParams } = new URL(tab.url())
    t.strictSame([searchParams.get('min-rent'), searchParams.has('_language')], ['1234.5', false])
    t.equal(await tab.locator('#filter-min-rent').inputValue(), '1234,5')
    t.equal(await tab.locator('td.title').innerText(), 'Hall')
  })
}

t.test('what was accepted is in no form any more', needsBrowser, async t => {
  let isSignedIn = true
  const { app, clients: [client], open } = await start(t, {}, app => {
    app.addHook('onRequest', async (request, reply) => {
      if (!isSignedIn && request.method === 'POST') return await reply.redirect('/login', 303)
    })
    app.get('/login', async (_request, reply) => await reply.type('text/html').send('<!DOCTYPE html><title>In</title>'))
  })
  const { id } = await createOrder(app, { title: 'Bolts', client })
  const list = '/shop/orders'
  const tab = await open(`${list}/${id}`, scripts)
  const go = async (path: string) => await tab.goto(new URL(path, tab.url()).href)
  const unfold = async (name: string) => await tab.locator('summary', { hasText: name }).click()
  const shown = async () => [
    await tab.locator('details.create').getAttribute('open'), await tab.locator('#create-title').inputValue()
  ]

  // Sent, but not accepted: it waits for its page.
  await unfold('Price the order')
  await tab.locator('#price-total').fill('77')
  await tab.locator('#price-reason').fill('A long text')
  isSignedIn = false
  await press(tab, 'Price the order')
  isSignedIn = true

  await go(list)
  await unfold('New order')
  await tab.locator('#create-title').fill('Nuts')
  await tab.locator('#create-client').selectOption({ index: 1 })
  await press(tab, 'Create the order')
  await follow(tab, () => tab.locator('.trail').getByRole('link', { name: 'Orders' }).click())
  t.strictSame(await shown(), [null, ''], 'by the breadcrumb')
  await tab.goBack()
  await tab.goBack()
  t.strictSame(await shown(), [null, ''], 'by the button of the browser')

  await unfold('New order')
  await tab.locator('#create-title').fill('Screws')
  await follow(tab, () => tab.locator('td.title a', { hasText: 'Nuts' }).click())
  await unfold('Edit the order')
  await tab.locator('#edit-title').fill('Wing nuts')
  await press(tab, 'Save')
  t.equal(await message(tab), 'Done: edit the order.')
  await tab.goBack()
  t.equal(await tab.locator('#edit-title').inputValue(), 'Wing nuts', 'as it is now')
  await tab.goBack()
  t.equal((await shown())[1], 'Screws', 'what was not sent')

  await go(`${list}/${id}`)
  t.equal(await tab.locator('#price-reason').inputValue(), 'A long text', 'what was sent in vain')
  await press(tab, 'Price the order')
  t.equal(await message(tab), 'Done: price the order.')
  const kept = await tab.evaluate<string>('JSON.stringify({ ...sessionStorage })')
  t.match(kept, /"done":"\[\d+,\d+,\d+\]"/, 'by a number')
  t.notMatch(kept, /A long text|Wing nuts|Nuts/, 'what was accepted is not kept')
  await go(`${list}/${id}`)
  t.equal(await tab.locator('#price-reason').inputValue(), '')
  t.equal((await app.inject(`${list}?count=exact`)).json().total, 2, 'nothing is made twice')
})

t.test('in Auckland, today is today', needsBrowser, async t => {
  const now = new Date()
  // One minute past midnight there, which is yesterday in UTC.
  const { app, clients: [client], open } = await start(t, { clock: () => now })
  const day = (moment: Date) => new Intl.DateTimeFormat('en-CA', { timeZone: 'Pacific/Auckland' }).format(moment)
  const today = day(now)
  const midnight = [...Array(1500).keys()].map(minutes => new Date(now.getTime() - minutes * 60_000))
    .findLast(moment => day(moment) === today) as Date
  midnight.setUTCSeconds(0, 0)
  if (day(midnight) !== today) midnight.setTime(midnight.getTime() + 60_000)
  now.setTime(midnight.getTime())
  await createOrder(app, { title: 'Early', client, due: midnight.toISOString() })

  const tab = await open('/shop/orders', scripts)
  const options = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'Pacific/Auckland' } as const
  const shown = new Intl.DateTimeFormat('en-GB', options).format(midnight)
  t.equal(await tab.locator('td.moment').innerText(), shown)
  t.match(await tab.locator('footer').innerText(), 'Times are in Pacific/Auckland.')
  await tab.locator('.filter > summary').click()
  await tab.getByText('More filters').click()
  await tab.getByLabel('Created at from').fill(today)
  await press(tab, 'Apply')
  t.equal(new URL(tab.url()).searchParams.get('time-zone'), 'Pacific/Auckland')
  t.equal(await tab.locator('td.title').innerText(), 'Early', 'is found')
  t.equal(await tab.locator('td.moment').innerText(), shown, 'in the same zone')
  t.match(await tab.locator('.chips').innerText(), /Created at from \d+ \w+ \d{4}/)

  await follow(tab, () => tab.locator('td.title a').click())
  await tab.locator('summary', { hasText: 'Edit the order' }).click()
  const local = new Intl.DateTimeFormat('sv-SE', { ...options, dateStyle: 'short' })
  t.equal(await tab.locator('#edit-due').inputValue(), local.format(midnight).replace(' ', 'T'))
  await tab.locator('#edit-title').fill('Renamed')
  await press(tab, 'Save')
  t.equal((await app.inject('/shop/orders/1')).json().due, midnight.toISOString(), 'an untouched moment stays')
})

t.test('what was typed survives a sign-in that the host asks for', needsBrowser, async t => {
  let isSignedIn = true
  const { app, clients: [client], open } = await start(t, {}, app => {
    app.addHook('onRequest', async (request, reply) => {
      if (!isSignedIn && request.method === 'POST') return await reply.redirect('/login', 303)
    })
    app.get('/login', async (_request, reply) => {
      isSignedIn = true
      return await reply.type('text/html').send('<!DOCTYPE html><title>In</title><a href="/shop/orders/1">Go on</a>')
    })
  })
  const { id } = await createOrder(app, { title: 'Bolts', client })
  const tab = await open(`/shop/orders/${id}`, scripts)
  await tab.locator('summary', { hasText: 'Price the order' }).click()
  await tab.locator('#price-total').fill('77')
  await tab.locator('#price-reason').fill('A long text')
  isSignedIn = false
  await press(tab, 'Price the order')
  await follow(tab, () => tab.getByRole('link', { name: 'Go on' }).click())
  t.equal(await tab.locator('#price-reason').inputValue(), 'A long text')
  await press(tab, 'Price the order')
  t.equal(await total(app, id), '77.00')
  await tab.reload()
  t.equal(await tab.locator('#price-reason').inputValue(), '', 'a draft that was sent is gone')
})

t.test('words stay whole, labels in line, and nothing covers anything', needsBrowser, async t => {
  const text = Type.Optional(Type.String())
  const leases = defineFamily({
    name: 'leases',
    singular: 'lease',
    fields: Type.Object({
      id: Type.Integer(),
      title: Type.String(),
      kind: text,
      department: Type.Optional(Type.String({ description: 'The department that pays, as in the list of centres' })),
      responsible: text,
      supplier: text,
      currency: text,
      lines: Type.Array(Type.Object({ article: text, description: text, quantity: text, department: text, note: text }))
    }),
    list: ['title', 'kind', 'department', 'responsible', 'supplier', 'currency', 'createdAt', 'updatedAt'],
    create: ['title', 'kind', 'department', 'responsible', 'supplier', 'currency', 'lines']
  })
  const { app, open } = await start(t, {}, app => {
    app.register(leases, { storage: memoryStorage(), prefix: '/shop' })
  })
  const line = { article: 'Printer', description: 'With paper', quantity: 'three', department: 'Service', note: 'Back' }
  const payload = {
    title: 'Printers and copiers for the offices',
    kind: 'Maintenance',
    department: 'Information technology',
    responsible: 'Charlotte Winterbottom',
    supplier: 'Consolidated Industries',
    currency: 'EUR',
    lines: [line, line]
  }
  await app.inject({ method: 'POST', url: '/shop/leases', payload })
  const tab = await open('/shop/leases')
  const { href } = new URL('/shop/leases', tab.url())
  for (const width of [390, 800, 1280]) {
    await tab.setViewportSize({ width, height: 900 })
    for (const url of [href, `${href}/1`]) {
      await tab.goto(url)
      t.strictSame(await tab.evaluate(findBroken), [], `${url} at ${width}`)
    }
  }
  await tab.goto(href)
  await tab.locator('.create > summary').click()
  const tops = await tab.locator('.create .field > label').evaluateAll(findTops)
  t.equal(new Set(tops).size, 2, `six labels in two rows: ${tops.join(' ')}`)
  await tab.goto(`${href}/1`)
  await press(tab, 'Delete the lease')
  await press(tab, 'Delete the lease')
  const [message, button] = await Promise.all(['.message', '.create > summary'].map(async selector =>
    await tab.locator(selector).boundingBox()))
  t.ok(message !== null && button !== null && button !== undefined && message !== undefined &&
    button.y >= message.y + message.height, 'the button is below the message')
})

/** Words on two lines, and how much wider than its window the page is, if it is. */
function findBroken (): string[] {
  type Box = { textContent: string }
  const { document } = globalThis as unknown as {
    document: {
      documentElement: { scrollWidth: number, clientWidth: number }
      querySelectorAll (selector: string): Iterable<Box & {
        childNodes: Iterable<Box & { nodeType: number }>
        checkVisibility (): boolean
      }>
      createRange (): {
        setStart (node: Box, offset: number): void
        setEnd (node: Box, offset: number): void
        getClientRects (): Iterable<{ top: number }>
      }
    }
  }
  const { scrollWidth, clientWidth } = document.documentElement
  const broken = scrollWidth > clientWidth ? [`${scrollWidth - clientWidth} wider`] : []
  for (const element of document.querySelectorAll('main *')) {
    for (const node of element.checkVisibility() ? element.childNodes : []) {
      for (const { 0: word, index } of node.nodeType === 3 ? node.textContent.matchAll(/\p{L}+/gu) : []) {
        const range = document.createRange()
        range.setStart(node, index)
        range.setEnd(node, index + word.length)
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word)
      }
    }
  }
  return broken
}

function findTops (elements: unknown[]): number[] {
  return (elements as { getBoundingClientRect (): { top: number } }[]).map(each => each.getBoundingClientRect().top)
}

t.test('at every width, light and dark, in both languages', needsBrowser, async t => {
  const pages = { texts: [english, de], title: 'Shop' }
  const { app, clients: [client], open } = await start(t, { pages, counts: [60, 3] })
  const rtl = 'شركة التجارة الدولية للمواد الغذائية'
  await createOrder(app, {
    title: rtl,
    client,
    total: '9999999999999.99',
    tags: ['x'.repeat(20), 'b'],
    note: 'Papers are missing. '.repeat(200),
    lines: [{ article: 'W'.repeat(300), quantity: 1_000_000 }]
  })
  for (let index = 0; index < (isLong ? 30 : 4); index++) {
    await createOrder(app, { title: `Order ${index}`, client, total: '1234567.89' })
  }
  await app.inject({ method: 'PUT', url: '/shop/orders/1/price', payload: { total: '1.00', reason: 'r'.repeat(1500) } })
  const paths = ['/shop/', '/shop/orders', '/shop/orders?state=open&search=order', '/shop/orders/1', '/shop/clients/1',
    '/shop/orders/1/commands', '/shop/orders/99']
  // What colours, a width and a language can break; the roles and the structure are those of the other.
  const visible = ['button-name', 'color-contrast', 'document-title', 'html-has-lang', 'html-lang-valid', 'label',
    'link-name', 'scrollable-region-focusable', 'target-size', 'valid-lang']
  // Where axe looks, which takes most of the time.
  for (const [locale, colorScheme, looks, rules] of [
    ['en-GB', 'light', 390], ['de', 'dark', 1280, isLong ? undefined : visible]
  ] as const) {
    const tab = await open('/shop/', { ...scripts, locale, colorScheme, bypassCSP: true })
    for (const path of paths) {
      await tab.goto(new URL(path, tab.url()).href)
      await tab.evaluate(() => {
        type Found = { querySelectorAll (selector: string): { open: boolean }[] }
        const { document } = globalThis as unknown as { document: Found }
        for (const details of document.querySelectorAll('details:not([name])')) details.open = true
      })
      for (const width of [390, 768, 1280, 1920]) {
        await tab.setViewportSize({ width, height: 900 })
        const name = `${path} at ${width}, ${locale}, ${colorScheme}`
        const [shown, wide, broken] = await tab.evaluate(() => {
          type Box = { getClientRects (): unknown[], textContent: string }
          const { document, innerWidth } = globalThis as unknown as {
            innerWidth: number
            document: {
              documentElement: { scrollWidth: number, clientWidth: number }
              querySelectorAll (selector: string): Box[]
            }
          }
          const { scrollWidth, clientWidth } = document.documentElement
          const broken = [...document.querySelectorAll('span.number, time')]
            .filter(box => box.getClientRects().length > 1).map(box => box.textContent)
          return [innerWidth, scrollWidth - clientWidth, broken] as const
        })
        t.strictSame([shown, wide], [width, 0], `${name} is as wide as the window`)
        t.strictSame(broken, [], `${name}: numbers and times are on one line`)
        if (width === looks) t.strictSame(await findBarriers(tab, rules), [], name)
      }
    }
    await tab.close()
  }
})
