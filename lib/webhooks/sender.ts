import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { type Family, listShapes } from '../core/family/family.js'
import { findPosition, writePosition } from '../core/service/feed.js'
import type { FollowedCommand, Service } from '../core/service/service.js'
import { makeStorageAccess } from '../core/service/storage-access.js'
import { type FeedEntry, findEnd, findEntries } from '../core/service/tail.js'
import { selectById } from '../core/storage/pages.js'
import type { Storage, Stored } from '../core/storage/storage.js'
import { consumersShape, runConsumer } from '../tools/consumers.js'
import { type Delivery, getDelivery, nameDelivery, pruneDeliveries, saveDelivery } from './deliveries.js'
import { type CloudEvent, makeEvent, signEvent, type Sources } from './event.js'
import { post } from './request.js'

export interface SenderSettings {
  readonly allowPrivate: boolean
  readonly timeout: number
  readonly retryDelay: number
  readonly maxRetryDelay: number
  readonly giveUpAfter: number
}

/** A webhook as it is stored. */
type Webhook = Stored & {
  readonly id: string
  readonly url: string
  readonly secret: string
  readonly families?: readonly string[]
  readonly actions?: readonly string[]
  readonly status: string
}

export interface SenderOptions {
  readonly storage: Storage
  /** The family of the webhooks, as it is stored. */
  readonly family: Family
  readonly service: Service
  readonly sources: Sources
  readonly settings: SenderSettings
  readonly log: FastifyBaseLogger
}

interface Runner {
  readonly revision: number | undefined
  readonly stop: AbortController
  readonly done: Promise<void>
}

const kept = 100
// Deliveries of a webhook that may be above it before they are pruned.
const spare = 20
const pauseAfterFailure = 1000
export const sendAgainAction = 'SendWebhookAgain'

/** Sends events to the webhooks of a storage: one consumer for each, so that no receiver holds up others. */
export class Sender {
  readonly #options: SenderOptions
  readonly #stopped = new AbortController()
  readonly #runners = new Map<string, Runner>()
  readonly #prepare: ReturnType<typeof makeStorageAccess>
  #following: Promise<void> | undefined
  #unpruned = new Map<string, number>()

  constructor (options: SenderOptions) {
    this.#options = options
    this.#prepare = makeStorageAccess(listShapes(options.family))
  }

  start (): void {
    this.#following = this.#follow()
  }

