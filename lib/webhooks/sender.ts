import { setMaxListeners } from 'node:events'
import type { FastifyBaseLogger } from 'fastify'
import {
  ConflictError, describe, DuplicateError, type FamilyModel, type FieldCondition, type FollowedCommand, type Id,
  Problem, type Service, type Storage, type Stored
} from '../index.js'
import {
  addConsumer, consume, consumersTable, findCursor, findEntry, listConsumers, removeConsumer,
  skipPruned
} from '../tools/index.js'
import { deleteDeliveries, type Delivery, getDelivery, nameDelivery, saveDelivery } from './deliveries.js'
import { type EventSource, makeEvent, signEvent, type Sources } from './event.js'
import { transport } from './request.js'
import { system } from './system.js'

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
  /** That of the webhooks. */
  readonly family: EventSource['family']
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
// Webhooks that are read at once.
const pageSize = 100
export const sendAgainAction = 'SendWebhookAgain'

/** Sends events to the webhooks of a storage: one consumer for each, so that no receiver holds up others. */
export class Sender {
  readonly #stopped = new AbortController()
  readonly #runners = new Map<string, Runner>()
  readonly #following: Promise<void>
  readonly #model: FamilyModel
  readonly #service: Service

  constructor (readonly options: SenderOptions) {
    const { family, storage } = options
    this.#model = describe(family)
    this.#service = family.service({ storage, authorize: () => ({ claims: { sendsWebhooks: true } }) })
    // Every attempt listens to it, and every webhook may make one.
    setMaxListeners(0, this.#stopped.signal)
    this.#following = this.#retry(this.#stopped.signal, () => this.#follow())
  }

  /** @param limit milliseconds to wait: the storage may not answer, and the leases then end by themselves */
  async stop (limit: number): Promise<void> {
    this.#stopped.abort()
    for (const { stop } of this.#runners.values()) stop.abort()
    const ended = this.#following.then(() => Promise.all(Array.from(this.#runners.values(), ({ done }) => done)))
    const waiting = new AbortController()
    await Promise.race([ended, system.delay(limit, waiting.signal).catch(() => {})])
    waiting.abort()
  }

  /** Keeps a consumer for every active webhook. */
  async #follow (): Promise<void> {
    const { storage } = this.options
    const { signal } = this.#stopped
    // Before the list, so that no change in between is missed.
    const after = await findCursor(storage)
    const missing = new Set(this.#runners.keys())
    const places = await listPlaces(storage)
    for (let next: string | undefined, isFirst = true; isFirst || next !== undefined; isFirst = false) {
      const page = await this.#service.find('', { limit: pageSize, ...next !== undefined && { after: next }, signal })
      const webhooks = await Promise.all(page.items.map(({ id }) => this.#read(id as Id)))
      for (const webhook of webhooks) {
        if (webhook === undefined) continue
        missing.delete(webhook.id)
        places.delete(webhook.id)
        this.#take(webhook.id, webhook)
      }
      next = page.next
    }
    // Deleted while no process saw it, unless another consumer has such a name.
    for (const id of places) if (await this.#hasLog(id)) missing.add(id)
    for (const id of missing) this.#take(id, undefined)
    for await (const entry of this.#service.follow({ after, signal })) {
      const id = String(entry[this.#model.singular])
      this.#take(id, await this.#read(id))
    }
  }

  /** As it is stored: with its secret, under the names of the table. */
  async #read (id: Id): Promise<Webhook | undefined> {
    return await this.options.storage.get(this.#model.name, id) as Webhook | undefined
  }

  async #hasLog (id: string): Promise<boolean> {
    try {
      await this.#service.log(id, { limit: 1, signal: this.#stopped.signal })
      return true
    } catch (error) {
      if (isProblem(error, 'not-found')) return false
      throw error
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
        const isConflict = error instanceof ConflictError || error instanceof DuplicateError
        if (!isConflict) this.options.log.error({ err: error }, 'Webhooks cannot be sent now')
        await system.delay(pauseAfterFailure * system.random(), signal).catch(() => {})
      }
    }
  }

  /** Its place would hold up `prune`. */
  async #forget (id: string): Promise<void> {
    const { storage } = this.options
    await removeConsumer(storage, nameConsumer(id))
    await deleteDeliveries(storage, id)
  }

  async #run (webhook: Webhook, signal: AbortSignal): Promise<void> {
    const { storage, family } = this.options
    const { id, status } = webhook
    const name = nameConsumer(id)
    const isNew = await storage.get(consumersTable.name, name) === undefined
    if (isNew) {
      if (await this.#read(id) === undefined) return
      // A failover may take a new webhook back; its place would stay.
      await storage.confirm?.(this.#model.name, id)
    }
    // A webhook gets what happened after it was created.
    const start = await findCursor(storage, { family, id })
    // So that `prune` keeps what it is to get from now on, also while it is paused or failing.
    if (isNew) await addConsumer(storage, { name, after: start })
    if (status !== 'active' || await this.#consume(webhook, start, signal)) return
    // First, so that nothing is skipped silently if this process ends in between.
    await this.#end('fail', webhook, 'Events that were not sent yet were deleted by prune')
    await skipPruned(storage, name)
  }

  /** Returns whether it ended without missing anything. @param start where it begins, if it has no place */
  async #consume (webhook: Webhook, start: string, signal: AbortSignal): Promise<boolean> {
    const { storage, sources, settings: { retryDelay, maxRetryDelay } } = this.options
    const { actions } = this.#model
    const missed = new AbortController()
    const deleted = new AbortController()
    const deletion = actions.find(({ kind }) => kind === 'remove')?.action
    const isDeletion = (entry: FollowedCommand): boolean =>
      this.#isAbout(webhook, entry) && entry.action === deletion && entry.outcome === 'done'
    await consume(storage, {
      name: nameConsumer(webhook.id),
      families: Array.from(sources.values(), ({ family }) => family),
      where: [{ op: 'any', of: [this.#selectEvents(webhook), this.#selectOwn(webhook)] }],
      after: start,
      maxAttempts: Number.MAX_SAFE_INTEGER,
      retryDelay,
      maxRetryDelay,
      signal: AbortSignal.any([signal, missed.signal, deleted.signal]),
      handler: async entry => {
        // Not passed: so `prune` keeps it, by which the next process knows that the webhook is gone.
        if (isDeletion(entry)) deleted.abort()
        else if (!await this.#handle(webhook, entry)) missed.abort()
      }
    }).catch((error: unknown) => {
      if (!isProblem(error, 'pruned')) throw error
      missed.abort()
    })
    return !missed.signal.aborted
  }

  /** Returns whether the entry still exists, or need not be sent. */
  async #handle (webhook: Webhook, entry: FollowedCommand): Promise<boolean> {
    const { storage } = this.options
    if (entry.outcome !== 'done') return true
    const key = nameDelivery(webhook.id, entry.position)
    if (this.#isAbout(webhook, entry) && entry.action === sendAgainAction) {
      const again = await getDelivery(storage, String((entry.params as { delivery?: unknown }).delivery))
      if (again !== undefined) await this.#deliver(webhook.id, key, again.entry)
    }
    const { actions = [entry.action] } = webhook
    const isEvent = this.#listFamilies(webhook).includes(entry.family) && actions.includes(entry.action)
    return !isEvent || await this.#deliver(webhook.id, key, entry.id)
  }

  #isAbout ({ id }: Webhook, entry: FollowedCommand): boolean {
    const { name, singular } = this.#model
    return entry.family === name && entry[singular] === id
  }

  #selectEvents (webhook: Webhook): FieldCondition<'family' | 'action'>[] {
    const { actions } = webhook
    return [
      { field: 'family', op: 'eq', values: this.#listFamilies(webhook) },
      ...actions === undefined ? [] : [{ field: 'action', op: 'eq', values: actions } as const]
    ]
  }

  #selectOwn ({ id }: Webhook): FieldCondition<'family' | 'target'>[] {
    return [{ field: 'family', op: 'eq', values: [this.#model.name] }, { field: 'target', op: 'eq', values: [id] }]
  }

  /** The families whose events it gets. By default, all but the webhooks. */
  #listFamilies ({ families }: Webhook): readonly string[] {
    return families ?? [...this.options.sources.keys()].filter(name => name !== this.#model.name)
  }

  /** One attempt; throws where it must be repeated. Returns false if the entry was pruned. */
  async #deliver (id: string, key: string, entry: string): Promise<boolean> {
    const { storage, sources, settings, log } = this.options
    const found = await findEntry(storage, Array.from(sources.values(), ({ family }) => family), entry)
    const before = await getDelivery(storage, key)
    // One that arrived is not sent again after a restart.
    if (before?.status === 'delivered') return true
    if (found === undefined) return false
    const webhook = await this.#read(id)
    if (webhook?.status !== 'active') throw new Error('The webhook is not active')
    const event = makeEvent(sources, sources.get(found.family) as EventSource, found)
    const attempt = await this.#send(webhook, event.id, JSON.stringify(event))
    const { error, responseStatus } = attempt
    // From the first attempt, or the last change of the webhook, such as `resume`.
    const since = before && Math.max(Date.parse(before.createdAt), Date.parse(webhook.updatedAt))
    const isOver = since !== undefined && system.now() - since >= settings.giveUpAfter
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
    const { log } = this.options
    log.warn({ webhook: id, operation, reason }, 'A webhook gets no more events')
    await this.#service.run(operation, id, { reason }, { command: `${operation}-${id}-${revision}` })
  }

  async #send (
    { url, secret }: Webhook, event: string, body: string
  ): Promise<Pick<Delivery, 'responseStatus' | 'error' | 'duration' | 'at'>> {
    const { settings: { allowPrivate, timeout }, post = transport.post } = this.options
    const { signal } = this.#stopped
    const started = system.now()
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
    return { ...sent, duration: system.now() - started, at: new Date(started).toISOString() }
  }
}

const prefix = 'webhook/'

function nameConsumer (webhook: string): string {
  return `${prefix}${webhook}`
}

/** What may be the ids of webhooks that have a place. */
async function listPlaces (storage: Storage): Promise<Set<string>> {
  const names = (await listConsumers(storage)).map(({ name }) => name)
  return new Set(names.filter(name => name.startsWith(prefix)).map(name => name.slice(prefix.length)))
}

function isProblem (error: unknown, code: Problem['code']): boolean {
  return error instanceof Problem && error.code === code
}
