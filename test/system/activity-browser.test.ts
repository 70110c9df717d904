import type { FastifyInstance } from 'fastify'
import type { Browser, Page, Request } from 'playwright-core'
import t from 'tap'
import { memoryStorage } from '../../lib/index.js'
import { findBarriers } from '../browser/barriers.js'
import { follow, needsBrowser, openBrowser, openTab } from '../browser/open.js'
import { createOrder, openShop } from '../pages/shop.js'

const shared = needsBrowser.skip === false ? await openBrowser(t) : undefined

const scripts = { javaScriptEnabled: true, locale: 'en-GB', timezoneId: 'Pacific/Auckland' } as const

interface Started {
  readonly app: FastifyInstance
  readonly id: number
  readonly client: number
  /** The tab, once its stream is open. */
  open (path: string): Promise<Page>
}

async function start (t: { teardown (close: () => Promise<unknown>): void }): Promise<Started> {
  const { app, ids: { clients: [client = 0] } } = await openShop(t, memoryStorage(), {
    authorize: ({ headers }) => ({ principal: String(headers['x-person'] ?? 'me') }), counts: [1, 1]
  })
  const address = await app.listen({ port: 0 })
  const { id } = await createOrder(app, { title: 'Bolts', client })
  return {
    app,
    id,
    client,
    async open (path) {
      const tab = await openTab(shared as Browser, scripts)
      t.teardown(() => tab.close())
      tab.on('pageerror', error => { t.teardown(() => Promise.reject(error)) })
      tab.on('console', message => {
        if (/Content Security Policy/.test(message.text())) t.teardown(() => Promise.reject(new Error(message.text())))
      })
      await streaming(tab, () => tab.goto(address + path))
      return tab
    }
  }
}

/** Does what opens a page, and waits for its stream. */
async function streaming (tab: Page, act: () => Promise<unknown>): Promise<Request> {
  const [request] = await Promise.all([
    tab.waitForRequest(request => request.resourceType() === 'eventsource'),
    act()
  ])
  return request
}

/** Where everything is that a person could aim at. */
const findBoxes = async (tab: Page): Promise<readonly object[]> => await tab.evaluate(() => {
  type Box = { getBoundingClientRect (): { toJSON (): object } }
  const { document } = globalThis as unknown as { document: { querySelectorAll (selector: string): Box[] } }
  return [...document.querySelectorAll('body *:not(.live, .live *)')].map(box => box.getBoundingClientRect().toJSON())
})

const findColor = (element: unknown): string => {
  const { getComputedStyle } = globalThis as unknown as { getComputedStyle (element: unknown): { color: string } }
  return getComputedStyle(element).color
}

const price = async (app: FastifyInstance, id: number, total: string, person = 'Ann'): Promise<void> => {
  await app.inject({
    method: 'PUT', url: `/shop/orders/${id}/price`, headers: { 'x-person': person }, payload: { total }
  })
}

t.test('an open item says that someone else changed it', needsBrowser, async t => {
  const { app, id, open } = await start(t)
  const tab = await open(`/shop/orders/${id}`)
  const notice = tab.locator('.live p')
  t.equal(await notice.isVisible(), false)
  await tab.locator('summary', { hasText: 'Price the order' }).click()
  await tab.locator('#price-reason').fill('My own words')
  await tab.locator('summary', { hasText: 'Edit the order' }).click()
  await tab.locator('#edit-note').fill('My note')
  const boxes = await findBoxes(tab)
  await price(app, id, '200.00')
  await notice.waitFor({ state: 'visible' })
  t.equal(await notice.innerText(), 'Ann changed this a moment ago. Show it')
  t.strictSame(await findBoxes(tab), boxes, 'nothing moves')
  t.equal(await notice.evaluate(findColor), 'rgb(69, 80, 92)', 'calm')
  t.equal(await tab.locator('.live').getAttribute('aria-live'), 'polite')
  t.strictSame(await findBarriers(tab), [])
  t.equal(await tab.locator('#edit-total').inputValue(), '0.00', 'the page stays as it is')
  t.equal(await tab.locator('input[name="_revision"]').first().inputValue(), '1', 'a form is still stale')

  await streaming(tab, () => notice.getByRole('link').click())
  t.match(await tab.locator('main').innerText(), '200.00')
  t.equal(await tab.locator('#price-reason').inputValue(), 'My own words', 'what was typed is there')
  t.equal(await tab.locator('#edit-note').inputValue(), 'My note')
  t.equal(await tab.locator('#edit-total').inputValue(), '200.00', 'and the values of others in other fields')
})

