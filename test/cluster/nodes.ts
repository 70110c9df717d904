// Three nodes of PostgreSQL under Patroni, with etcd, haproxy and pgbouncer: as docs/production.md says.
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { folder, hub, kill, Machine, programs, startNetwork } from './machine.js'

// Seconds. The least that Patroni takes is loop_wait + 2 × retry_timeout; its default for ttl is 30.
export const ttl = 10
const timing = { ttl, loop_wait: 2, retry_timeout: 3 }
const addresses = ['10.0.0.11', '10.0.0.12', '10.0.0.13']
const api = 8008

/** Where processes connect to. */
export const entries: Readonly<Record<string, string>> = {
  hosts: `postgres://app@${addresses.map(address => `${address}:5432`).join()}/app`,
  haproxy: `postgres://app@${hub}:5000/app`,
  pgbouncer: `postgres://app@${hub}:6000/app`
}

/** The logs are kept if this names a folder. */
export const logs = process.env['CLUSTER_LOGS'] || folder

function start (name: string, [program, parameters]: [string, string[]], env = {}): ChildProcess {
  const log = openSync(join(logs, `${name}.log`), 'a')
  const child = spawn(program, parameters, { stdio: ['ignore', log, log], env: { ...process.env, ...env } })
  child.once('error', error => { throw error })
  return child
}

/** A file or a folder of the user without rights. */
function own (path: string, text?: string): string {
  if (text === undefined) mkdirSync(path, { recursive: true, mode: 0o700 })
  else writeFileSync(path, text)
  const { uid, gid } = statSync('/var/lib/postgresql')
  chownSync(path, uid, gid)
  return path
}

/** A machine with PostgreSQL and its supervisor. */
export class Node {
  #patroni: ChildProcess | undefined

  readonly #home: string
  readonly #file: string

  constructor (readonly machine: Machine) {
    this.#home = own(join(folder, machine.name))
    this.#file = own(join(this.#home, 'patroni.json'), configurePatroni(machine, this.#home))
  }

  start (): void {
    const { machine } = this
    // With the Python of the system, whatever PATH has.
    this.#patroni = start(machine.name, machine.run(programs.patroni, [this.#file]), { PATH: '/usr/bin:/bin' })
  }

