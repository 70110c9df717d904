import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { application, commonjs } from './host-sources.js'
import { flawsOf, hasSqlite, linkPackage, makeHost, packOurs, runIn } from './packed.js'

const work = await mkdtemp(join(tmpdir(), 'dealbook-package-'))
t.teardown(() => rm(work, { recursive: true, force: true }))
const { tarball, paths } = await packOurs()
const host = join(work, 'host')
await makeHost(host, tarball, ['fastify', 'typebox', '@types/node'])

async function node (file: string, text: string): Promise<{ stdout: string, stderr: string }> {
  await writeFile(join(host, file), text)
  return await runIn(host, process.execPath, [file])
}

t.test('the package holds the library, its sources and its documentation, and nothing else', async t => {
  for (const path of ['build/lib/index.js', 'build/lib/index.d.ts']) t.ok(paths.includes(path), path)
  const others = paths.filter(path => !/^(build\/lib|lib|docs|examples)\//.test(path)).sort()
  t.strictSame(others, [
    'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md', 'bench/README.md', 'package.json'
  ])
})

t.test('what its pages link to is in it, and what its source maps name', async t => {
  const missing: string[] = []
  let links = 0
  for (const page of paths.filter(path => path.endsWith('.md') && path !== 'bench/README.md')) {
    // Not the code, in which there may be anything.
    const text = (await readFile(page, 'utf8')).replace(/^```.*?^```$|`[^`\n]*`/gms, '`…`')
    for (const [, link] of text.matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g) as Iterable<[string, string]>) {
      if (/^[a-z]+:/.test(link)) continue
      const target = join(dirname(page), link)
      if (!paths.some(path => path === target || path.startsWith(`${target}/`))) missing.push(`${page}: ${link}`)
      links++
    }
  }
  t.ok(links > 60, `${links} links`)
  const maps = paths.filter(path => path.endsWith('.map'))
  t.ok(maps.length > 100, `${maps.length} source maps`)
  for (const map of maps) {
    const { sources } = JSON.parse(await readFile(map, 'utf8')) as { sources: string[] }
    missing.push(...sources.filter(source => !paths.includes(join(dirname(map), source))))
  }
  t.strictSame(missing, [])
})

t.test('without a driver it says what to install', async t => {
  const postgres = await node('postgres.mjs', `
    import { postgresStorage } from 'fastify-dealbook/postgres'
    const storage = postgresStorage({ connectionString: 'postgres://localhost/none' })
    await storage.prepare({ name: 'things', fields: [], indexes: [] }).catch(error => console.log(error.message))`)
  t.equal(postgres.stdout, 'PostgreSQL needs the package pg: npm install pg\n')
  const sqlite = await node('sqlite.mjs', application)
  if (hasSqlite) t.equal(sqlite.stdout, '200\n')
  else {
    t.match(
      sqlite.stderr,
      'SQLite needs Node 22.13 or later, or the package @photostructure/sqlite: npm install @photostructure/sqlite'
    )
  }
})

t.test('its types are right, in modules and in CommonJS, with no driver installed', async t => {
  await writeFile(join(host, 'app.mts'), application + `
    import { postgresStorage } from 'fastify-dealbook/postgres'
    import { storageConformance } from 'fastify-dealbook/conformance'
    import { de } from 'fastify-dealbook/locales/de'
    import { mcp } from 'fastify-dealbook/mcp'
    import { english, type Texts } from 'fastify-dealbook/pages'
    import { consume, prune } from 'fastify-dealbook/tools'
    import { makeWebhooks, type WebhookSettings } from 'fastify-dealbook/webhooks'
    const settings: WebhookSettings = { timeout: 1000 }
    app.register(mcp, { prefix: '/crm' }).register(makeWebhooks(settings), { storage })
    await consume(storage, { name: 'mailer', families: [invoices], handler: ({ invoice }) => invoice })
    await prune(storage, { before: '2030-01-31' })
    export const texts: Texts = english
    export { de, postgresStorage, storageConformance }`)
  await writeFile(join(host, 'app.cts'), commonjs)
  for (const type of ['mts', 'cts']) {
    const text = await readFile(join(host, `app.${type}`), 'utf8')
    const faulty = text.replace('=> !invoice.paid', '=> !invoice.piad')
    await writeFile(join(host, `faulty.${type}`), faulty)
  }
  // Once with the types of all packages: however they are imported, they are the same.
  const all = ['app.mts', 'app.cts', 'faulty.mts', 'faulty.cts']
  const flaws = await flawsOf(host, all, 'nodenext --skipLibCheck false')
  const found = flaws.split('\n').filter(line => /^\S/.test(line)).map(line => line.replace(/\(.*/, ''))
  t.strictSame([...new Set(found)].sort(), ['faulty.cts', 'faulty.mts'], flaws)
  for (const type of ['mts', 'cts']) t.match(flaws, new RegExp(`faulty\\.${type}.*'piad'`))
})

t.test('it runs in CommonJS', async t => {
  const { stdout, stderr } = await node('app.js', `
    const Fastify = require('fastify')
    const { customers, memoryStorage } = require('fastify-dealbook')
    const { loadItems } = require('fastify-dealbook/tools')
    const app = Fastify()
    const storage = memoryStorage()
    app.register(customers, { storage })
    loadItems(storage, customers, [{ id: 1, age: 30, children: 2 }])
      .then(() => app.inject('/customers?min-age=30&fields=id,age'))
      .then(answer => console.log(JSON.stringify(answer.json().items)))`)
  t.equal(stdout, '[{"id":1,"age":30}]\n', stderr)
})

t.test('schemas of another package are refused', async t => {
  const { stdout, stderr } = await node('another.mjs', `
    import { Type } from 'typebox'
    import { defineFamily } from 'fastify-dealbook'
    const fields = Type.Object({ id: Type.Integer(), text: Type.Optional(Type.String()) })
    try { defineFamily({ name: 'notes', singular: 'note', fields }) } catch (error) { console.log(error.message) }`)
  t.match(stdout, /fields comes from the package "typebox" \(1\.x\); import Type from fastify-dealbook/, stderr)
})

t.test('what takes long is read in a thread, whose file is in the package', async t => {
  if (!hasSqlite) await linkPackage(host, '@photostructure/sqlite')
  const { stdout, stderr } = await node('heavy.mjs', `
    import { customers } from 'fastify-dealbook'
    import { loadItems } from 'fastify-dealbook/tools'
    import { sqliteStorage } from 'fastify-dealbook/sqlite'
    let threads = 0
    process.on('worker', () => { threads++ })
    const storage = sqliteStorage({ file: 'heavy.db' })
    await loadItems(storage, customers, Array.from({ length: 5000 }, (_, n) => ({ id: n + 1, age: 1, children: 1 })))
    const { items } = await customers.service({ storage }).find('', { sort: '-updatedAt,-id', limit: 1 })
    console.log(items[0].id, threads)`)
  t.equal(stdout, '5000 1\n', stderr)
})

t.test('nothing ran at its installation', async t => {
  const { scripts } = JSON.parse(
    await readFile(join(host, 'node_modules/fastify-dealbook/package.json'), 'utf8')
  ) as { scripts: Record<string, string> }
  for (const script of ['preinstall', 'install', 'postinstall', 'prepare']) t.notOk(scripts[script], script)
})
