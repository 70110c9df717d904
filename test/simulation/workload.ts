import { useRuntime } from '../../lib/core/runtime.js'
import { type Members, Problem } from '../../lib/index.js'
import { retryParked } from '../../lib/tools/index.js'
import { Client, type Cluster } from './clients.js'
import { away, type Faults, type Parts } from './connection.js'
import { Copy } from './copies.js'
import { Database } from './database.js'
import { ConsumerJudge, FollowerJudge, Receiver } from './followers.js'
import { type AnyService, Host, openApps } from './host.js'
import { Judge } from './judge.js'
import type { Options } from './options.js'
import { Journal } from './oracle.js'
import { Visitor } from './past.js'
import { Random } from './random.js'
import { World } from './world.js'

const consumerName = 'mailer'
// In milliseconds of the simulation.
const longest = 60_000
const settleTime = 90_000

/** One history: processes, clients and what goes wrong. */
export class Simulation implements Cluster {
  readonly world: World
  readonly judge: Judge
  readonly #database: Database
  readonly #random: Random
  readonly #faults: Faults
  readonly #parts: Parts
  readonly #hosts: Host[] = []
  readonly #clients: Client[] = []
  readonly #followers: FollowerJudge[] = []
  readonly #consumer: ConsumerJudge | undefined
  readonly #receiver: Receiver | undefined
  /** When the first process with the consumer starts. */
  readonly #consumesFrom: number
  /** What keeps signals in memory otherwise. */
  readonly #endings: (() => void)[] = []
  #made = 0
  #isUpgraded = false
  #isSettling = false