t.test('the own change is not announced', needsBrowser, async t => {
  const { app, id, open } = await start(t)
  const tab = await open(`/shop/orders/${id}`)
  const notice = tab.locator('.live p')
  await tab.locator('summary', { hasText: 'Price the order' }).click()
  await tab.locator('#price-total').fill('300')
  const request = await streaming(tab, () => follow(tab, () =>
    tab.getByRole('button', { name: 'Price the order', exact: true }).click()))
  t.equal(await tab.getByRole('status').innerText(), 'Done: price the order.')
  // An event that comes later shows that none came before.
  await price(app, id, '400.00')
  await notice.waitFor({ state: 'visible' })
  t.match(await notice.innerText(), 'Ann changed this')
  const text = await app.inject({ url: new URL(request.url()).pathname + new URL(request.url()).search })
  t.equal(text.json<{ items: unknown[] }>().items.length, 1, 'the stream began after the own command')
})

t.test('a hidden page closes its stream, and misses nothing', needsBrowser, async t => {
  const { app, id, open } = await start(t)
  const tab = await open(`/shop/orders/${id}`)
  const setVisible = async (state: string) => await tab.evaluate(`
    Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)
  await Promise.all([
    tab.waitForEvent('requestfailed', request => request.resourceType() === 'eventsource'),
    setVisible('hidden')
  ])
  await price(app, id, '200.00')
  await streaming(tab, () => setVisible('visible'))
  await tab.locator('.live p').waitFor({ state: 'visible' })
  t.match(await tab.locator('.live p').innerText(), 'Ann changed this')
})

t.test('the activity counts what is new, and has the days of the reader', needsBrowser, async t => {
  const { app, id, client, open } = await start(t)
  const tab = await open('/shop/rest/commands?family=orders')
  const notice = tab.locator('.live p')
  t.strictSame(await findBarriers(tab), [])
  t.match(await tab.locator('footer').innerText(), 'Times are in Pacific/Auckland.')
  t.strictSame(await tab.locator('.days h2').allInnerTexts(), ['Today'])
  await price(app, id, '200.00')
  await createOrder(app, { title: 'Nuts', client })
  await app.inject({ method: 'POST', url: '/shop/clients', payload: { name: 'Not an order' } })
  await price(app, id, '300.00')
  await tab.locator('.live', { hasText: '3 new.' }).waitFor()
  t.equal(await notice.innerText(), '3 new. Show them')
  await streaming(tab, () => notice.getByRole('link').click())
  t.equal(await tab.locator('.timeline > li').count(), 4)
  t.equal(await notice.isVisible(), false)
})

t.test('entries move to the days of the reader', needsBrowser, async t => {
  let moment = '2026-03-10T10:30:00Z'
  const { app, ids: { clients: [client] } } = await openShop(t, memoryStorage(), {
    counts: [1, 0], clock: () => new Date(moment)
  })
  await createOrder(app, { title: 'late', client })
  moment = '2026-03-10T11:30:00Z'
  await createOrder(app, { title: 'after midnight', client })
  const address = await app.listen({ port: 0 })
  const tab = await openTab(shared as Browser, scripts)
  await tab.goto(`${address}/shop/orders/commands`)
  t.strictSame(await tab.locator('.days h2').allInnerTexts(), ['11 Mar 2026', '10 Mar 2026'])
  t.match(await tab.locator('.days section').first().innerText(), 'after midnight')
  const without = await openTab(shared as Browser)
  await without.goto(`${address}/shop/orders/commands`)
  t.strictSame(await without.locator('.days h2').allInnerTexts(), ['Today'], 'in UTC without the script')
})
