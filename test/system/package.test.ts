import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { blocksIn } from '../docs/pages.js'
import { unmeasured } from '../unmeasured.js'
import { hasSqlite, packPackage, runLines } from './packed.js'
import { bin, installTools, tools } from './tools.js'

const run = promisify(execFile)
const tsc = resolve('node_modules/typescript/bin/tsc')

const work = await mkdtemp(join(tmpdir(), 'dealbook-package-'))
t.teardown(() => rm(work, { recursive: true, force: true }))
const { tarball, paths } = await packPackage(work)

async function node (host: string, file: string, text: string): Promise<{ stdout: string, stderr: string }> {
  await writeFile(join(host, file), text)
  return await run(...unmeasured(process.execPath, [file]), { cwd: host })
    .catch((error: { stdout: string, stderr: string }) => error)
}

/** What the compiler says to files in a host. */
async function flawsOf (host: string, files: string[], module: string): Promise<string> {
  const options = `--noEmit --strict --target es2023 --module ${module} --types node`.split(' ')
  const said = await run(...unmeasured(process.execPath, [tsc, ...options, ...files]), { cwd: host }).catch(
    (error: { stdout: string, stderr: string }) => error
  )
  return said.stdout + said.stderr
}

// An application as a host writes it, in modules.
const application = `
import Fastify from 'fastify'
import { defineFamily, Type } from 'fastify-dealbook'
import { sqliteStorage } from 'fastify-dealbook/sqlite'

const invoices = defineFamily({
  name: 'invoices',
  singular: 'invoice',
  fields: Type.Object({ id: Type.Integer(), total: Type.Number(), paid: Type.Boolean({ default: false }) }),
  create: ['total'],
  operations: {
    pay: {
      name: 'pay', verb: 'pay', participle: 'paid', noun: 'payments', action: 'PayInvoice',
      params: Type.Object({ on: Type.String({ format: 'date' }) }),
      allowed: invoice => !invoice.paid,
      apply: invoice => ({ ...invoice, paid: true })
    }
  }
})
const storage = sqliteStorage({ file: 'invoices.db' })
const app = Fastify()
app.register(invoices, { storage, version: 'v1' })
console.log((await app.inject('/rest/v1/invoices')).statusCode)
await storage.close()
`

// With types, a family of its own and every way to register, as a CommonJS host writes it.
const commonjs = `
import Fastify from 'fastify'
import dealbook, { defineFamily, memoryStorage, Type } from 'fastify-dealbook'
import type { Static } from 'fastify-dealbook'
import { sqliteStorage } from 'fastify-dealbook/sqlite'

const fields = Type.Object({ id: Type.Integer(), total: Type.Number(), paid: Type.Boolean({ default: false }) })
export type Invoice = Static<typeof fields>
const invoices = defineFamily({
  name: 'invoices',
  singular: 'invoice',
  fields,
  create: ['total'],
  operations: {
    pay: {
      name: 'pay', verb: 'pay', participle: 'paid', noun: 'payments', action: 'PayInvoice',
      params: Type.Object({}),
      allowed: invoice => !invoice.paid,
      apply: invoice => ({ ...invoice, paid: true })
    }
  }
})

export function build () {
  const app = Fastify()
  const storage = memoryStorage()
  app.register(invoices, { storage, prefix: '/crm', version: 'v1' })
  app.register(dealbook, { storage, prefix: '/crm', version: 'v1' })
  app.register(import('fastify-dealbook'), { storage, prefix: '/other', version: 'v1' })
  return app
}
export { sqliteStorage }
`

