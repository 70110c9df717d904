// A machine of its own within this one: its processes, networks and files are gone when its first process ends.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isLong } from '../size.js'
import { unmeasured } from '../unmeasured.js'

const execute = promisify(execFile)

/** Where each program is, by its package of Debian. Not by PATH: Patroni needs the Python of the system. */
export const programs = {
  'etcd-server': '/usr/bin/etcd',
  patroni: '/usr/bin/patroni',
  haproxy: '/usr/sbin/haproxy',
  pgbouncer: '/usr/sbin/pgbouncer',
  nftables: '/usr/sbin/nft',
  iproute2: '/usr/bin/ip',
  'util-linux': '/usr/bin/unshare',
  postgresql: findPostgres()
}

/** Skips a test where there is no cluster to be had. */
export const needsCluster = { skip: whyNot() }

function whyNot (): string | false {
  if (!isLong) return 'only in npm run test:long'
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'networks need root on Linux'
  const missing = Object.entries(programs).filter(([, path]) => !existsSync(path)).map(([name]) => name)
  return missing.length > 0 && `packages of Debian are missing: ${missing.join(' ')}`
}

/** The folder of its programs. */
function findPostgres (): string {
  const versions = '/usr/lib/postgresql'
  const [newest] = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : []
  return join(versions, newest ?? 'missing', 'bin')
}

/** All files of the cluster, in memory. */
export const folder = '/run/cluster'

// The shell collects processes that have lost their parent: PostgreSQL takes one that waits for that for a running one.
const begin = `mount -t tmpfs none /run && mkdir ${folder} && "$@"; exit $?`

/** Runs a program of Node in such a machine. It ends with its standard input. */
export function enclose (file: string, parameters: readonly string[]): ChildProcess {
  const namespaces = ['--net', '--mount', '--pid', '--mount-proc', '--fork', '--kill-child=SIGKILL']
  const [program, rest] = unmeasured(process.execPath, [file, ...parameters])
  return spawn(programs['util-linux'], [...namespaces, 'bash', '-c', begin, 'bash', program, ...rest], {
    stdio: ['pipe', 'pipe', 'inherit']
  })
}

export const hub = '10.0.0.1'

/** A machine in the network of the hub, where programs can be started. */
export class Machine {
  readonly device: string

  private constructor (readonly name: string, readonly address: string) {
    this.device = `to-${name}`
  }

  static async add (name: string, address: string): Promise<Machine> {
    const machine = new Machine(name, address)
    await ip('netns', 'add', name)
    await ip('link', 'add', machine.device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
    await ip('link', 'set', machine.device, 'master', 'hub', 'up')
    await ip('-n', name, 'address', 'add', `${address}/24`, 'dev', 'eth0')
    await ip('-n', name, 'link', 'set', 'eth0', 'up')
    await ip('-n', name, 'link', 'set', 'lo', 'up')
    return machine
  }

  /** A program and its parameters, for `spawn`, as a user without rights. */
  run (program: string, parameters: readonly string[]): [program: string, parameters: string[]] {
    const asUser = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups']
    return [programs.iproute2, ['netns', 'exec', this.name, ...asUser, program, ...parameters]]
  }

  /** To every process on it. */
  async signal (signal: NodeJS.Signals): Promise<void> {
    for (const pid of await this.#list()) kill(pid, signal)
  }

  /** Processes whose title begins so. */
  async find (title: string): Promise<number[]> {
    return (await this.#list()).filter(pid => readTitle(pid).startsWith(title))
  }

  /** Waits until no process is left. */
  async untilEmpty (): Promise<void> {
    while ((await this.#list()).length > 0) await promisify(setTimeout)(20)
  }

  async #list (): Promise<number[]> {
    const { stdout } = await execute(programs.iproute2, ['netns', 'pids', this.name])
    return stdout.split('\n').filter(Boolean).map(Number)
  }

  /** As if its cable were taken out. */
  async setPlugged (isPlugged: boolean): Promise<void> {
    await ip('link', 'set', this.device, isPlugged ? 'up' : 'down')
  }

  /** Packets from and to these addresses vanish, or all of them. */
  async silence (addresses?: readonly string[]): Promise<void> {
    const set = addresses && `{ ${addresses.join(', ')} }`
    const chain = (hook: string, direction: string): string => `chain ${hook} {
      type filter hook ${hook} device "${this.device}" priority 0; policy accept;
      ${set === undefined ? '' : `ip ${direction} ${set} `}drop
    }`
    await nft(`table netdev ${this.name} {\n${chain('ingress', 'daddr')}\n${chain('egress', 'saddr')}\n}`)
  }

  async unsilence (): Promise<void> {
    await nft(`delete table netdev ${this.name}`)
  }
}

/** The network that all machines are in, and this one as its hub. */
export async function startNetwork (): Promise<void> {
  await ip('link', 'set', 'lo', 'up')
  await ip('link', 'add', 'hub', 'type', 'bridge')
  await ip('address', 'add', `${hub}/24`, 'dev', 'hub')
  await ip('link', 'set', 'hub', 'up')
}

/** Empty if it has ended meanwhile. */
function readTitle (pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

export function kill (pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function ip (...parameters: string[]): Promise<void> {
  await execute(programs.iproute2, parameters)
}

async function nft (rules: string): Promise<void> {
  await execute(programs.nftables, [rules])
}
