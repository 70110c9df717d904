// Makes docs/tour.png, the animation of the README, from real pages and a real answer: npm run docs:tour
import { writeFileSync } from 'node:fs'
import Fastify from 'fastify'
import type { Browser, Locator, Page } from 'playwright-core'
import { deals, html, json, memoryStorage } from '../../lib/index.js'
import type { Frame } from './apng.js'
import { animate } from './apng.js'
import { follow, openBrowser, openTab } from './open.js'

const size = { width: 960, height: 600 }
const file = new URL('../../../docs/tour.png', import.meta.url)

// Known ids and times, so that the pictures differ only where the pages do.
let now = new Date('2026-03-31T09:41:00Z')
let commands = 0
const closers: (() => Promise<unknown>)[] = []
try {
  const browser = await openBrowser({ teardown: close => { closers.push(close) } })
  const address = await serveDeal()
  const frames = await takeTour(browser, `${address}/rest/v1/deals/tea`)
  const picture = animate(frames as [Frame, ...Frame[]])
  writeFileSync(file, picture)
  console.log(`docs/tour.png: ${frames.length} pictures, ${Math.ceil(picture.length / 1024)} KB`)
} finally {
  for (const close of closers.reverse()) await close()
}

async function serveDeal (): Promise<string> {
  const app = Fastify()
  closers.push(() => app.close())
  app.register(deals.extend({ makeId: () => 'tea' }), {
    storage: memoryStorage(),
    version: 'v1',
    representations: [json, html({ title: 'Example Trading' })],
    clock: () => now,
    makeCommandId: () => `c-${++commands}`,
    authorize: () => ({ principal: 'ann' })
  })
  const payload = { name: 'Ten tons of tea', price: 12_500, completionDate: '2026-09-30' }
  await app.inject({ method: 'POST', url: '/rest/v1/deals/', payload })
  now = new Date('2026-03-31T16:05:00Z')
  await app.inject({ method: 'PUT', url: '/rest/v1/deals/tea/hold', payload: { reason: 'Papers are missing' } })
  now = new Date('2026-04-01T14:20:00Z')
  return await app.listen({ port: 0, host: '127.0.0.1' })
}

async function takeTour (browser: Browser, deal: string): Promise<Frame[]> {
  const tab = await openTab(browser, { viewport: size })
  const frames: Frame[] = []
  const show = async (caption: string, duration = 2500) =>
    frames.push({ png: await takePicture(browser, await tab.screenshot(), caption), duration })

  await tab.goto(deal)
  await show('A deal is held. The page shows what is possible now, and why the rest is not.', 3500)
  await follow(tab, () => tab.locator('form[action$="/unholds"] button').click())
  await show('Released with one click: a new revision, and different operations.')
  const form = tab.locator('form[action$="/price-changes"]')
  await openFolds(tab, form)
  await form.locator('[name="newPrice"]').fill('11900')
  await form.locator('[name="reason"]').fill('A discount was agreed on')
  await form.scrollIntoViewIfNeeded()
  await show('Each operation has its form, with a reason for the log.')
  await follow(tab, () => form.locator('button').click())
  await show('The history shows who changed what, when and why.', 3000)
  frames.push({ png: await retry(browser, deal), duration: 4500 })
  await tab.goto(`${deal}/commands`)
  await show('The log has the command once. Retries are safe.', 3500)
  return frames
}

/** The form may stand in details that are folded. */
async function openFolds (tab: Page, form: Locator): Promise<void> {
  const folds = tab.locator('details:not([open])', { has: form })
  if (await folds.count() > 0) await folds.first().locator('summary').first().click()
}

/** Sends a command twice, and draws both responses. */
async function retry (browser: Browser, deal: string): Promise<Buffer> {
  const lines: string[] = []
  for (let attempt = 1; attempt <= 2; attempt++) {
    const body = JSON.stringify({ action: 'CompleteDeal', params: { comment: 'Delivered in full' } })
    const url = `${deal}/commands/order-17-complete`
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'PUT', headers, body })
    const replayed = response.headers.get('idempotent-replayed')
    lines.push(
      `PUT ${new URL(url).pathname}`, `  ${body}`, '', `${response.status} ${response.statusText}`,
      ...(replayed === null ? [] : [`  idempotent-replayed: ${replayed}`]), ''
    )
  }
  const caption = 'Programs use the same API. A retry gets the first result.'
  return await draw(browser, `<pre>${lines.join('\n')}</pre>`, caption)
}

/** The screenshot of a page with a line of text below it. */
async function takePicture (browser: Browser, png: Buffer, caption: string): Promise<Buffer> {
  return await draw(browser, `<img src="data:image/png;base64,${png.toString('base64')}">`, caption)
}

async function draw (browser: Browser, content: string, caption: string): Promise<Buffer> {
  const tab = await openTab(browser, { viewport: { width: size.width + 4, height: size.height + 52 } })
  await tab.setContent(`<style>
    * { margin: 0; box-sizing: border-box }
    body { display: grid; grid-template-rows: ${size.height}px 48px; font: 18px system-ui, sans-serif }
    body { border: 2px solid #1d3b66; width: fit-content }
    img { display: block }
    pre { background: #111; color: #eee; padding: 3em 2em; font: 20px/1.6 monospace }
    pre { white-space: pre-wrap; overflow-wrap: anywhere }
    p { background: #1d3b66; color: #fff; padding: 0 1em; line-height: 48px }
  </style>${content}<p>${caption}</p>`)
  const png = await tab.screenshot()
  await tab.context().close()
  return png
}