t.test('the package holds the library, its sources and its documentation, and nothing else', async t => {
  for (const path of ['build/lib/index.js', 'build/lib/index.d.ts']) t.ok(paths.includes(path), path)
  const others = paths.filter(path => !/^(build\/lib|lib|docs|examples)\//.test(path)).sort()
  t.strictSame(others, [
    'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md', 'bench/README.md', 'package.json'
  ])
})

t.test('what its pages link to is in it, and what its source maps name', async t => {
  let links = 0
  for (const page of paths.filter(path => path.endsWith('.md') && path !== 'bench/README.md')) {
    // Not the code, in which there may be anything.
    const text = (await readFile(page, 'utf8')).replace(/^```.*?^```$|`[^`\n]*`/gms, '`…`')
    for (const [, link] of text.matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g) as Iterable<[string, string]>) {
      if (/^[a-z]+:/.test(link)) continue
      const target = join(dirname(page), link)
      t.ok(paths.some(path => path === target || path.startsWith(`${target}/`)), `${page} links to ${link}`)
      links++
    }
  }
  t.ok(links > 60, `${links} links`)
  const maps = paths.filter(path => path.endsWith('.map'))
  t.ok(maps.length > 100, `${maps.length} source maps`)
  for (const map of maps) {
    const { sources } = JSON.parse(await readFile(map, 'utf8')) as { sources: string[] }
    for (const source of sources) t.ok(paths.includes(join(dirname(map), source)), `${map} names ${source}`)
  }
})

t.test('it works in a host that has installed it', async t => {
  const host = join(work, 'host')
  await mkdir(host)
  const packages = `fastify fastify-dealbook @types/node@20 ${resolve('node_modules/typebox')}`
  await runLines(`npm init -y\nnpm install ${packages}`, host, tarball)

  await t.test('without a driver it says what to install', async t => {
    const postgres = await node(host, 'postgres.mjs', `
      import { postgresStorage } from 'fastify-dealbook/postgres'
      const storage = postgresStorage({ connectionString: 'postgres://localhost/none' })
      await storage.prepare({ name: 'things', fields: [], indexes: [] }).catch(error => console.log(error.message))`)
    t.equal(postgres.stdout, 'PostgreSQL needs the package pg: npm install pg\n')
    const sqlite = await node(host, 'sqlite.mjs', application)
    if (hasSqlite) t.equal(sqlite.stdout, '200\n')
    else {
      t.match(
        sqlite.stderr,
        'SQLite needs Node 22.13 or later, or the package @photostructure/sqlite: npm install @photostructure/sqlite'
      )
    }
  })

  await t.test('its types are right, in modules and in CommonJS, with no driver installed', async t => {
    await writeFile(join(host, 'app.mts'), application + `
      import { postgresStorage } from 'fastify-dealbook/postgres'
      import { storageConformance } from 'fastify-dealbook/conformance'
      export { postgresStorage, storageConformance }`)
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
    const works = ['node20', 'commonjs --moduleResolution bundler']
    for (const module of works) t.equal(await flawsOf(host, ['app.cts'], `${module} --skipLibCheck`), '', module)
    const older = await flawsOf(host, ['app.mts', 'app.cts'], 'node16 --skipLibCheck')
    t.match(older, 'error TS1479', 'by the rules of an older Node there is no way from CommonJS')
    t.notMatch(older, 'app.mts', 'but there is from modules')
  })

  await t.test('it runs in CommonJS', async t => {
    const { type = 'commonjs' } = JSON.parse(await readFile(join(host, 'package.json'), 'utf8')) as { type?: string }
    t.equal(type, 'commonjs')
    const { stdout, stderr } = await node(host, 'app.js', `
      const Fastify = require('fastify')
      const { customers, loadItems, memoryStorage } = require('fastify-dealbook')
      const app = Fastify()
      const storage = memoryStorage()
      app.register(customers, { storage })
      loadItems(storage, customers, [{ id: 1, age: 30, children: 2 }])
        .then(() => app.inject('/customers?min-age=30&fields=id,age'))
        .then(answer => console.log(JSON.stringify(answer.json().items)))`)
    t.equal(stdout, '[{"id":1,"age":30}]\n', stderr)
  })

  await t.test('schemas of another package are refused', async t => {
    const { stdout, stderr } = await node(host, 'another.mjs', `
      import { Type } from 'typebox'
      import { defineFamily } from 'fastify-dealbook'
      const fields = Type.Object({ id: Type.Integer(), text: Type.Optional(Type.String()) })
      try { defineFamily({ name: 'notes', singular: 'note', fields }) } catch (error) { console.log(error.message) }`)
    t.match(stdout, /fields is made by the package "typebox" \(1\.x\); take Type from fastify-dealbook/, stderr)
  })

  if (!hasSqlite) await runLines('npm install @photostructure/sqlite', host, tarball)

  await t.test('it runs by tsx and in Jest, in CommonJS', async t => {
    await installTools()
    await writeFile(join(host, 'app.ts'), commonjs)
    await writeFile(join(host, 'main.ts'), `
      import { build } from './app'
      build().inject('/crm/rest/v1/invoices').then(answer => console.log(answer.statusCode))`)
    t.equal((await run(...unmeasured(bin('tsx'), ['main.ts']), { cwd: host })).stdout, '200\n')

    const config = blocksIn('js').find(({ comment }) => comment === 'file: jest.config.js')?.text ?? ''
    // As it would be where the host itself had installed it.
    const swc = config.replace("'@swc/jest'", JSON.stringify(join(tools, 'node_modules/@swc/jest')))
    t.not(swc, config)
    await writeFile(join(host, 'jest.config.js'), swc)
    await writeFile(join(host, 'app.test.js'), `
      const Fastify = require('fastify')
      const { default: dealbook, customers, loadItems } = require('fastify-dealbook')
      const { sqliteStorage } = require('fastify-dealbook/sqlite')
      test('a customer', async () => {
        const storage = sqliteStorage({ file: 'jest.db' })
        const people = Array.from({ length: 5000 }, (_, n) => ({ id: n + 1, age: 1, children: 1 }))
        await loadItems(storage, customers, people)
        const app = Fastify()
        app.register(dealbook, { storage, version: 'v1' })
        const answer = await app.inject('/customers?sort=-children,-id&maxpagesize=1&fields=id')
        expect(answer.json().items).toEqual([{ id: 5000 }])
        await app.close()
        await storage.close()
      })`)
    const jest = await run(...unmeasured(bin('jest'), ['--ci']), { cwd: host })
      .catch((error: { stderr: string }) => error)
    t.match(jest.stderr, 'Tests:       1 passed, 1 total')
  })

  await t.test('what takes long is read in a thread, whose file is in the package', async t => {
    const { stdout, stderr } = await node(host, 'heavy.mjs', `
      import { customers, loadItems } from 'fastify-dealbook'
      import { sqliteStorage } from 'fastify-dealbook/sqlite'
      let threads = 0
      process.on('worker', () => { threads++ })
      const storage = sqliteStorage({ file: 'heavy.db' })
      await loadItems(storage, customers, Array.from({ length: 5000 }, (_, n) => ({ id: n + 1, age: 1, children: 1 })))
      const { items } = await customers.service({ storage }).find('', { sort: '-updatedAt,-id', limit: 1 })
      console.log(items[0].id, threads)`)
    t.equal(stdout, '5000 1\n', stderr)
  })

  await t.test('nothing ran at its installation', async t => {
    const { scripts } = JSON.parse(
      await readFile(join(host, 'node_modules/fastify-dealbook/package.json'), 'utf8')
    ) as { scripts: Record<string, string> }
    for (const script of ['preinstall', 'install', 'postinstall', 'prepare']) t.notOk(scripts[script], script)
  })
})
