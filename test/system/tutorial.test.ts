// Does what docs/tutorial.md tells to do, block by block, in an empty folder and with the packed package.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Block } from '../docs/pages.js'
import { blocks, changeFile, toPattern, tutorial } from '../docs/pages.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { unmeasured } from '../unmeasured.js'
import { hasCurl, hasSqlite, linkPackage, packOurs, runLines, unpackPackage } from './packed.js'

const shownAddress = 'http://localhost:3000'
const shownDatabase = 'postgres://user:password@localhost/database'

t.test('the tutorial works as it stands', { skip: !hasCurl && 'there is no curl' }, async t => {
  const work = await mkdtemp(join(tmpdir(), 'dealbook-tutorial-'))
  const { tarball } = await packOurs()
  const schema = newSchema()
  const database = await postgresUrl()
  let folder = work
  let server: ChildProcess | undefined
  let address = ''
  let said = ''
  t.teardown(async () => {
    await stopServer()
    await dropSchema(schema)
    await rm(work, { recursive: true, force: true })
  })

  async function stopServer (): Promise<void> {
    if (server === undefined || server.exitCode !== null) return
    const ended = once(server, 'exit')
    server.kill()
    await ended
  }

  async function startServer (lines: string): Promise<void> {
    await stopServer()
    const script = lines.replace('node build/server', 'exec node build/server')
    const child = spawn(...unmeasured('sh', ['-e', '-c', script]), {
      cwd: folder,
      env: { ...process.env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit']
    })
    server = child
    const ended = once(child, 'exit').then(([code]) => { throw new Error(`server.js ended with ${code}`) })
    const [printed] = await Promise.race([once(child.stdout, 'data'), ended]) as [Buffer]
    ended.catch(() => {})
    // It may listen on one of the two families of addresses only.
    address = `http://localhost:${/:(\d+)\/rest\/v1\/invoices/.exec(String(printed))?.[1]}`
  }

  async function runBlock (text: string): Promise<void> {
    const lines = text.replaceAll(shownAddress, address).replaceAll(shownDatabase, database)
      // Each answer on a line of its own.
      .replaceAll('curl -s ', "curl -sS -w '\\n' ")
      .replaceAll('npx tsc', 'node node_modules/typescript/bin/tsc')
      .replaceAll(/^npm install .*\n/gm, '')
    if (/^node build\/server\.js$/m.test(lines)) await startServer(lines)
    else said = await runLines(lines, folder)
    const [, made] = /^mkdir (.+)\ncd \1$/m.exec(lines) ?? []
    if (made !== undefined) folder = join(folder, made)
    for (const [, names] of text.matchAll(/^npm install (?:--save-dev )?(.+)$/gm)) await install(names as string)
  }

  // Links are enough here: hosts.test.ts installs the tarball with npm.
  async function install (names: string): Promise<void> {
    for (const name of names.split(' ')) {
      if (name === 'fastify-dealbook') await unpackPackage(folder, tarball)
      // Later ones have SQLite of their own, as the page says.
      else if (!name.includes('sqlite') || !hasSqlite) await linkPackage(folder, name)
    }
  }

  async function writeBlock (block: Block): Promise<void> {
    const { file, text } = changeFile(block, name => readFileSync(join(folder, name), 'utf8'))
    await writeFile(join(folder, file), text.replace("schema: 'invoicing'", `schema: '${schema}'`))
  }

  const readLastAnswer = (): unknown => JSON.parse(said.trim().split('\n').at(-1) as string)

  const doBlock: Record<string, (block: Block) => Promise<void>> = {
    ts: writeBlock,
    sh: async ({ text }) => await runBlock(text),
    async json (block) {
      if (block.comment.startsWith('file: ')) return await writeBlock(block)
      t.match(readLastAnswer(), toPattern(JSON.parse(block.text)), `block ${block.number}`)
    },
    async text ({ text, number }) {
      for (const line of text.trim().split('\n')) t.match(said, line.replace(/^ℹ /, ''), `block ${number}`)
    }
  }
  const steps = blocks.filter(({ page }) => page === tutorial)
  t.ok(steps.length > 30, `${steps.length} blocks`)
  for (const step of steps) await doBlock[step.language]?.(step)
  t.same(steps.filter(({ language }) => doBlock[language] === undefined), [])
})
