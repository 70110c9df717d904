// Pictures of every page, at four widths, light in English and dark in German: `npm run docs:pictures`, then look into
// the folder `pictures`.
// Those that the documentation shows are written to docs.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import type { Browser, Page } from 'playwright-core'
import { accounts } from '../../examples/accounts.js'
import { english } from '../../lib/html/index.js'
import { csv, customers, deals, html, json, memoryStorage, ndjson, xml } from '../../lib/index.js'
import { de } from '../../lib/locales/de.js'
import { people, storageOf } from '../customers-app.js'
import { submit, unfold } from './forms.js'
import { openBrowser, openTab } from './open.js'

const root = join(import.meta.dirname, '../../..')
const folder = join(root, 'pictures')
const prefix = '/crm'
const home = `${prefix}/rest/v1/deals`

const withdrawn = 'The customer found another supplier'
const goods = [
  'Tea', 'شركة التجارة الدولية', 'Supply contract', 'Office chairs', 'Coffee, roasted', 'Paper, 80 g/m²',
  'Server lease', 'Printer'
]

// Known times, so that the pictures differ only where the pages do.
let minutes = 0
let commands = 0
const start = Date.parse('2026-03-31T09:41:00Z')

async function makeApp (): Promise<FastifyInstance> {
  const app = Fastify()
  const pages = html({ title: 'Example Trading', documentation: '/documentation', texts: [english, de] })
  const shared = {
    prefix,
    representations: [json, xml, pages, csv, ndjson],
    authorize: () => ({ principal: 'ann' }),
    clock: () => new Date(start + minutes++ * 47_000),
    makeCommandId: () => `c-${++commands}`
  }
  await app.register(customers, {
    storage: await storageOf(people(1000)), prefix, representations: shared.representations
  })
  const storage = memoryStorage()
  await app.register(deals, { storage, version: 'v1', ...shared })
  await app.register(accounts, { storage, ...shared })
  return app
}

async function act (app: FastifyInstance, id: string, verb: string, payload: object): Promise<void> {
  await app.inject({ method: 'PUT', url: `${home}/${id}/${verb}`, payload })
}

async function makeDeals (app: FastifyInstance): Promise<string[]> {
  const made: string[] = []
  for (let index = 0; index < 40; index++) {
    const payload = {
      name: `${goods[index % goods.length]} ${2000 + index}`,
      price: Math.round(index * 12_345.67) / (index % 3 === 0 ? 1 : 100),
      ...(index % 4 === 0 ? {} : { completionDate: `2027-0${1 + index % 9}-15` })
    }
    const { id } = (await app.inject({ method: 'POST', url: home, payload })).json<{ id: string }>()
    made.push(id)
    if (index % 6 === 4) await act(app, id, 'change-price', { newPrice: 990, reason: 'A discount for a second order' })
    if (index % 5 === 1) {
      await act(app, id, 'hold', { reason: index === 36 ? 'Papers are missing. '.repeat(200) : 'Papers are missing' })
    }
    if (index % 5 === 2) await act(app, id, 'complete', {})
    if (index % 7 === 3) await act(app, id, 'cancel', { amercement: 250, reason: withdrawn })
  }
  return made
}

/** A picture: where it is taken, and what is done before. */
interface Picture {
  readonly path: string
  readonly prepare?: (tab: Page) => Promise<unknown>
  /** Whether scripts are off, which then is seen. */
  readonly isStill?: boolean
}

