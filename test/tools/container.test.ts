// The commands of the Dockerfile in a shell, each stage in a folder that stands for the root of its image. They install
// all packages once more: TEST_LONG=true npm run check:tools
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { readCommand, readDockerfile, readVariables, type Stage } from '../dockerfile.js'
import { isLong } from '../size.js'
import { hasSqlite, runLines } from '../system/packed.js'

const run = promisify(execFile)
const long = { skip: !isLong && 'only with TEST_LONG=true' }
const work = await mkdtemp(join(tmpdir(), 'dealbook-container-'))
t.teardown(() => rm(work, { recursive: true, force: true }))
const stages = readDockerfile()
const image = stages.at(-1) as Stage

const rootOf = (name = 'image'): string => join(work, name)
const app = join(rootOf(), 'app')
/** Paths of the image, as they are here. */
const translate = (text: string): string => text.replaceAll(/(?<![\w.])\/(?=app\b|home\b)/g, `${rootOf()}/`)

async function copy (from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, verbatimSymlinks: true })
}

async function build ({ name, instructions }: Stage): Promise<void> {
  const root = rootOf(name)
  let folder = root
  await mkdir(join(root, 'home/node'), { recursive: true })
  for (const { word, flags, text } of instructions) {
    if (word === 'WORKDIR') await mkdir(folder = join(root, text), { recursive: true })
    if (word === 'RUN') await runLines(translate(text), folder)
    if (word !== 'COPY') continue
    const [to = '', ...sources] = text.split(' ').reverse()
    for (const source of sources) {
      const from = isAbsolute(source) ? join(rootOf(flags['from']), source) : source
      // Into a folder, or as it.
      await copy(from, to.endsWith('/') ? join(folder, to, from.slice(from.lastIndexOf('/') + 1)) : join(folder, to))
    }
  }
}

async function findPort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const PORT = String(await findPort())
const variables = Object.entries(readVariables(image)).map(([name, value]) => [name, translate(value)] as const)
const environment = { ...Object.fromEntries(variables), PORT, PATH: process.env['PATH'] }

function start (env: object): ChildProcess {
  const [, ...parameters] = readCommand(image, 'CMD')
  const child = spawn(process.execPath, parameters, { cwd: app, env: { ...environment, ...env }, stdio: 'pipe' })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

async function checkHealth (): Promise<boolean> {
  const [, ...parameters] = readCommand(image, 'HEALTHCHECK')
  return await run(process.execPath, parameters, { cwd: app, env: environment }).then(() => true, () => false)
}

t.test('the commands run', long, async t => {
  for (const stage of stages) await build(stage)
  const packages = await readdir(join(app, 'node_modules'))
  t.ok(packages.length > 50, `${packages.length} packages`)
  t.notOk(packages.some(name => /^(typescript|eslint|tap)/.test(name)), 'and none for development')
})

t.test('the server starts, is healthy, and ends at once with 0', long, async t => {
  // The image has Node 22, and so SQLite.
  const server = start(hasSqlite ? {} : { STORAGE: 'memory:' })
  t.equal(await checkHealth(), false, 'not before')
  await Promise.race([once(server.stdout as NonNullable<typeof server.stdout>, 'data'), once(server, 'exit')])
  t.equal(server.exitCode, null)
  t.equal((await fetch(`http://127.0.0.1:${PORT}/customers?maxpagesize=1`)).status, 200)
  t.equal(await checkHealth(), true)
  server.kill('SIGTERM')
  t.strictSame(await once(server, 'exit'), [0, null])
  t.equal(await checkHealth(), false)
})

t.test('it has the driver of PostgreSQL', long, async t => {
  const server = start({ STORAGE: 'postgres://dealbook:dealbook@127.0.0.1:1/dealbook' })
  let said = ''
  server.stderr?.on('data', text => { said += String(text) })
  t.strictSame(await once(server, 'close'), [1, null])
  t.match(said, 'ECONNREFUSED')
})