  /** To its supervisor alone. */
  signalPatroni (signal: NodeJS.Signals): void {
    kill(this.#patroni?.pid as number, signal)
  }

  /** PostgreSQL alone: its first process, whose end the others notice. */
  killPostgres (): void {
    const [pid] = readFileSync(join(this.#home, 'data/postmaster.pid'), 'utf8').split('\n')
    kill(Number(pid), 'SIGKILL')
  }

  /** One of its connections, as if it ran out of memory: PostgreSQL ends all, recovers, and goes on. */
  async crash (): Promise<void> {
    const [first] = await this.machine.find('postgres: dealbook: app app')
    if (first === undefined) throw new Error('No client is connected')
    kill(first, 'SIGKILL')
  }

  /** As a power cut would, except that the disk has all that was written to files. */
  async kill (): Promise<void> {
    await this.machine.signal('SIGKILL')
    await this.machine.untilEmpty()
  }

  async request (method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`http://${this.machine.address}:${api}${path}`, {
      method, signal: AbortSignal.timeout(30_000), ...body && { body: JSON.stringify(body) }
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text.startsWith('{') ? JSON.parse(text) : text
  }
}

/** As Patroni has it. */
interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly timeline?: number
  readonly lag?: number | 'unknown'
}

export class Cluster {
  readonly nodes: Node[] = []
  #etcd: Machine | undefined
  readonly #etcdFolder = join(folder, 'etcd')

  get machines (): Machine[] {
    return [...this.nodes.map(({ machine }) => machine), this.#etcd as Machine]
  }

  async start (): Promise<void> {
    await startNetwork()
    own(this.#etcdFolder)
    this.#etcd = await Machine.add('etcd', '10.0.0.10')
    this.startEtcd()
    for (const [index, address] of addresses.entries()) {
      this.nodes.push(new Node(await Machine.add(`n${index + 1}`, address)))
    }
    // The first is the first primary.
    this.nodes[0]?.start()
    await this.#until(members => members.some(({ role, state }) => role === 'leader' && state === 'running'))
    for (const node of this.nodes.slice(1)) node.start()
    await this.untilWhole()
    await this.#makeDatabase()
    startHaproxy()
    await untilChecked()
    startPgbouncer()
  }

  startEtcd (): void {
    const { name, address } = this.#etcd as Machine
    const url = `http://${address}:2379`
    const options = {
      'data-dir': this.#etcdFolder,
      'listen-client-urls': url,
      'advertise-client-urls': url,
      'listen-peer-urls': 'http://127.0.0.1:2380',
      'enable-v2': 'true'
    }
    const flags = Object.entries(options).map(([option, value]) => `--${option}=${value}`)
    start(name, (this.#etcd as Machine).run(programs['etcd-server'], flags), { ETCD_UNSUPPORTED_ARCH: process.arch })
  }

  async stopEtcd (): Promise<void> {
    await this.#etcd?.signal('SIGKILL')
    await this.#etcd?.untilEmpty()
  }

  async #makeDatabase (): Promise<void> {
    const { machine: { address } } = await this.findPrimary()
    const client = new pg.Client(`postgres://postgres@${address}:5432/postgres`)
    await client.connect()
    await client.query('CREATE ROLE app LOGIN')
    await client.query('CREATE DATABASE app OWNER app')
    await client.end()
  }

  async readMembers (): Promise<readonly Member[]> {
    const answers = this.nodes.map(node => node.request('GET', '/cluster'))
    return (await Promise.any(answers) as { members: Member[] }).members
  }

  async #until (holds: (members: readonly Member[]) => boolean): Promise<void> {
    for (const deadline = performance.now() + 90_000; ; await delay(200)) {
      const members = await this.readMembers().catch(() => [])
      if (holds(members)) return
      if (performance.now() > deadline) throw new Error(`The cluster is not whole: ${JSON.stringify(members)}`)
    }
  }

  /** Every node is there, and has all that the primary has; commits wait for one of them. */
  async untilWhole (): Promise<void> {
    await this.#until(members => {
      const leader = members.find(({ role }) => role === 'leader')
      return members.length === addresses.length &&
        members.some(({ role }) => role === 'sync_standby') &&
        members.every(({ role, state, timeline, lag = 0 }) =>
          timeline === leader?.timeline && Number(lag) < 1e6 && /^(running|streaming)$/.test(state) &&
          /^(leader|sync_standby|replica)$/.test(role))
    })
  }

  async #findNode (role: string): Promise<Node> {
    const name = (await this.readMembers()).find(member => member.role === role)?.name
    const found = this.nodes.find(({ machine }) => machine.name === name)
    if (found === undefined) throw new Error(`No node is ${role}`)
    return found
  }

  async findPrimary (): Promise<Node> {
    return await this.#findNode('leader')
  }

  async findStandby (): Promise<Node> {
    return await this.#findNode('sync_standby')
  }

  /** Whether a primary goes on without etcd, as long as it reaches all other nodes. */
  async setFailsafe (isOn: boolean): Promise<void> {
    await (await this.findPrimary()).request('PATCH', '/config', { failsafe_mode: isOn })
    // All nodes take it over in their next rounds.
    await delay(timing.loop_wait * 2000)
  }
}

function configurePatroni ({ name, address }: Machine, home: string): string {
  const user = (username: string) => ({ username })
  const sockets = own(join(home, 'sockets'))
  return JSON.stringify({
    scope: 'dealbook',
    name,
    restapi: { listen: `${address}:${api}`, connect_address: `${address}:${api}` },
    etcd: { host: '10.0.0.10:2379' },
    watchdog: { mode: 'off' },
    bootstrap: {
      dcs: {
        ...timing,
        synchronous_mode: true,
        failsafe_mode: false,
        postgresql: {
          use_pg_rewind: true,
          // A primary without its peers stops after this time, and can then be read as a standby.
          parameters: { wal_keep_size: '128MB', max_connections: 150, wal_sender_timeout: '3s' }
        }
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums']
    },
    postgresql: {
      listen: `${address}:5432`,
      connect_address: `${address}:5432`,
      data_dir: join(home, 'data'),
      bin_dir: programs.postgresql,
      pgpass: join(home, 'pgpass'),
      use_unix_socket: true,
      authentication: { superuser: user('postgres'), replication: user('replicator') },
      pg_hba: ['local all all trust', 'host all all 10.0.0.0/24 trust', 'host replication all 10.0.0.0/24 trust'],
      // fsync stays on: the files are in memory, so that it costs nothing here.
      parameters: { shared_buffers: '16MB', unix_socket_directories: sockets, log_checkpoints: 'off' }
    }
  }, undefined, 2)
}

function startHaproxy (): void {
  const file = join(folder, 'haproxy.cfg')
  const servers = addresses.map((address, index) => `  server n${index + 1} ${address}:5432 check port ${api}`)
  writeFileSync(file, [
    'global',
    '  maxconn 1000',
    'defaults',
    '  mode tcp',
    '  timeout connect 4s',
    '  timeout client 30m',
    '  timeout server 30m',
    '  timeout check 2s',
    'listen primary',
    `  bind ${hub}:5000`,
    '  option httpchk OPTIONS /primary',
    '  http-check expect status 200',
    // As in the documentation of Patroni: for some seconds, clients still reach a demoted primary.
    '  default-server inter 3s fall 3 rise 2 on-marked-down shutdown-sessions',
    ...servers,
    ''
  ].join('\n'))
  start('haproxy', [programs.haproxy, ['-db', '-f', file]])
}

/** Until its first checks, haproxy takes each server for a primary, one after the other. */
async function untilChecked (): Promise<void> {
  for (let primaries = 0; primaries < addresses.length * 2; await delay(100)) {
    const client = new pg.Client(entries['haproxy'])
    client.on('error', () => {})
    const isPrimary = await client.connect()
      .then(() => client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby'))
      .then(({ rows }) => rows[0]?.standby === false, () => false)
    primaries = isPrimary ? primaries + 1 : 0
    await client.end().catch(() => {})
  }
}

function startPgbouncer (): void {
  const file = own(join(own(join(folder, 'pgbouncer')), 'pgbouncer.ini'), [
    '[databases]',
    `app = host=${hub} port=5000 dbname=app user=app`,
    '[pgbouncer]',
    `listen_addr = ${hub}`,
    'listen_port = 6000',
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 20',
    'max_client_conn = 200',
    'server_login_retry = 1',
    'server_connect_timeout = 3',
    'query_wait_timeout = 10',
    ''
  ].join('\n'))
  start('pgbouncer', [programs.pgbouncer, ['-u', 'postgres', file]])
}
