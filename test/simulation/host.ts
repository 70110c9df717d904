import '../process-time.js'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import { delay, now, random, randomBytes, type Runtime } from '../../lib/core/runtime.js'
import {
  type AnyFamily, describe, type Grant, type Intent, type Members, type Service, type Storage
} from '../../lib/index.js'
import { consume, prune } from '../../lib/tools/index.js'
import type { EventSource } from '../../lib/webhooks/event.js'
import { Sender } from '../../lib/webhooks/sender.js'
import { system } from '../../lib/webhooks/system.js'
import { makeWebhooks } from '../../lib/webhooks/webhooks.js'
import { connectAll, type Faults, type Parts } from './connection.js'
import type { Database } from './database.js'
import { accounts, accountsNext, effects, tickets } from './families.js'
import { listHidden, tenantOf } from './model.js'
import { Random } from './random.js'
import type { Actor, World } from './world.js'

/** The service of any family. */
export type AnyService = Service & {
  run (operation: string, id: string | number, params?: object, options?: object): Promise<Result>
  create (fields: object, options?: object): Promise<Result>
}

export interface Result {
  readonly item: Members | undefined
  readonly command: Members & { readonly revision: number, readonly outcome: string }
  readonly changed: boolean
  readonly replayed: boolean
}

// As the library has them in a simulation: each process has its own.
Object.assign(system, {
  now, random, randomBytes, delay: (time: number, signal?: AbortSignal) => delay(time, undefined, signal && { signal })
})

const webhooks = makeWebhooks({ allowPrivate: true, retryDelay: 200, maxRetryDelay: 2000 })
const silent = { error: () => {}, warn: () => {} }

function grantTo (principal: string | undefined, family: string): Grant {
  const tenant = tenantOf(principal)
  if (principal === undefined || tenant === undefined) return principal === undefined ? {} : { principal }
  const hide = listHidden(family, principal) as never
  return { principal, claims: { tenant }, hide, where: [{ field: 'tenant', op: 'eq', values: [tenant] }] }
}

/** By the names of the processes, whose requests share two applications: making one takes longer than a history. */
const storages = new Map<string, Storage>()
let apps: readonly FastifyInstance[] | undefined

export async function openApps (): Promise<void> {
  apps ??= await Promise.all([accounts, accountsNext].map(async family => {
    const app = Fastify()
    const options = {
      storage: ({ headers }: { headers: Record<string, string> }) => storages.get(String(headers['x-process'])),
      authorize: ({ headers }: { headers: Record<string, string> }, { family }: Intent) =>
        grantTo(headers['x-principal'], family)
    } as never
    app.register(family as unknown as typeof accounts, options)
    app.register(tickets, options)
    await app.ready()
    return app
  }))
}

export interface HostSettings {
  readonly isNext: boolean
  /** Milliseconds by which its clock is wrong. */
  readonly offset: number
  readonly rate: number
  readonly faults: Faults
  readonly parts: Parts
}

/** A process of the application. */
export class Host implements Actor {
  isDead = false
  pausedUntil = 0
  readonly runtime: Runtime
  readonly storage: Storage
  /** What to do with the requests that it has when it is dropped. */
  readonly open = new Set<() => void>()
  /** In commits: what reads of this process must have, at least. */
  acknowledged = 0
  /** In commits: when it was started. */
  readonly startedAt: number
  readonly #services = new Map<string, AnyService>()
  readonly #accounts: AnyFamily

  constructor (
    readonly world: World, readonly database: Database, readonly name: string, readonly settings: HostSettings
  ) {
    const random = new Random(world.seed, `process ${name}`)
    const { offset, rate, faults, parts, isNext } = settings
    this.startedAt = database.commits
    this.runtime = world.makeRuntime(() => this, random, offset, rate)
    this.#accounts = isNext ? accountsNext : accounts
    this.storage = connectAll(database, {
      faults,
      parts,
      random,
      send: (time, run) => {
        // A statement of a process that is gone may still arrive.
        world.after(time, () => { if (!this.isDead || random.chance(0.5)) run() }, null)
      },
      answer: (time, run) => { world.after(time, run, this) },
      acknowledged: () => { this.acknowledged = database.commits },
      note: (changes, outcome) => {
        world.note(() => `${name} commit ${changes.map(change => `${change.type} ${change.family}/${
          'item' in change ? `${change.item.id} r${change.item.revision}` : change.id}`).join(', ')}: ${outcome}`)
      }
    })
    storages.set(name, this.storage)
  }

  drop (): void {
    this.isDead = true
    const lost = [...this.open]
    this.open.clear()
    for (const lose of lost) lose()
  }

  /** @param principal of a tenant, who sees a part, or of a program, which sees everything */
  service (family: 'accounts' | 'tickets' | 'effects' | 'webhooks', principal?: string): AnyService {
    const isGuarded = tenantOf(principal) !== undefined
    const name = `${family} ${isGuarded}`
    let service = this.#services.get(name)
    if (service === undefined) {
      const plugin = { accounts: this.#accounts, tickets, effects, webhooks }[family] as AnyFamily & {
        service (options: object): AnyService
      }
      const { storage } = this
      const authorize = (call: { principal?: string }, intent: Intent): Grant =>
        grantTo(call.principal, intent.family)
      this.#services.set(name, service = plugin.service({ storage, ...(isGuarded && { authorize }) }))
    }
    return service
  }

  async request (
    method: string, url: string, principal: string, payload?: object, headers: Record<string, string> = {}
  ): Promise<{ readonly status: number, readonly body: string, readonly headers: Members }> {
    const app = apps?.[this.settings.isNext ? 1 : 0] as FastifyInstance
    const answer = await app.inject({
      method: method as 'GET',
      url,
      headers: { ...headers, 'x-process': this.name, 'x-principal': principal },
      ...(payload && { payload })
    })
    return { status: answer.statusCode, body: answer.body, headers: answer.headers }
  }

  prune (before: number, batch: number): Promise<number> {
    return prune(this.storage, { before: new Date(before), batch })
  }

  consume (
    name: string, leaseTime: number, signal: AbortSignal, handler: (entry: Members) => Promise<void>
  ): Promise<void> {
    const families = [this.#accounts, tickets]
    return consume(this.storage, { name, families, leaseTime, maxAttempts: 3, handler, signal })
  }

  sendWebhooks (post: NonNullable<ConstructorParameters<typeof Sender>[0]['post']>): Sender {
    const { storage } = this
    const family = webhooks as unknown as EventSource['family']
    const sources = new Map([this.#accounts, tickets, family].map(plugin => {
      const model = describe(plugin)
      return [model.name, { family: plugin as EventSource['family'], model, url: `/${model.name}` }]
    }))
    const settings = {
      allowPrivate: true, timeout: 2000, retryDelay: 200, maxRetryDelay: 2000, giveUpAfter: 72 * 3_600_000
    }
    // It runs until the process is dropped.
    return new Sender({ storage, family, sources, settings, log: silent, post })
  }
}
