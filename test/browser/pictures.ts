// Pictures of every page, at two widths, light and dark: `npm run docs:pictures`, then look into the folder `pictures`.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import { csv, customers, deals, html, json, memoryStorage, ndjson, xml } from '../../lib/index.js'
import { people, storageOf } from '../customers-app.js'
import { openBrowser, openTab } from './open.js'

const folder = join(import.meta.dirname, '../../../pictures')
const prefix = '/crm'
const home = `${prefix}/rest/v1/deals`

const goods =
  ['Tea', 'Supply contract', 'Office chairs', 'Coffee, roasted', 'Paper, 80 g/m²', 'Server lease', 'Printer']

async function makeApp (): Promise<FastifyInstance> {
  const app = Fastify()
  const representations = [json, xml, html({ title: 'Example Trading' }), csv, ndjson]
  await app.register(customers, { storage: await storageOf(people(1000)), prefix, representations })
  await app.register(deals, { storage: memoryStorage(), prefix, version: 'v1', representations })
  return app
}

async function makeDeals (app: FastifyInstance): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < 40; index++) {
    const payload = {
      name: `${goods[index % goods.length]} ${2000 + index}`,
      price: Math.round(index * 12_345.67) / (index % 3 === 0 ? 1 : 100),
      ...(index % 4 === 0 ? {} : { completionDate: `2027-0${1 + index % 9}-15` })
    }
    const { id } = (await app.inject({ method: 'POST', url: home, payload })).json<{ id: string }>()
    ids.push(id)
    const act = async (verb: string, params: object) =>
      await app.inject({ method: 'PUT', url: `${home}/${id}/${verb}`, payload: params })
    if (index % 5 === 1) await act('hold', { reason: index === 36 ? 'Papers are missing. '.repeat(200) : 'Papers' })
    if (index % 5 === 2) await act('complete', {})
    if (index % 7 === 3) await act('cancel', { amercement: 250, reason: 'The customer found another supplier' })
    if (index % 6 === 4) await act('change-price', { newPrice: 990, reason: 'A discount for the second order' })
  }
  return ids
}

function listPages (ids: readonly string[]): Record<string, string> {
  const [open, held] = [ids[30], ids[36]]
  return {
    home: `${prefix}/`,
    customers: `${prefix}/customers`,
    'customers-filtered': `${prefix}/customers?min-age=30&max-children=2&sort=-age&count=exact`,
    'customers-none': `${prefix}/customers?min-age=500`,
    'customers-wrong': `${prefix}/customers?min-age=young`,
    customer: `${prefix}/customers/7`,
    deals: home,
    'deals-filtered': `${home}?name.has=supply&or.held=true&or.min-price=100&created=&status=open`,
    'deal-open': `${home}/${open}`,
    'deal-held': `${home}/${held}`,
    log: `${home}/${held}/commands`,
    'not-found': `${prefix}/customers/0`
  }
}

async function main (): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const closers: (() => Promise<unknown>)[] = []
  const app = await makeApp()
  closers.push(() => app.close())
  try {
    const pages = listPages(await makeDeals(app))
    const address = await app.listen({ port: 0 })
    const browser = await openBrowser({ teardown: close => { closers.unshift(close) } })
    for (const width of [1280, 390]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        const tab = await openTab(browser, { colorScheme, viewport: { width, height: 800 }, javaScriptEnabled: true })
        for (const [name, path] of Object.entries(pages)) {
          await tab.goto(address + path)
          await tab.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true })
        }
        await tab.context().close()
      }
    }
    console.log(`${Object.keys(pages).length * 4} pictures are in ${folder}`)
  } finally {
    for (const close of closers) await close()
  }
}

await main()
