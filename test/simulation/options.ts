import { Random } from './random.js'

/** What happens in a history. Numbers and flags only, so that a failing history can be shrunk. */
export interface Options {
  processes: number
  clients: number
  /** Of each client. */
  commands: number
  crashes: number
  /** Processes that stand still for a while. */
  pauses: number
  prunes: number
  followers: number
  /** Whether entries are handled by a consumer, and by webhooks. */
  consumer: boolean
  webhook: boolean
  /** Whether processes of the next version take over. */
  upgrade: boolean
  /** Milliseconds by which clocks may be wrong. */
  drift: number
  /** The part of the requests that come over HTTP, and of those that are many commands. */
  http: number
  many: number
  /** The part of the clients' calls that are reads. */
  reads: number
  /** The part of the commands that create accounts or delete them, besides the others. */
  creations: number
  deletions: number
  /** The part of the clients' calls that they repeat before they are answered. */
  impatience: number
  /** Times in which the database is away. */
  outages: number
  /** Times in which commits do not reach the standby, which may then take over. */
  failovers: number
  /** Of the database, for reads over HTTP. */
  replicas: number
  /** See `Parts`. */
  watches: boolean
  texts: boolean
  sequence: boolean
  /** See `Faults`. */
  late: number
  latest: number
  conflict: number
  lostBefore: number
  lostAfter: number
  read: number
  busy: number
  /** Commands and reads of a client that is about what was: deleted items, earlier revisions. */
  past: number
  /** Whether entries get their numbers when they are read, as on PostgreSQL. */
  numberedLate: boolean
}

/** Different faults in each history: together, they would hide each other's effects. */
export function chooseOptions (seed: number): Options {
  const random = new Random(seed, 'options')
  const sometimes = (probability: number, most: number): number => random.chance(probability) ? random.next() * most : 0
  const http = sometimes(0.15, 0.5)
  const numberedLate = random.chance(0.6)
  const replicas = http > 0 && random.chance(0.7) ? random.between(1, 2) : 0
  return {
    processes: random.between(1, 3),
    clients: random.between(2, 4),
    commands: random.between(2, 5),
    crashes: random.chance(0.6) ? random.between(1, 4) : 0,
    pauses: random.chance(0.3) ? random.between(1, 3) : 0,
    prunes: random.chance(0.5) ? random.between(1, 4) : 0,
    followers: random.chance(0.4) ? random.between(1, 2) : 0,
    consumer: random.chance(0.35),
    webhook: random.chance(0.08),
    upgrade: random.chance(0.25),
    drift: random.chance(0.4) ? random.between(1, 500) : 0,
    http,
    many: sometimes(0.5, 0.3),
    reads: replicas > 0 ? 0.5 : 0.2,
    creations: sometimes(0.2, 0.8),
    deletions: sometimes(0.2, 0.4),
    impatience: sometimes(0.5, 0.6),
    outages: random.chance(0.15) ? random.between(1, 2) : 0,
    failovers: numberedLate && random.chance(0.25) ? random.between(1, 3) : 0,
    replicas,
    watches: random.chance(0.7),
    texts: random.chance(0.5),
    sequence: random.chance(0.2),
    late: sometimes(0.6, 0.2),
    latest: random.pick([50, 200, 1000]),
    conflict: sometimes(0.3, 0.1),
    lostBefore: sometimes(0.3, 0.1),
    lostAfter: sometimes(0.5, 0.15),
    read: sometimes(0.2, 0.05),
    busy: sometimes(0.2, 0.05),
    past: chooseLength(new Random(seed, 'past')),
    numberedLate
  }
}

function chooseLength (random: Random): number {
  return random.chance(0.3) ? random.between(3, 12) : 0
}
