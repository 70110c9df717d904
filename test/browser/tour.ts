// Makes docs/tour.png, the animation of the README, from real pages and a real answer: npm run docs:tour
import { writeFileSync } from 'node:fs'
import Fastify from 'fastify'
import type { Browser, Locator, Page, Request } from 'playwright-core'
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
  now = new Date('2026-04-01T14:20:00Z')
  return await app.listen({ port: 0, host: '127.0.0.1' })
}

async function takeTour (browser: Browser, deal: string): Promise<Frame[]> {
  const tab = await openTab(browser, { viewport: size })
  const frames: Frame[] = []
  const show = async (caption: string, duration = 2500) =>
    frames.push({ png: await takePicture(browser, await tab.screenshot(), caption), duration })

  await tab.goto(deal)
  await show('A deal. What can be done now is a form; programs send the same to the same addresses.')
  const form = tab.locator('form[action$="/holds"]')
  await openFolds(tab, form)
  await form.locator('[name="reason"]').fill('Papers are missing')
  await form.scrollIntoViewIfNeeded()
  await show('Hold it, and say why.')
  const sent = tab.waitForRequest(request => request.method() === 'POST')
  await follow(tab, () => form.locator('button').click())
  await show('Held: another revision, and other operations are allowed.')
  await tab.goto(`${deal}/commands`)
  await show('The log: who, when, what. Written in the same commit as the deal.')
  frames.push({ png: await sendAgain(browser, await sent), duration: 4000 })
  await tab.reload()
  await show('It was replayed: the log and the deal are as before. Nothing is done twice.', 3500)
  return frames
}

/** The form may stand in details that are folded. */
async function openFolds (tab: Page, form: Locator): Promise<void> {
  const folds = tab.locator('details:not([open])', { has: form })
  if (await folds.count() > 0) await folds.first().locator('summary').first().click()
}

/** Sends what a page has sent once more, and draws the answer. */
async function sendAgain (browser: Browser, request: Request): Promise<Buffer> {
  const { 'content-type': type = '', accept = '' } = await request.allHeaders()
  const body = request.postData() ?? ''
  const answer = await fetch(request.url(), {
    method: 'POST', headers: { 'content-type': type, accept }, body, redirect: 'manual'
  })
  const lines = [
    `POST ${new URL(request.url()).pathname}`,
    ...body.split('&').map(field => `  ${field}`),
    '',
    `${answer.status} ${answer.statusText}`,
    ...['location', 'idempotent-replayed'].map(name => `  ${name}: ${answer.headers.get(name)}`)
  ]
  return await draw(browser, `<pre>${lines.join('\n')}</pre>`, 'Had the answer got lost, the same would be sent again.')
}

/** The screenshot of a page with a line of text below it. */
async function takePicture (browser: Browser, png: Buffer, caption: string): Promise<Buffer> {
  return await draw(browser, `<img src="data:image/png;base64,${png.toString('base64')}">`, caption)
}

async function draw (browser: Browser, content: string, caption: string): Promise<Buffer> {
  const tab = await openTab(browser, { viewport: { width: size.width, height: size.height + 48 } })
  await tab.setContent(`<style>
    * { margin: 0; box-sizing: border-box }
    body { display: grid; grid-template-rows: ${size.height}px 48px; font: 18px system-ui, sans-serif }
    img { display: block }
    pre { background: #111; color: #eee; padding: 3em 2em; font: 20px/1.6 monospace }
    pre { white-space: pre-wrap; overflow-wrap: anywhere }
    p { background: #1d3b66; color: #fff; padding: 0 1em; line-height: 48px }
  </style>${content}<p>${caption}</p>`)
  const png = await tab.screenshot()
  await tab.context().close()
  return png
}
