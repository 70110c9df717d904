import { setMaxListeners } from 'node:events'
import type { FastifyBaseLogger } from 'fastify'
import { type Family, listShapes } from '../core/family/family.js'
import { clearTimeout, delay, now, random, setTimeout, type Timer } from '../core/runtime.js'
import { findPosition, writePosition } from '../core/service/feed.js'
import type { FeedEntry } from '../core/service/log-part.js'
import { findEnd, findKeys, findPruned, isPruned, numbered } from '../core/service/log-reads.js'
import { hasLog, selectLog } from '../core/service/record.js'
import type { FollowedCommand, Service } from '../core/service/service.js'
import { isConflict, makeStorageAccess } from '../core/service/storage-access.js'
import { matcher } from '../core/storage/conditions.js'
import type { FieldCondition, Storage, Stored } from '../core/storage/storage.js'
import { addPlace, runConsumer, skipPruned } from '../tools/consumers.js'
import { consumersShape } from '../tools/leases.js'
import { walk } from '../tools/rows.js'
import {
  deleteDeliveries, deliveriesShape, type Delivery, getDelivery, nameDelivery, saveDelivery
} from './deliveries.js'
import { makeEvent, signEvent, type Sources } from './event.js'
import { transport } from './request.js'

/** Settings of `makeWebhooks`. */
export interface WebhookSettings {
  /** Whether events may be sent to private networks, such as `http://localhost:3000`. Default false. */
  readonly allowPrivate?: boolean
  /** Milliseconds in which a receiver must respond. Default 10,000. */
  readonly timeout?: number
  /** Milliseconds before the second attempt; each further pause is twice as long. Default 5,000. */
  readonly retryDelay?: number
  /** The longest pause between two attempts, in milliseconds. Default 21,600,000: 6 hours. */
  readonly maxRetryDelay?: number
  /** Milliseconds after which a webhook is failing, if its receiver has not taken an event. Default: 3 days. */
  readonly giveUpAfter?: number
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
  readonly settings: Required<WebhookSettings>
  readonly log: Pick<FastifyBaseLogger, 'error' | 'warn'>
  /** Sends a request. Default: over HTTP. */
  readonly post?: typeof transport.post
}

interface Runner {
  readonly revision: number | undefined
  readonly stop: AbortController
  readonly done: Promise<void>
}

const pauseAfterFailure = 1000
export const sendAgainAction = 'SendWebhookAgain'

/** Sends events to the webhooks of a storage: one consumer for each, so that no receiver holds up others. */
export class Sender {
  readonly #stopped = new AbortController()
  readonly #runners = new Map<string, Runner>()
  readonly #following: Promise<void>

