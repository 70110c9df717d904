import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import Fastify from 'fastify'
import t from 'tap'
import { loadFirstCustomers } from '../../examples/first-customers.js'
import { dealbook, memoryStorage } from '../../lib/index.js'
import { mcp } from '../../lib/mcp/mcp.js'
import type { Block } from '../docs/pages.js'
import { blocks, blocksIn, pages, toPattern, writeTutorial } from '../docs/pages.js'
import { unmeasured } from '../unmeasured.js'
import { hasCurl } from './packed.js'

const run = promisify(execFile)
const nameOf = ({ page, number }: Block): string => `${page}, block ${number}`

/** The block as a module; what its comment says after `ts` stands before it. */
function moduleOf ({ comment, text }: Block): string {
  return `${comment.startsWith('ts\n') ? comment.slice(3) : ''}\n${text}\nexport {}\n`
}

t.test('every ts block compiles against the package by its name', async t => {
  // Below the package's own folder, so that its name leads to what it publishes.
  const folder = resolve('build/docs')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const files = new Map(blocksIn('ts').map(block => {
    const file = join(folder, `${block.page.replace(/\W+/g, '-')}-${block.number}.ts`)
    return [file, { name: nameOf(block), text: moduleOf(block) }]
  }))
  // With stricter options than its own.
  const family = writeTutorial().get('invoices.ts') as string
  files.set(join(folder, 'docs-tutorial-invoices.ts'), { name: 'the family of the tutorial', text: family })
  for (const [file, { text }] of files) writeFileSync(file, text)
  const compilerOptions = {
    module: 'NodeNext',
    target: 'ES2023',
    lib: ['es2023', 'esnext.disposable'],
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    skipLibCheck: true
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const compiler = resolve('node_modules/typescript-native/bin/tsc')
  const compiling = run(...unmeasured(process.execPath, [compiler, '--pretty', 'false', '-p', '.']), { cwd: folder })
  const compiled = await compiling.catch((error: { stdout: string }) => {
    if (error.stdout === '') throw error
    return error
  })
  const flaws = new Map<string, string[]>()
  for (const line of compiled.stdout.split('\n').filter(line => line !== '')) {
    const [, name = 'elsewhere', flaw = line] = /^([^(]+)\(\d+,\d+\): (.*)$/.exec(line) ?? []
    const file = join(folder, name)
    flaws.set(file, [...flaws.get(file) ?? [], flaw])
  }
  t.ok(files.size > 15, `${files.size} blocks`)
  for (const [file, { name }] of files) t.strictSame(flaws.get(file) ?? [], [], name)
  t.strictSame([...flaws.keys()].filter(name => !files.has(name)), [])

  await t.test('and those that stand for themselves run', async t => {
    const place = mkdtempSync(join(tmpdir(), 'dealbook-docs-'))
    t.teardown(() => rmSync(place, { recursive: true, force: true }))
    // What is only declared is not there to be called, and a port may be taken.
    const runnable = [...files].filter(([, { text }]) => !/^declare |\.listen\(|^throw /m.test(text))
    t.ok(runnable.length > 5, `${runnable.length} blocks`)
    const each =
      'for (const file of process.argv.slice(1)) await import(file).catch(error => console.log(file, error.message))'
    const built = runnable.map(([file]) => file.replace(/\.ts$/, '.js'))
    const { stdout } = await run(
      ...unmeasured(process.execPath, ['--input-type=module', '-e', each, ...built]), { cwd: place }
    )
    for (const [file, { name }] of runnable) t.notMatch(stdout, file.replace(/\.ts$/, '.js'), name)
    t.equal(stdout.replace(/^\d+\n/gm, ''), '', 'none has failed')
  })
})

t.test('every js block runs as CommonJS', async t => {
  const folder = resolve('build/docs-cjs')
  mkdirSync(folder, { recursive: true })
  t.ok(blocksIn('js').length > 0)
  for (const block of blocksIn('js')) {
    const file = join(folder, `${block.page.replace(/\W+/g, '-')}-${block.number}.cjs`)
    writeFileSync(file, block.text)
    const { stderr } = await run(...unmeasured(process.execPath, [file]))
    t.notMatch(stderr, /Error/, nameOf(block))
  }
})

const problem = 'urn:dealbook:problem:'

t.test('every sh block runs, and shows what stands after it', { skip: !hasCurl && 'there is no curl' }, async t => {
  const app = Fastify()
  const storage = memoryStorage()
  app.register(dealbook, { storage, version: 'v1' })
  app.register(mcp)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  // The customers of the example server, which is what the pages are written for.
  await loadFirstCustomers(storage, undefined)
  t.equal(url, `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
  t.teardown(() => app.close())

  let [ran, compared] = [0, 0]
  for (const block of blocksIn('sh')) {
    // The others are what .ci/run does, or say why they cannot be run.
    if (!block.text.includes('curl')) {
      t.match(`${block.comment}\n${block.text}`, /^not run: \w|^\s*npm (ci|install|start|test|run)\b/, nameOf(block))
      continue
    }
    const { stdout } = await run('sh', [
      '-e',
      '-c',
      block.text.replaceAll('http://127.0.0.1:3000', url).replaceAll('curl ', 'curl -sS ')
    ])
    ran++
    // Only where the page shows a refusal may there be one; "curl" itself does not mind.
    if (block.next?.text.includes(problem) !== true) t.notMatch(stdout, problem, nameOf(block))
    if (/^curl/m.test(block.text)) t.not(stdout, '', nameOf(block))
    if (block.next?.language !== 'json') continue
    compared++
    t.match(JSON.parse(stdout), toPattern(JSON.parse(block.next.text)), nameOf(block))
  }
  t.ok(ran > 5 && compared > 2, `${ran} blocks ran, ${compared} were compared`)
})

t.test('every json block is JSON', async t => {
  const json = blocks.filter(({ language }) => language === 'json')
  t.ok(json.length > 3)
  for (const block of json) t.ok(JSON.parse(block.text), nameOf(block))
})

t.test('every block is in a language that is checked', async t => {
  for (const [page, text] of pages) {
    for (const [, language] of text.matchAll(/^```(\w*)\n.*?^```$/gms)) {
      t.match(language, /^(ts|js|sh|json|sql|xml|text)$/, page)
    }
  }
})
