import { execFileSync, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { findFreePort } from './server.js'

const program = findProgram()
const isMissing = program === undefined && process.env['CI'] !== 'true'

/** Skips a test where there is no pgbouncer; where everything must be shown to work, that is a failure. */
export const needsPgbouncer = { skip: isMissing ? 'no pgbouncer found; it is a package of Debian' : false }

/** Whether it knows of prepared statements: from 1.21 on. */
export function hasPreparedStatements (): boolean {
  if (program === undefined) return false
  const [, major, minor] = /(\d+)\.(\d+)/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' })) ?? []
  return Number(major) > 1 || Number(minor) >= 21
}

/** Starts one in front of a database, which pools transactions over so many connections, and returns its URL. */
export async function startPgbouncer (
  t: { teardown (end: () => Promise<unknown>): void },
  target: string,
  connections: number,
  settings: readonly string[] = []
): Promise<string> {
  if (program === undefined) throw new Error('There is no pgbouncer: apt-get install pgbouncer')
  const { hostname, port: targetPort, username, password, pathname } = new URL(target)
  const folder = await mkdtemp(join(tmpdir(), 'dealbook-pgbouncer-'))
  const port = await findFreePort()
  const config = join(folder, 'pgbouncer.ini')
  await writeFile(config, [
    '[databases]',
    `app = host=${hostname} port=${targetPort} dbname=${pathname.slice(1)} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${connections}`,
    'max_client_conn = 200',
    ...settings
  ].join('\n'))
  // It refuses to run as root, and must then be able to read this as somebody else.
  const isRoot = process.getuid?.() === 0
  await chmod(folder, 0o755)
  const child = spawn(program, [...isRoot ? ['-u', 'nobody'] : [], config], { stdio: ['ignore', 'ignore', 'pipe'] })
  const log: string[] = []
  child.stderr.on('data', data => { log.push(String(data)) })
  const ended = new Promise<void>(resolve => { child.once('exit', () => { resolve() }) })
  t.teardown(async () => {
    child.kill('SIGINT')
    await ended
    await rm(folder, { recursive: true })
  })
  const url = `postgres://app@127.0.0.1:${port}/app`
  while (!await answers(url)) {
    if (child.exitCode !== null) throw new Error(`pgbouncer does not start: ${log.join('')}`)
    await delay(50)
  }
  return url
}

async function answers (connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString })
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}

function findProgram (): string | undefined {
  // Debian has it where only root looks for programs.
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders.map(folder => join(folder, 'pgbouncer')).find(path => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