  constructor (readonly options: SenderOptions) {
    // Every attempt listens to it, and every webhook may make one.
    setMaxListeners(0, this.#stopped.signal)
    this.#following = this.#retry(this.#stopped.signal, () => this.#follow())
  }

  /** @param limit milliseconds to wait: the storage may not answer, and the leases then end by themselves */
  async stop (limit: number): Promise<void> {
    this.#stopped.abort()
    for (const { stop } of this.#runners.values()) stop.abort()
    const ended = this.#following.then(() => Promise.all(Array.from(this.#runners.values(), ({ done }) => done)))
    let timer: Timer | undefined
    await Promise.race([ended, new Promise<void>(resolve => { timer = setTimeout(resolve, limit) })])
    clearTimeout(timer)
  }

  /** Keeps a consumer for every active webhook. */
  async #follow (): Promise<void> {
    const { storage, family, service } = this.options
    const { signal } = this.#stopped
    await makeStorageAccess([...listShapes(family), consumersShape, deliveriesShape])(storage)
    // Before the list, so that no change in between is missed.
    const after = writePosition(await findEnd(storage))
    const missing = new Set(this.#runners.keys())
    const places = await listPlaces(storage)
    for await (const webhooks of walk(storage, family.name)) {
      for (const webhook of webhooks as Webhook[]) {
        missing.delete(webhook.id)
        places.delete(webhook.id)
        this.#take(webhook.id, webhook)
      }
    }
    // Deleted while no process saw it, unless another consumer has such a name.
    for (const id of places) if (await hasLog(storage, family, id, signal)) missing.add(id)
    for (const id of missing) this.#take(id, undefined)
    for await (const entry of service.follow({ after, signal })) {
      const id = String(entry[family.singular])
      this.#take(id, await storage.get(family.name, id) as Webhook | undefined)
    }
  }

  /** Starts it again where the webhook has changed: what waits to be tried again is tried at once. */
  #take (id: string, webhook: Webhook | undefined): void {
    const before = this.#runners.get(id)
    if (this.#stopped.signal.aborted || (before !== undefined && before.revision === webhook?.revision)) return
    before?.stop.abort()
    const stop = new AbortController()
    const done = (async () => {
      await before?.done
      if (webhook === undefined) await this.#retry(this.#stopped.signal, () => this.#forget(id))
      else await this.#retry(stop.signal, () => this.#run(webhook, stop.signal))
    })()
    this.#runners.set(id, { revision: webhook?.revision, stop, done })
  }

  async #retry (signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await work()
        return
      } catch (error) {
        if (signal.aborted) return
        // Another process may do the same at this moment.
        if (!isConflict(error)) this.options.log.error({ err: error }, 'Webhooks cannot be sent now')
        await delay(pauseAfterFailure * random(), undefined, { signal }).catch(() => {})
      }
    }
  }

  /** Its place would hold up `prune`. */
  async #forget (id: string): Promise<void> {
    const { storage } = this.options
    const { name: family } = consumersShape
    const place = await storage.get(family, nameConsumer(id))
    if (place !== undefined) await storage.commit([{ type: 'delete', family, id: place.id, expected: place.revision }])
    await deleteDeliveries(storage, id)
  }

  async #run (webhook: Webhook, signal: AbortSignal): Promise<void> {
    const { storage } = this.options
    const name = nameConsumer(webhook.id)
    const isNew = await storage.get(consumersShape.name, name) === undefined
    const start = await this.#findStart(webhook, isNew)
    if (start === undefined) return
    // So that `prune` keeps what it is to get from now on, also while it is paused or failing.
    if (isNew) await addPlace(storage, { id: name }, start)
    if (webhook.status !== 'active' || await this.#consume(webhook, start, signal)) return
    // First, so that nothing is skipped silently if this process ends in between.
    await this.#end('fail', webhook, 'Events that were not sent yet were deleted by prune')
    await skipPruned(storage, name)
  }

  /**
   * A webhook gets what happened after it was created. If its creation was pruned, events after it may be as well: from
   * 0, it finds that it misses them. Undefined where there is no such webhook.
   */
  async #findStart ({ id }: Webhook, isNew: boolean): Promise<number | undefined> {
    const { storage, family } = this.options
    if (isNew) {
      if (await storage.get(family.name, id) === undefined) return undefined
      // A failover may take a new webhook back; its place would stay.
      await storage.confirm?.(family.name, id)
    }
    const { entries: [created] } = await findKeys(storage, [...selectCreation(family, id), ...numbered], 1)
    if (created !== undefined) return created.position
    // One that was loaded has no log.
    return await findPruned(storage) > 0 ? 0 : await findEnd(storage)
  }

  /** Returns whether it ended without missing anything. @param start where it begins, if it has no place */
  async #consume (webhook: Webhook, start: number, signal: AbortSignal): Promise<boolean> {
    const { storage, family, sources, settings: { retryDelay, maxRetryDelay } } = this.options
    const missed = new AbortController()
    const deleted = new AbortController()
    const deletion = family.lifecycle?.deletion?.operation.action
    const isDeletion = (entry: FollowedCommand): boolean => entry.family === family.name &&
      entry[family.singular] === webhook.id && entry.action === deletion && entry.outcome === 'done'
    await runConsumer(storage, Array.from(sources.values(), ({ family }) => family), {
      name: nameConsumer(webhook.id),
      after: writePosition(start),
      maxAttempts: Number.MAX_SAFE_INTEGER,
      retryDelay,
      maxRetryDelay,
      signal: AbortSignal.any([signal, missed.signal, deleted.signal]),
      where: [{ op: 'any', of: [selectLog(family, webhook.id), this.#selectEvents(webhook)] }],
      handler: async entry => {
        // Not passed: so `prune` keeps it, by which the next process knows that the webhook is gone.
        if (isDeletion(entry)) deleted.abort()
        else if (!await this.#handle(webhook, entry)) missed.abort()
      }
    }).catch((error: unknown) => {
      if (!isPruned(error)) throw error
      missed.abort()
    })
    return !missed.signal.aborted
  }

  /** Returns whether the entry still exists, or need not be sent. */
  async #handle (webhook: Webhook, entry: FollowedCommand): Promise<boolean> {
    const { family: { name, singular }, storage } = this.options
    if (entry.outcome !== 'done') return true
    const key = nameDelivery(webhook.id, findPosition(entry.cursor) as number)
    if (entry.family === name && entry.action === sendAgainAction && entry[singular] === webhook.id) {
      const again = await getDelivery(storage, String((entry.params as { delivery?: unknown }).delivery))
      if (again !== undefined) await this.#deliver(webhook.id, key, again.entry)
    }
    const isEvent = matcher(this.#selectEvents(webhook))
    return !isEvent(entry as never) || await this.#deliver(webhook.id, key, entry.id)
  }

  /** The events of a webhook. Without families, those of all but the webhooks are. */
  #selectEvents ({ families, actions }: Webhook): FieldCondition[] {
    const { family: { name }, sources } = this.options
    return [
      { field: 'family', op: 'eq', values: families ?? [...sources.keys()].filter(source => source !== name) },
      ...actions === undefined ? [] : [{ field: 'action', op: 'eq', values: actions } as const]
    ]
  }

  /** One attempt; throws where it must be repeated. Returns false if the entry was pruned. */
  async #deliver (id: string, key: string, entry: string): Promise<boolean> {
    const { storage, family, sources, settings, log } = this.options
    const record = await storage.get('commands', entry) as FeedEntry | undefined
    const event = record && makeEvent(sources, record)
    const before = await getDelivery(storage, key)
    // One that arrived is not sent again after a restart.
    if (before?.status === 'delivered') return true
    if (event === undefined) return record !== undefined
    const webhook = await storage.get(family.name, id) as Webhook | undefined
    if (webhook?.status !== 'active') throw new Error('The webhook is not active')
    const attempt = await this.#send(webhook, event.id, JSON.stringify(event))
    const { error, responseStatus } = attempt
    // From the first attempt, or the last change of the webhook, such as `resume`.
    const since = before && Math.max(Date.parse(before.createdAt), Date.parse(webhook.updatedAt))
    const isOver = since !== undefined && now() - since >= settings.giveUpAfter
    // 410 Gone: the receiver wants no more.
    const operation = responseStatus === 410 ? 'pause' : isOver ? 'fail' : undefined
    const status = error === undefined ? 'delivered' : operation === undefined ? 'waiting' : 'failed'
    const attempts = (before?.attempts ?? 0) + 1
    const about = { webhook: id, entry, event: event.id, type: event.type }
    const saving = saveDelivery(storage, { id: key, ...about, status, attempts, ...attempt }, before)
    if (error === undefined) {
      // It arrived, so it is not sent again because the storage did not answer.
      await saving.catch(error => { log.warn({ err: error }, 'A delivery is not listed') })
      return true
    }
    await saving
    if (operation !== undefined) await this.#end(operation, webhook, error)
    throw new Error(error)
  }

  /** The consumer ends when the change is seen, and continues after `resume`. */
  async #end (operation: 'pause' | 'fail', { id, revision }: Webhook, reason: string): Promise<void> {
    const { service, log } = this.options
    log.warn({ webhook: id, operation, reason }, 'A webhook gets no more events')
    await service.run(operation, id, { reason }, { command: `${operation}-${id}-${revision}` })
  }

  async #send (
    { url, secret }: Webhook, event: string, body: string
  ): Promise<Pick<Delivery, 'responseStatus' | 'error' | 'duration' | 'at'>> {
    const { settings: { allowPrivate, timeout }, post = transport.post } = this.options
    const { signal } = this.#stopped
    const started = now()
    const headers = {
      'content-type': 'application/cloudevents+json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'fastify-dealbook',
      ...signEvent(secret, event, body, started)
    }
    const sent = await post({ url, headers, body, allowPrivate, timeout, signal }).then(
      responseStatus => ({
        responseStatus,
        ...(/^2/.test(String(responseStatus)) ? {} : { error: `The response had the status ${responseStatus}` })
      }),
      error => {
        signal.throwIfAborted()
        return { error: String((error as Error).message).slice(0, 500) }
      }
    )
    return { ...sent, duration: now() - started, at: new Date(started).toISOString() }
  }
}

const prefix = 'webhook/'

function nameConsumer (webhook: string): string {
  return `${prefix}${webhook}`
}

/** What may be the ids of webhooks that have a place. */
async function listPlaces (storage: Storage): Promise<Set<string>> {
  const ids = new Set<string>()
  for await (const places of walk(storage, consumersShape.name, prefix)) {
    for (const { id } of places) if (String(id).startsWith(prefix)) ids.add(String(id).slice(prefix.length))
  }
  return ids
}

function selectCreation (family: Family, id: string): FieldCondition[] {
  const isCreation = [{ field: 'revision', op: 'eq', values: [1] }, { field: 'outcome', op: 'eq', values: ['done'] }]
  return [...selectLog(family, id), ...isCreation as FieldCondition[]]
}
