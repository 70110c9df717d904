// The package in hosts that are compiled, or run, by tools of others.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { blocksIn, writeTutorial } from '../docs/pages.js'
import { application, commonjs } from '../system/host-sources.js'
import { flawsOf, packPackage, runIn, runLines } from '../system/packed.js'
import { bin, installTools, tools } from './installed.js'

await installTools()
const work = await mkdtemp(join(tmpdir(), 'dealbook-hosts-'))
t.teardown(() => rm(work, { recursive: true, force: true }))
const { tarball } = await packPackage(work)
const host = join(work, 'host')
await mkdir(host)
const packages = `fastify ${tarball} @types/node@20 @photostructure/sqlite pg`
await runLines(`npm init -y\nnpm install --no-audit --no-fund --prefer-offline ${packages}`, host)

t.test('it compiles with every module setting that docs/hosting.md names', async t => {
  await writeFile(join(host, 'app.mts'), application)
  await writeFile(join(host, 'app.cts'), commonjs)
  const works = ['node20', 'commonjs --moduleResolution bundler']
  for (const module of works) t.equal(await flawsOf(host, ['app.cts'], `${module} --skipLibCheck`), '', module)
  const older = await flawsOf(host, ['app.mts', 'app.cts'], 'node16 --skipLibCheck')
  t.match(older, 'error TS1479', 'by the rules of an older Node there is no way from CommonJS')
  t.notMatch(older, 'app.mts', 'but there is from modules')
})

t.test('the tutorial compiles with older versions of TypeScript', async t => {
  const files = writeTutorial()
  t.equal(files.size, 5)
  await mkdir(join(host, 'tutorial'))
  await writeFile(join(host, 'tutorial/package.json'), '{ "type": "module" }')
  for (const [file, text] of files) await writeFile(join(host, 'tutorial', file), text)
  const names = Array.from(files.keys(), file => `tutorial/${file}`)
  for (const [version, from] of [['5.9', join(tools, 'node_modules')], ['6.0', 'node_modules']] as const) {
    const compiler = join(from, 'typescript')
    t.match(await readFile(join(compiler, 'package.json'), 'utf8'), `"version": "${version}.`)
    t.equal(await flawsOf(host, names, 'nodenext --skipLibCheck', compiler), '', version)
  }
})

t.test('it runs by tsx and in Jest, in CommonJS', async t => {
  await writeFile(join(host, 'app.ts'), commonjs)
  await writeFile(join(host, 'main.ts'), `
    import { build } from './app'
    build().inject('/crm/rest/v1/invoices').then(answer => console.log(answer.statusCode))`)
  t.equal((await runIn(host, bin('tsx'), ['main.ts'])).stdout, '200\n')

  const config = blocksIn('js').find(({ comment }) => comment === 'file: jest.config.js')?.text ?? ''
  // As it would be where the host itself had installed it.
  const swc = config.replace("'@swc/jest'", JSON.stringify(join(tools, 'node_modules/@swc/jest')))
  t.not(swc, config)
  await writeFile(join(host, 'jest.config.js'), swc)
  await writeFile(join(host, 'app.test.js'), `
    const Fastify = require('fastify')
    const { default: dealbook, customers } = require('fastify-dealbook')
    const { loadItems } = require('fastify-dealbook/tools')
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
  t.match((await runIn(host, bin('jest'), ['--ci'])).stderr, 'Tests:       1 passed, 1 total')
})