  async stop (): Promise<void> {
    this.#stopped.abort()
    for (const { stop } of this.#runners.values()) stop.abort()
    await this.#following
    await Promise.all(Array.from(this.#runners.values(), ({ done }) => done))
  }

  /** Keeps a consumer for every active webhook. */
  async #follow (): Promise<void> {
    const { storage, family, service } = this.#options
    const { signal } = this.#stopped
    await this.#repeat(signal, async () => {
      // Before the list, so that no change in between is missed.
      const end = await findEnd(await this.#prepare(storage))
      const missing = new Set(this.#runners.keys())
      for (let last = ''; ;) {
        const where = [{ field: 'id', op: 'gt', value: last } as const]
        const { items } = await storage.find(family.name, selectById(where, 500))
        for (const item of items) {
          missing.delete(String(item.id))
          this.#take(String(item.id), item as Webhook)
        }
        if (items.length < 500) break
        last = String(items.at(-1)?.id)
      }
      for (const id of missing) this.#take(id, undefined)
      for await (const entry of service.follow({ after: writePosition(end), signal })) {
        const id = String(entry[family.singular])
        this.#take(id, await storage.get(family.name, id) as Webhook | undefined)
      }
    })
  }

  /** Starts it again where the webhook has changed: what waits to be tried again is tried at once. */
  #take (id: string, webhook: Webhook | undefined): void {
    const before = this.#runners.get(id)
    if (this.#stopped.signal.aborted || (before !== undefined && before.revision === webhook?.revision)) return
    before?.stop.abort()
    const stop = new AbortController()
    const done = (async () => {
      await before?.done
      if (webhook === undefined) await this.#forget(id)
      else if (webhook.status === 'active') await this.#repeat(stop.signal, () => this.#consume(webhook, stop.signal))
    })()
    this.#runners.set(id, { revision: webhook?.revision, stop, done })
  }

  async #repeat (signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await work()
      } catch (error) {
        if (signal.aborted) return
        this.#options.log.error({ err: error }, 'Webhooks cannot be sent now')
        await delay(pauseAfterFailure, undefined, { signal }).catch(() => {})
      }
    }
  }

  /** Its place would hold up `prune`. Another process may do the same at this moment. */
  async #forget (id: string): Promise<void> {
    const { storage } = this.#options
    for (let failures = 0; failures < 5; failures++) {
      try {
        const consumer = await storage.get(consumersShape.name, nameConsumer(id))
        const { id: name = '', revision: expected = 0 } = consumer ?? {}
        if (consumer !== undefined) {
          await storage.commit([{ type: 'delete', family: consumersShape.name, id: name, expected }])
        }
        await pruneDeliveries(storage, id, 0)
        return
      } catch {
        await delay(pauseAfterFailure * Math.random(), undefined, { signal: this.#stopped.signal }).catch(() => {})
      }
    }
  }

  async #consume (webhook: Webhook, signal: AbortSignal): Promise<void> {
    const { storage, family, sources, settings: { retryDelay, maxRetryDelay } } = this.#options
    const families = [...new Map([...sources.values()].map(source => [source.family.name, source.family])).values()]
    // A new webhook gets what happened after it was created.
    const where = [
      { field: 'family', op: 'eq', values: [family.name] }, { field: 'target', op: 'eq', values: [webhook.id] },
      { field: 'position', op: 'gte', value: 1 }
    ] as const
    const [created] = await findEntries(storage, where, 1)
    await runConsumer(storage, families, {
      name: nameConsumer(webhook.id),
      ...(created === undefined ? { from: 'now' } : { after: writePosition(created.position) }),
      maxAttempts: Number.MAX_SAFE_INTEGER,
      retryDelay,
      maxRetryDelay,
      signal,
      handler: entry => this.#handle(webhook, entry)
    })
  }

  async #handle (webhook: Webhook, entry: FollowedCommand): Promise<void> {
    const { family: { name, singular }, storage } = this.#options
    if (entry.outcome !== 'done') return
    const key = nameDelivery(webhook.id, findPosition(entry.cursor) as number)
    if (entry.family === name && entry.action === sendAgainAction && entry[singular] === webhook.id) {
      const again = await getDelivery(storage, String((entry.params as { delivery?: unknown }).delivery))
      if (again !== undefined) await this.#deliver(webhook.id, key, again.entry)
    }
    const { families = listOthers(this.#options), actions = [entry.action] } = webhook
    if (families.includes(entry.family) && actions.includes(entry.action)) {
      await this.#deliver(webhook.id, key, entry.id)
    }
  }

  /** One attempt; throws where it must be repeated. */
  async #deliver (id: string, key: string, entry: string): Promise<void> {
    const { storage, family, service, sources, log } = this.#options
    const record = await storage.get('commands', entry) as FeedEntry | undefined
    const source = record && sources.get(record.family)
    const before = await getDelivery(storage, key)
    // Of an entry that was pruned, nothing is known. One that arrived is not sent again after a restart.
    if (record === undefined || source === undefined || before?.status === 'delivered') return
    const webhook = await storage.get(family.name, id) as Webhook | undefined
    if (webhook?.status !== 'active') throw new Error('The webhook is not active')
    const event = makeEvent(sources, source, record)
    const attempt = await this.#attempt(webhook, event)
    const { error, responseStatus } = attempt
    // 410 Gone: the receiver wants no more.
    const operation = responseStatus === 410 ? 'pause' : this.#isOver(webhook, before) ? 'fail' : undefined
    const status = error === undefined ? 'delivered' : operation === undefined ? 'waiting' : 'failed'
    const attempts = (before?.attempts ?? 0) + 1
    const about = { webhook: id, entry, event: event.id, type: event.type }
    const saving = saveDelivery(storage, { id: key, ...about, status, attempts, ...attempt }, before)
    if (error === undefined) {
      // It arrived, so it is not sent again because the storage did not answer.
      await saving.then(() => this.#prune(id)).catch(error => { log.warn({ err: error }, 'A delivery is not listed') })
      return
    }
    await saving
    if (operation !== undefined) {
      // The consumer ends when the change is seen, and continues after `resume`.
      log.warn({ webhook: id, operation }, 'A webhook gets no more events')
      await service.run(operation, id, { reason: error }, { command: `${operation}-${id}-${webhook.revision}` })
    }
    throw new Error(error)
  }

  async #attempt ({ url, secret }: Webhook, event: CloudEvent): Promise<Attempt> {
    const { settings: { allowPrivate, timeout } } = this.#options
    const { signal } = this.#stopped
    const body = JSON.stringify(event)
    const started = Date.now()
    const headers = {
      'content-type': 'application/cloudevents+json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'fastify-dealbook',
      ...signEvent(secret, event.id, body, started)
    }
    const end = (result: Pick<Attempt, 'responseStatus' | 'error'>): Attempt =>
      ({ ...result, duration: Date.now() - started, at: new Date(started).toISOString() })
    try {
      const responseStatus = await post({ url, headers, body, allowPrivate, timeout, signal })
      if (responseStatus >= 200 && responseStatus < 300) return end({ responseStatus })
      return end({ responseStatus, error: `The response had the status ${responseStatus}` })
    } catch (error) {
      signal.throwIfAborted()
      return end({ error: String((error as Error).message).slice(0, 500) })
    }
  }

  /** From the first attempt, or the last change of the webhook, such as `resume`. */
  #isOver ({ updatedAt }: Webhook, before: Delivery | undefined): boolean {
    if (before === undefined) return false
    const since = Math.max(Date.parse(before.createdAt), Date.parse(updatedAt))
    return Date.now() - since >= this.#options.settings.giveUpAfter
  }

  async #prune (id: string): Promise<void> {
    const count = (this.#unpruned.get(id) ?? spare) + 1
    this.#unpruned.set(id, count > spare ? 0 : count)
    if (count > spare) await pruneDeliveries(this.#options.storage, id, kept)
  }
}

type Attempt = Pick<Delivery, 'responseStatus' | 'error' | 'duration' | 'at'>

function nameConsumer (webhook: string): string {
  return `webhook/${webhook}`
}

/** A webhook that names no families gets the events of all but the webhooks. */
function listOthers ({ sources, family }: SenderOptions): string[] {
  return [...sources.keys()].filter(name => name !== family.name)
}
