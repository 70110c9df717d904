import { setTimeout as delay } from 'node:timers/promises'
import { type Cluster, type Node, ttl } from './nodes.js'

/** Something that happens to a cluster under load. */
export interface Fault {
  /** Returns what ends it. */
  begin (cluster: Cluster, primary: Node): Promise<() => Promise<unknown> | void>
  /** Seconds that it lasts at least: until it shows. Then it ends as soon as there are writes and events again. */
  readonly hold: number
  /** Whether there are no writes until it ends. */
  readonly stopsWrites?: boolean
  /** Whether a process of each entry is closed meanwhile. */
  readonly closes?: boolean
}

async function stopEtcd (cluster: Cluster): Promise<() => void> {
  await cluster.stopEtcd()
  return () => { cluster.startEtcd() }
}

/** As an operator asks for it. */
async function changePrimary (cluster: Cluster, primary: Node, path: string, body: object): Promise<() => void> {
  const candidate = (await cluster.findStandby()).machine.name
  await primary.request('POST', path, { ...body, candidate })
  return () => {}
}

/** The addresses of etcd and the other nodes. */
function listPeers ({ machines }: Cluster, { machine }: Node): string[] {
  return machines.filter(each => each !== machine).map(({ address }) => address)
}

async function vanish ({ machine }: Node): Promise<() => Promise<void>> {
  await machine.silence()
  return () => machine.unsilence()
}

// Longer than it takes to promote another node.
const forFailover = ttl + 5

export const faults: Readonly<Record<string, Fault>> = {
  none: { begin: async () => () => {}, hold: 3 },

  'node-killed': {
    async begin (_cluster, primary) {
      await primary.kill()
      return () => { primary.start() }
    },
    hold: 2
  },

  'postgres-killed': {
    async begin (_cluster, primary) {
      primary.killPostgres()
      return () => {}
    },
    hold: 4
  },

  'standby-killed': {
    async begin (cluster) {
      const standby = await cluster.findStandby()
      await standby.kill()
      return () => { standby.start() }
    },
    hold: 2
  },

  switchover: {
    begin: (cluster, primary) => changePrimary(cluster, primary, '/switchover', { leader: primary.machine.name }),
    hold: 2
  },

  failover: { begin: (cluster, primary) => changePrimary(cluster, primary, '/failover', {}), hold: 2 },

  /** The node does nothing for a while, and then goes on as if it were the primary. */
  'node-frozen': {
    async begin (_cluster, { machine }) {
      await machine.signal('SIGSTOP')
      return () => machine.signal('SIGCONT')
    },
    hold: forFailover
  },

  /** PostgreSQL goes on as a primary, while another node is promoted. */
  'supervisor-frozen': {
    async begin (_cluster, primary) {
      await primary.signalPatroni('SIGSTOP')
      return () => primary.signalPatroni('SIGCONT')
    },
    hold: forFailover + 5,
    stopsWrites: true
  },

  /** Clients still reach the primary; its peers and etcd do not. */
  partition: {
    async begin (cluster, primary) {
      await primary.machine.silence(listPeers(cluster, primary))
      return () => primary.machine.unsilence()
    },
    hold: forFailover
  },

  /** PostgreSQL starts again by itself, with commits that no other node has. */
  'partition-crash': {
    async begin (cluster, primary) {
      await primary.machine.silence(listPeers(cluster, primary))
      await delay(1500)
      await primary.crash()
      return () => primary.machine.unsilence()
    },
    hold: forFailover
  },

  'black-hole': { begin: (_cluster, primary) => vanish(primary), hold: forFailover },

  'black-hole-closing': { begin: (_cluster, primary) => vanish(primary), hold: 2, closes: true },

  unplugged: {
    async begin (_cluster, { machine }) {
      await machine.setPlugged(false)
      return () => machine.setPlugged(true)
    },
    hold: forFailover
  },

  'etcd-down': { begin: stopEtcd, hold: forFailover, stopsWrites: true },

  'etcd-down-failsafe': {
    async begin (cluster) {
      await cluster.setFailsafe(true)
      const end = await stopEtcd(cluster)
      return async () => {
        end()
        await cluster.untilWhole()
        await cluster.setFailsafe(false)
      }
    },
    hold: forFailover
  },

  'all-restarted': {
    async begin ({ nodes }) {
      await Promise.all(nodes.map(node => node.kill()))
      await delay(1000)
      for (const node of nodes) node.start()
      return () => {}
    },
    hold: 2
  }
}
