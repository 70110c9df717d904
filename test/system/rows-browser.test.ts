import type { FastifyInstance } from 'fastify'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import t from 'tap'
import { memoryStorage } from '../../lib/index.js'
import { findBarriers } from '../browser/barriers.js'
import { focusedFirst } from '../browser/forms.js'
import { follow, needsBrowser, openBrowser, openTab } from '../browser/open.js'
import { createBasket, german, openBaskets } from '../pages/baskets.js'
import { createCart, openCarts } from '../pages/carts.js'

const shared = needsBrowser.skip === false ? await openBrowser(t) : undefined

const scripts = { javaScriptEnabled: true, locale: 'en-GB', timezoneId: 'Europe/Berlin' } as const

type Test = { teardown (close: () => Promise<unknown>): void }

async function open (t: Test, app: FastifyInstance, path: string, options?: BrowserContextOptions): Promise<Page> {
  const address = await app.listen({ port: 0 })
  const tab = await openTab(shared as Browser, options)
  t.teardown(() => tab.close())
  tab.on('pageerror', error => { t.teardown(() => Promise.reject(error)) })
  tab.on('console', message => {
    if (message.text().includes('Content Security Policy')) t.teardown(() => Promise.reject(new Error(message.text())))
  })
  await tab.goto(address + path)
  return tab
}

const lines = [
  { article: 'Nut', quantity: 1, price: '0.10' }, { article: 'Bolt', quantity: 2 }, { article: 'Saw', quantity: 3 }
]

for (const [name, options] of [['without scripts', undefined], ['with the script', scripts]] as const) {
  const press = async (tab: Page, button: string): Promise<void> => {
    const found = tab.locator('details[open]').getByRole('button', { name: button, exact: true })
    await (options === undefined ? follow(tab, () => found.click()) : found.click())
  }
  const articles = async (tab: Page, form = 'create'): Promise<string[]> =>
    await tab.locator(`[id^="${form}-lines-"][id$="-article"]`).evaluateAll(inputs =>
      inputs.map(input => (input as unknown as { value: string }).value))

  t.test(`rows are added and removed, ${name}`, needsBrowser, async t => {
    const app = await openBaskets(t, memoryStorage())
    const tab = await open(t, app, '/baskets', options)
    await tab.locator('#create-name').fill('Mine')
    await tab.getByLabel('Article, Row 1').fill('Nut')
    await tab.getByLabel('Article, Row 2').fill('Bolt')
    await press(tab, 'Add a row')
    t.strictSame(await articles(tab), ['Nut', 'Bolt', ''])
    t.equal(await focusedFirst(tab), 'INPUT create-lines-2-article', 'the new row has the focus')
    await tab.keyboard.type('Saw')
    await press(tab, 'Remove row 1')
    t.strictSame(await articles(tab), ['Bolt', 'Saw'])
    t.match(await focusedFirst(tab), /^INPUT create-lines-[01]-article/, 'so has the row after one that is gone')
    t.equal(await tab.locator('#create-name').inputValue(), 'Mine')
    await press(tab, 'Add a row')
    await press(tab, 'Remove row 3')
    t.strictSame(await articles(tab), ['Bolt', 'Saw'])
    t.equal((await app.inject('/baskets')).json().items.length, 0, 'nothing is written')
    await tab.getByLabel('Pieces, Row 1').fill('0')
    await tab.getByLabel('Pieces, Row 2').fill('2')
    await follow(tab, () => tab.getByLabel('Pieces, Row 2').press('Enter'))
    await tab.getByRole('link', { name: 'Pieces, Row 1 must be at least 1.' }).click()
    const wrong = tab.getByLabel('Pieces, Row 1')
    t.equal(await wrong.getAttribute('aria-describedby'), 'create-lines-0-quantity-error', 'Enter sends the form')
    await wrong.fill('1')
    await follow(tab, () => wrong.press('Enter'))
    const [made] = (await app.inject('/baskets')).json().items
    t.strictSame(made.lines, [{ article: 'Bolt', quantity: 1 }, { article: 'Saw', quantity: 2 }])
  })

  t.test(`rows of an item are removed, ${name}`, needsBrowser, async t => {
    const app = await openBaskets(t, memoryStorage())
    const url = await createBasket(app, { lines })
    const tab = await open(t, app, url, options)
    const edit = tab.locator('summary', { hasText: 'Edit the basket' })
    const save = async (): Promise<object[]> => {
      await follow(tab, () => tab.getByRole('button', { name: 'Save', exact: true }).click())
      return (await app.inject(url)).json().lines
    }
    await edit.click()
    await press(tab, 'Remove row 3')
    await press(tab, 'Add a row')
    t.strictSame(await save(), lines.slice(0, 2), 'the last one')
    await edit.click()
    await press(tab, 'Remove row 1')
    t.strictSame(await save(), lines.slice(1, 2), 'the first one')
    await edit.click()
    for (let rows = 3; rows > 0; rows--) await press(tab, 'Remove row 1')
    t.strictSame(await save(), [], 'all')
    t.equal((await app.inject(url)).json().revision, 4)
  })

  t.test(`items are looked up in rows, ${name}`, needsBrowser, async t => {
    const app = await openCarts(t, 60)
    const tab = await open(t, app, '/carts', options)
    if (await tab.locator('details.create[open]').count() === 0) await tab.locator('.create > summary').click()
    await tab.getByLabel('Product, Row 1').fill('Product 7')
    await tab.getByLabel('Quantity, Row 1').fill('1')
    await press(tab, 'Add a row')
    const third = tab.getByLabel('Product, Row 3')
    await third.fill('duct 60')
    if (options !== undefined) {
      const option = tab.locator('#create-_find-lines-2-product-list option[value="Product 60 (p60)"]')
      await option.waitFor({ state: 'attached' })
      await third.fill('Product 60 (p60)')
    }
    await tab.getByLabel('Quantity, Row 3').fill('3')
    await press(tab, 'Remove row 2')
    await follow(tab, () => tab.getByRole('button', { name: 'Create the cart' }).click())
    t.strictSame((await app.inject('/carts')).json().items[0].lines,
      [{ product: 'p7', quantity: 1 }, { product: 'p60', quantity: 3 }])
    await follow(tab, () => tab.locator('.about table a', { hasText: 'Product 60' }).click())
    t.equal(new URL(tab.url()).pathname, '/products/p60')
  })
}

t.test('rows have no barriers, in English and German', needsBrowser, async t => {
  for (const pages of [{}, german]) {
    const app = await openBaskets(t, memoryStorage(), pages)
    const url = await createBasket(app, { lines })
    const tab = await open(t, app, url, scripts)
    for (const summary of await tab.locator('.operation > summary').all()) {
      await summary.click()
      t.strictSame(await findBarriers(tab), [])
    }
    await tab.setViewportSize({ width: 360, height: 800 })
    t.strictSame(await findBarriers(tab), [], 'on a phone')
    const width = await tab.evaluate('document.documentElement.scrollWidth')
    t.ok(Number(width) <= 360, `nothing is wider than the screen: ${String(width)}`)
  }
  const cart = await openCarts(t, 60)
  const url = await createCart(cart, { lines: [{ product: 'p1', quantity: 1 }] })
  const tab = await open(t, cart, url, scripts)
  await tab.locator('summary', { hasText: 'Edit the cart' }).click()
  t.strictSame(await findBarriers(tab), [], 'with look-ups')
})