  constructor (seed: number, readonly options: Options, isTraced: boolean) {
    const { late, latest, conflict, lostBefore, lostAfter, read, busy } = options
    const { watches, texts, sequence, failovers, upgrade, replicas, numberedLate } = options
    this.world = new World(seed, isTraced)
    this.#random = new Random(seed, 'workload')
    this.#database = new Database(numberedLate, () => this.world.now)
    this.#faults = { late, latest, conflict, lostBefore, lostAfter, read, busy }
    // Storages with replicas have texts.
    this.#parts = { watches, texts: texts || replicas > 0, sequence, confirms: failovers > 0, isProjected: upgrade }
    for (let count = 0; count < replicas; count++) {
      this.#database.copies.push(new Copy(this.#database, new Random(seed, `replica ${count}`), latest))
    }
    const journal = new Journal(this.world, this.#database, !sequence)
    this.judge = new Judge(this.world, journal)
    this.#consumesFrom = this.#random.chance(0.5) ? 0 : this.#random.between(0, 200 * options.commands)
    this.#consumer = options.consumer ? new ConsumerJudge(journal, consumerName) : undefined
    this.#receiver = options.webhook ? new Receiver(this.judge) : undefined
  }

  async run (): Promise<void> {
    const { world, options } = this
    useRuntime()
    if (options.http > 0) await openApps()
    let running = options.clients
    world.after(0, () => {
      for (let count = 0; count < options.processes; count++) this.#startHost()
      for (let count = 0; count < options.clients; count++) {
        const name = String.fromCharCode(97 + count)
        const client = new Client(this, new Random(world.seed, `client ${name}`), name)
        this.#clients.push(client)
        client.run().then(() => { running-- }, (error: Error) => { world.fail(`client: ${String(error.stack)}`) })
      }
      for (let count = 0; count < options.followers; count++) this.#startFollower(count)
      if (options.webhook) {
        this.#runWebhook().catch((error: Error) => { world.fail(`webhook: ${String(error.stack)}`) })
      }
      if (options.past > 0) {
        running++
        const visitor = new Visitor(this, new Random(world.seed, 'visitor'))
        this.#clients.push(visitor)
        visitor.run().then(() => { running-- }, (error: Error) => { world.fail(`visitor: ${String(error.stack)}`) })
      }
      this.#planFaults()
    }, null)
    await world.run(() => running === 0, longest)
    if (running > 0 && world.violation === undefined) world.fail('clients: not finished in time')
    if (world.violation === undefined) await this.#settle()
    await world.end(() => { for (const end of this.#endings) end() })
  }

  pick (random: Random, isNext?: boolean): Host | undefined {
    const hosts = isNext === true ? this.#hosts.filter(({ settings }) => settings.isNext) : this.#hosts
    return hosts.length === 0 ? undefined : random.pick(hosts)
  }

  #startHost (): void {
    const { world, options: { drift, consumer, webhook } } = this
    const name = `P${this.#made++}`
    const random = new Random(world.seed, `host ${name}`)
    const host = new Host(world, this.#database, name, {
      isNext: this.#isUpgraded,
      offset: drift === 0 ? 0 : random.between(-drift, drift),
      rate: drift === 0 ? 1 : 1 + (random.next() - 0.5) / 50,
      faults: this.#faults,
      parts: this.#parts
    })
    world.note(() => `starts ${name}${this.#isUpgraded ? ', next version' : ''}`)
    this.#hosts.push(host)
    const begin = Math.max(random.between(0, 50), this.#consumesFrom - world.now)
    if (consumer) world.after(begin, () => { this.#consume(host, random) }, host)
    if (webhook) {
      world.after(random.between(0, 50), () => {
        const sender = host.sendWebhooks(posting => this.#post(host, random, posting))
        this.#endings.push(() => { sender.stop(1000).catch(() => {}) })
      }, host)
    }
  }

  #replaceHost (random: Random): void {
    const { world } = this
    const host = this.pick(random)
    if (host === undefined || this.#isSettling) return
    world.note(() => `drops ${host.name}`)
    this.#hosts.splice(this.#hosts.indexOf(host), 1)
    host.drop()
    world.after(random.between(5, 300), () => { this.#startHost() }, null)
  }

  #planFaults (): void {
    const { world, options: { crashes, pauses, prunes, outages, failovers, numberedLate, upgrade, commands } } = this
    const random = new Random(world.seed, 'faults')
    const plan = (work: () => void): void => {
      world.after(random.between(0, commands * 200), () => { if (!this.#isSettling) work() }, null)
    }
    for (let count = 0; count < crashes; count++) plan(() => { this.#replaceHost(random) })
    for (let count = 0; count < pauses; count++) {
      plan(() => {
        const host = this.pick(random)
        if (host !== undefined) host.pausedUntil = world.now + random.between(50, 3000)
        world.note(() => `pauses ${host?.name ?? ''} until ${host?.pausedUntil ?? 0}`)
      })
    }
    for (let count = 0; count < prunes; count++) plan(() => { this.#prune(random) })
    for (let count = 0; count < outages; count++) {
      plan(() => {
        this.#database.awayUntil = world.now + random.between(20, 3000)
        world.note(() => `the database is away until ${this.#database.awayUntil.toFixed(0)}`)
      })
    }
    // Numbers that are given at once belong to databases without a standby.
    for (let count = numberedLate ? failovers : 0; count > 0; count--) plan(() => { this.#cut(random) })
    if (upgrade) {
      plan(() => {
        this.#isUpgraded = true
        for (let count = this.#hosts.length; count > 0; count--) {
          world.after(random.between(0, 500), () => { this.#replaceHost(random) }, null)
        }
      })
    }
  }

  /** The standby is gone for a while, or takes over. */
  #cut (random: Random): void {
    const { world } = this
    if (this.#database.isCut) return
    this.#database.cut()
    world.note(() => 'the standby is gone')
    world.after(random.between(10, 500), () => { this.#heal(random.chance(0.7)) }, null)
  }

  #heal (isFailover: boolean): void {
    if (!this.#database.isCut) return
    this.world.note(() => isFailover ? 'the standby takes over' : 'the standby is back')
    this.#database.heal(isFailover)
  }

  /** Never what a client or a consumer may still repeat. */
  #prune (random: Random): void {
    const { world, options: { drift } } = this
    const host = this.pick(random)
    if (host === undefined) return
    world.after(0, () => {
      const error = 2 * drift + world.now / 25 + 1
      const horizons = [...this.#clients, this.#consumer].map(each => each?.horizon ?? world.now)
      const horizon = Math.min(...horizons) - error
      world.note(() => `prunes before ${horizon.toFixed(0)}`)
      host.prune(Date.UTC(2030, 0, 1) + Math.floor(horizon), random.between(1, 5)).then(count => {
        world.note(() => `has pruned ${count}`)
      }, (failure: unknown) => { world.note(() => `prune failed: ${String(failure)}`) })
    }, host)
  }

  #startFollower (index: number): void {
    const { world } = this
    const random = new Random(world.seed, `follower ${index}`)
    const follower = new FollowerJudge(this.judge, `f${index}`, random.pick(['admin-dot', 'red-ann']))
    this.#followers.push(follower)
    const follow = async (host: Host, signal: AbortSignal): Promise<void> => {
      const { cursor: after, principal } = follower
      const entries = host.service('accounts', principal).follow({ principal, signal, ...(after && { after }) })
      for await (const entry of entries) {
        if (host.isDead || signal.aborted) return
        follower.receive(entry as Members)
        if (!this.#isSettling && random.chance(0.2)) {
          await new Promise<void>(resolve => { world.after(random.between(50, 1500), resolve, host) })
        }
      }
    }
    const connect = (): void => {
      const host = this.pick(random)
      const again = (): void => { world.after(random.between(1, 100), connect, null) }
      if (host === undefined) return again()
      const controller = new AbortController()
      this.#endings.push(() => { controller.abort() })
      let isOver = false
      const end = (): void => {
        if (isOver) return
        isOver = true
        host.open.delete(end)
        controller.abort()
        again()
      }
      host.open.add(end)
      world.after(0, () => {
        follow(host, controller.signal).catch((error: unknown) => {
          if (error instanceof Problem && error.code === 'pruned') {
            world.note(() => `${follower.name} is told that entries are pruned`)
            if (!isOver) follower.restart()
          } else if (!(error instanceof Problem)) world.fail(`follower: ${String((error as Error).stack)}`)
        }).finally(end)
      }, host)
      if (random.chance(0.3)) world.after(random.between(50, 1000), end, null)
    }
    world.after(random.between(0, 300), connect, null)
  }

  #consume (host: Host, random: Random): void {
    const { world } = this
    const leaseTime = 600
    const consumer = this.#consumer as ConsumerJudge
    const controller = new AbortController()
    this.#endings.push(() => { controller.abort() })
    host.consume(consumerName, leaseTime, controller.signal, async entry => {
      world.note(() => `${consumerName} handles ${String(entry.cursor)}`)
      const end = consumer.begin(String(entry.id), host, this.options.latest)
      try {
        if (!this.#isSettling && random.chance(0.1)) {
          await new Promise<void>(resolve => { world.after(random.between(10, 3 * leaseTime), resolve, host) })
        }
        if (!this.#isSettling && random.chance(0.05)) throw new Error('The handler fails')
        if (entry.outcome !== 'done') return
        await host.service('effects').create({ entry: entry.id }, { key: `effect-${String(entry.id)}` })
      } finally {
        end()
      }
    }).catch((error: unknown) => {
      // The process starts again.
      if ((error as Error).message === away) world.after(100, () => { this.#consume(host, random) }, host)
      else world.fail(`consumer: ${String((error as Error).stack ?? error)}`)
    })
  }

  /** A receiver that is slow, fails, or takes an event whose answer is lost. */
  async #post (host: Host, random: Random, { headers, body }: { headers: Members, body: string }): Promise<number> {
    const isCalm = this.#isSettling
    await new Promise<void>(resolve => { this.world.after(random.between(1, 30), resolve, host) })
    if (!isCalm && random.chance(0.1)) return 500
    this.#receiver?.receive(String(headers['webhook-id']), body, host.startedAt)
    if (!isCalm && random.chance(0.1)) throw new Error('The connection was closed')
    return 200
  }

  /** Creates a webhook, resumes it when it is failing, and may delete it. */
  async #runWebhook (): Promise<void> {
    const { world } = this
    const random = new Random(world.seed, 'webhook')
    const client = new Client(this, random, 'w')
    this.#clients.push(client)
    type Work = (webhooks: AnyService, options: object) => Promise<unknown>
    const send = async (work: Work, key: string): Promise<void> => {
      const options = { principal: 'admin-dot', key }
      const end = client.begin()
      while (await client.call(host => work(host.service('webhooks'), options), () => {}) === undefined) {
        await world.sleep(50)
      }
      end()
    }
    const fields = { url: 'http://receiver/', families: ['accounts'] }
    await send((webhooks, options) => webhooks.create(fields, options), 'create')
    const end = random.chance(0.2) ? world.now + random.between(0, 200 * this.options.commands) : Infinity
    for (let attempt = 1; ; attempt++) {
      await world.sleep(300)
      const [webhook] = this.#database.list('webhooks')
      if (webhook === undefined) return
      const { id, status } = webhook
      if (world.now >= end) await send((webhooks, options) => webhooks.remove(id as never, options), 'delete')
      else if (status === 'failing') {
        await send((webhooks, options) => webhooks.run('resume', id, {}, options), `resume ${attempt}`)
      }
    }
  }

  /** Without faults, everything is caught up with in time. */
  async #settle (): Promise<void> {
    const { world } = this
    this.#isSettling = true
    this.#heal(true)
    this.#database.awayUntil = 0
    world.note(() => 'no more faults')
    Object.assign(this.#faults, { late: 0, conflict: 0, lostBefore: 0, lostAfter: 0, read: 0, busy: 0 })
    const ending = world.now + settleTime
    if (this.#consumer === undefined && this.#receiver === undefined && this.#followers.length === 0) return
    const retry = (): void => {
      const host = this.pick(this.#random)
      if (host !== undefined && (this.#consumer?.setAside.size ?? 0) > 0) {
        world.after(0, () => { retryParked(host.storage, consumerName).catch(() => {}) }, host)
      }
      world.after(1000, retry, null)
    }
    if (this.#consumer !== undefined) retry()
    let next = 0
    await world.run(() => {
      if (world.steps < next) return false
      next = world.steps + 10
      return this.#findMissing() === undefined
    }, ending)
    const missing = this.#findMissing()
    if (missing !== undefined) world.fail(missing)
  }

  #findMissing (): string | undefined {
    if (!this.#database.isCut && this.#database.list('commands').length > 0) this.#database.numberAll('commands')
    const judges = [this.#consumer, this.#receiver, ...this.#followers]
    for (const judge of judges) {
      const missing = judge?.missing
      if (missing !== undefined) return missing
    }
    return this.#consumer !== undefined && this.#consumer.setAside.size > 0
      ? `consumer ${consumerName}: entries are set aside`
      : undefined
  }
}