async function listPictures (app: FastifyInstance): Promise<Record<string, Picture>> {
  const made = await makeDeals(app)
  const [open, held, long, gone] = [made[34], made[26], made[36], made[29]] as [string, string, string, string]
  await act(app, held, 'commands/too-early', { action: 'CompleteDeal', params: {} })
  await app.inject({ method: 'DELETE', url: `${home}/${gone}` })
  const openAccount = async (owner: string, balance: number) => {
    const payload = { owner, balance }
    return (await app.inject({ method: 'POST', url: `${prefix}/accounts`, payload })).json<{ id: string }>().id
  }
  const [ann, bob] = [await openAccount('Ann', 12_500), await openAccount('Bob', 300)]
  const deal = `${home}/${open}`
  const fill = async (tab: Page, name: string, fields: Record<string, string>) => {
    const form = await unfold(tab, name)
    for (const [field, value] of Object.entries(fields)) {
      const control = form.locator(`[name="${field}"]`)
      if (await control.evaluate(element => (element as unknown as { tagName: string }).tagName) === 'SELECT') {
        await control.selectOption(value)
      } else {
        await control.fill(value)
      }
    }
    return form
  }
  const cancel = { amercement: '250', reason: withdrawn }
  return {
    home: { path: `${prefix}/` },
    customers: { path: `${prefix}/customers` },
    'customers-filtered': { path: `${prefix}/customers?min-age=30&max-children=2&sort=-age&count=exact` },
    'customers-none': { path: `${prefix}/customers?min-age=500&max-children=1` },
    'customers-wrong': { path: `${prefix}/customers?min-age=young` },
    customer: { path: `${prefix}/customers/7` },
    deals: { path: home },
    'deals-without-script': { path: home, isStill: true },
    'deals-filtered': { path: `${home}?name.has=supply&or.held=true&or.min-price=100&status=open` },
    'deals-filter-open': {
      path: `${home}?status=open`,
      prepare: async tab => {
        await tab.locator('.filter > summary').click()
        await tab.locator('.more > summary').click()
      }
    },
    'deals-columns-open': { path: home, prepare: tab => tab.locator('.columns > summary').click() },
    'deals-held': { path: `${home}?state=held&search=lease` },
    'deals-selected': {
      path: `${home}?state=open`,
      isStill: true,
      prepare: async tab => {
        for (const row of [0, 1]) await tab.locator('.check input').nth(row).check()
        await tab.locator('#many-operation').selectOption('change-price')
        await submit(tab.locator('#many'))
      }
    },
    'deals-create-open': { path: home, prepare: tab => tab.locator('.create > summary').click() },
    'deal-open': { path: deal },
    'deal-held': { path: `${home}/${held}` },
    'deal-long': { path: `${home}/${long}` },
    'deal-form-refused': {
      path: deal,
      isStill: true,
      prepare: async tab => {
        const form = await fill(tab, 'change-price', { reason: 'Cheaper' })
        // Not by its button, since the browser itself would see that the price is missing.
        await form.evaluate(form => { (form as unknown as { noValidate: boolean }).noValidate = true })
        await submit(form)
      }
    },
    'deal-stale': {
      path: deal,
      isStill: true,
      prepare: async tab => {
        await act(app, open, 'hold', { reason: 'Papers are missing' })
        await submit(await fill(tab, 'change-price', { newPrice: '5', reason: 'Cheaper' }))
        await act(app, open, 'unhold', {})
      }
    },
    'deal-message': {
      path: deal, prepare: async tab => await submit(await fill(tab, 'edit', { name: `Server lease ${++minutes}` }))
    },
    'deal-requests': { path: deal, prepare: tab => tab.locator('.requests > summary').click() },
    'confirm-cancel': {
      path: deal, isStill: true, prepare: async tab => await submit(await fill(tab, 'cancel', cancel))
    },
    'confirm-delete': { path: deal, isStill: true, prepare: async tab => await submit(await unfold(tab, 'delete')) },
    'confirm-transfer': {
      path: `${prefix}/accounts/${ann}`,
      isStill: true,
      prepare: async tab => await submit(await fill(tab, 'transfer-money', { to: bob, amount: '2500' }))
    },
    log: { path: `${home}/${held}/commands` },
    'log-long': { path: `${home}/${long}/commands` },
    'log-gone': { path: `${home}/${gone}/commands` },
    gone: { path: `${home}/${gone}` },
    command: { path: `${home}/${held}/commands/too-early` },
    operations: { path: `${home}/${held}/operations.html` },
    'not-found': { path: `${prefix}/customers/0` }
  }
}

async function takePictures (browser: Browser, address: string, pictures: Record<string, Picture>): Promise<void> {
  for (const width of [1280, 390, 768, 1920]) {
    for (const [colorScheme, locale] of [['light', 'en-GB'], ['dark', 'de']] as const) {
      const options = { colorScheme, locale, viewport: { width, height: 800 } }
      const tabs = [await openTab(browser, { ...options, javaScriptEnabled: true }), await openTab(browser, options)]
      for (const [name, { path, prepare, isStill = false }] of Object.entries(pictures)) {
        const tab = tabs[isStill ? 1 : 0] as Page
        await tab.goto(address + path)
        await prepare?.(tab)
        await tab.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true })
      }
      for (const tab of tabs) await tab.context().close()
    }
  }
}

/** A deal with the form of an operation, a list, and a form that others overtook, for the documentation. */
async function takeForDocs (browser: Browser, address: string, pictures: Record<string, Picture>): Promise<void> {
  const tab = await openTab(browser, { viewport: { width: 1100, height: 720 } })
  const shown = [['deal-open', 'pages'], ['deals', 'pages-list'], ['deal-stale', 'pages-stale']] as const
  for (const [name, file] of shown) {
    const { path, prepare } = pictures[name] as Picture
    await tab.goto(address + path)
    await (name === 'deal-open' ? unfold(tab, 'hold') : prepare?.(tab))
    await tab.screenshot({ path: join(root, `docs/${file}.png`) })
  }
}

const closers: (() => Promise<unknown>)[] = []
try {
  mkdirSync(folder, { recursive: true })
  const app = await makeApp()
  closers.push(() => app.close())
  const pictures = await listPictures(app)
  const address = await app.listen({ port: 0 })
  const browser = await openBrowser({ teardown: close => { closers.unshift(close) } })
  await takeForDocs(browser, address, pictures)
  await takePictures(browser, address, pictures)
  console.log(`${Object.keys(pictures).length * 8} pictures are in ${folder}, three in docs`)
} finally {
  for (const close of closers) await close()
}
