import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { unmeasured } from '../unmeasured.js'

const run = promisify(execFile)
const asModule = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`
const fileUrl = (path: string) => JSON.stringify(pathToFileURL(path))

/** Takes the package fastify away from whatever is imported afterwards. */
const withoutFastify = asModule(`
  import { register } from 'node:module'
  register(${JSON.stringify(asModule(`
    export async function resolve (specifier, context, next) {
      if (/^fastify($|\\/)/.test(specifier)) throw new Error(context.parentURL + ' asks for ' + specifier)
      return await next(specifier, context)
    }
  `))})
`)

/** Everything that the service can do, with one storage. */
const useService = `
  import { createRequire } from 'node:module'
  import { deals, memoryStorage } from 'fastify-dealbook'
  import { sqliteStorage } from 'fastify-dealbook/sqlite'
  const storage = process.argv[1] === 'memory' ? memoryStorage() : sqliteStorage({ file: process.argv[1] })
  const book = deals.service({ storage })
  const { item: { id } } = await book.create({ name: 'Tea', price: 5 }, { key: 'a' })
  const { item } = await book.run('hold', id, { reason: 'Papers' }, { command: 'b' })
  const { items } = await book.find('held=true')
  await book.get(id)
  await book.remove(id)
  const log = await book.log(id)
  const { cache } = createRequire(${fileUrl('build/lib/index.js')})
  const loaded = Object.keys(cache).filter(path => /node_modules[\\\\/]fastify[\\\\/]/.test(path))
  await storage.close()
  console.log(JSON.stringify({ revision: item.revision, found: items.length, log: log.items.length, loaded }))
`

/** Runs a module in a process of its own, which must end by itself. */
async function runModule (text: string, ...args: string[]): Promise<string> {
  const flags = ['--import', withoutFastify, '--input-type=module', '-e', text, '--', ...args]
  const { stdout } = await run(...unmeasured(process.execPath, flags), { timeout: 60_000 })
  return stdout
}

t.test('the service works where there is no Fastify, and leaves nothing open', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'dealbook-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const place of ['memory', join(folder, 'test.db')]) {
    t.same(JSON.parse(await runModule(useService, place)), { revision: 2, found: 1, log: 3, loaded: [] }, place)
  }
})

t.test('and this would notice', async t => {
  const importing = runModule(`await import(${fileUrl('build/test/deals/app.js')})`)
  await t.rejects(importing, { message: /app\.js asks for fastify/ })
})
