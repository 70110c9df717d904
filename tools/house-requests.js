// Sends single requests to an instrumented copy of the build and counts the functions they run. See house.js.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [copy, root] = process.argv.slice(2)
const { exports } = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8'))
const load = name => import(pathToFileURL(join(copy, exports[name].default)))
const Fastify = createRequire(join(root, 'package.json'))('fastify')

let trace = []
globalThis.enterFunction = file => { trace.push(file) }

const { customers, deals, memoryStorage } = await load('.')
const { sqliteStorage } = await load('./sqlite')
const { postgresStorage } = await load('./postgres')
const { startServer } = await import(pathToFileURL(join(root, 'build/test/postgres/server.js')))

/**
 * The functions that the third such request runs through: before it, statements are prepared and texts kept. The pauses
 * are for what storages do afterwards.
 */
async function follow (app, requests) {
  for (const request of requests) {
    await new Promise(resolve => setTimeout(resolve, 250))
    trace = []
    const response = await app.inject(request)
    if (response.statusCode >= 300) throw new Error(`${request.url}: ${response.statusCode} ${response.body}`)
  }
  await new Promise(resolve => setTimeout(resolve, 50))
  const folders = trace.map(dirname)
  const changes = folders.filter((folder, index) => index > 0 && folder !== folders[index - 1]).length
  return { files: new Set(trace).size, changes, calls: trace.length }
}

async function makeDeals (app, count) {
  const made = []
  for (let i = 0; i < count; i++) {
    const { headers } = await app.inject({
      method: 'POST', url: '/rest/v1/deals/', payload: { name: 'Tea', price: 100 }
    })
    made.push(headers.location)
  }
  return made
}

const folder = mkdtempSync(join(tmpdir(), 'house-'))
const postgres = await startServer()
try {
  console.log(JSON.stringify([
    ...await measurePage(), ...await measureOperation(), ...await measureItemPage(), ...await countRoutes()
  ]))
} finally {
  await postgres.dispose()
  rmSync(folder, { recursive: true, force: true })
}

async function measurePage () {
  const storage = sqliteStorage({ file: join(folder, 'customers.db') })
  const app = Fastify()
  app.register(customers, { storage })
  await app.ready()
  const now = new Date().toISOString()
  await storage.commit(Array.from({ length: 100 }, (_, index) => ({
    type: 'insert',
    family: 'customers',
    item: { id: index + 1, age: index % 90, children: index % 4, revision: 1, createdAt: now, updatedAt: now }
  })))
  const request = { url: '/customers?min-age=18&max-age=60&min-children=1' }
  const page = await follow(app, [request, request, request])
  await app.close()
  return [
    ['GET page with 3 filters on SQLite: files', page.files, '30'],
    ['GET page with 3 filters on SQLite: changes of folder', page.changes, '35'],
    ['GET page with 3 filters on SQLite: calls', page.calls, '-']
  ]
}

async function measureOperation () {
  const app = Fastify()
  app.register(deals, { storage: postgresStorage({ connectionString: postgres.url }), version: 'v1' })
  await app.ready()
  const made = await makeDeals(app, 3)
  const payload = { reason: 'Papers' }
  const hold = await follow(app, made.map(url => ({ method: 'PUT', url: `${url}/hold`, payload })))
  await app.close()
  return [
    ['PUT hold on PostgreSQL: files', hold.files, '40'],
    ['PUT hold on PostgreSQL: changes of folder', hold.changes, '70'],
    ['PUT hold on PostgreSQL: calls', hold.calls, '-']
  ]
}

async function measureItemPage () {
  const { page, asked } = await followItemPage(undefined)
  const offers = ['HoldDeal', 'CancelDeal', 'DeleteDeal']
  const named = await followItemPage({ offers })
  return [
    ['HTML page of an item: calls', page.calls, '2500'],
    ['HTML page of an item: authorize asked', asked, '2'],
    ['the same, if a grant lists its offers', named.asked, '2']
  ]
}

async function followItemPage (grant) {
  let asked = 0
  const app = Fastify()
  const authorize = () => {
    asked++
    return grant
  }
  app.register(deals, { storage: memoryStorage(), version: 'v1', authorize })
  await app.ready()
  const [url] = await makeDeals(app, 1)
  const headers = { accept: 'text/html' }
  await follow(app, [{ url, headers }, { url, headers }])
  asked = 0
  const page = await follow(app, [{ url, headers }])
  await app.close()
  return { page, asked }
}

async function countRoutes () {
  let count = 0
  const app = Fastify()
  app.addHook('onRoute', ({ method }) => { count += [method].flat().length })
  app.register(deals, { storage: memoryStorage(), version: 'v1' })
  await app.ready()
  await app.close()
  return [['routes of a deals mount', count, '350']]
}
