import { findPosition } from '../../lib/core/service/log-reads.js'
import type { Id, Members, Stored } from '../../lib/index.js'
import type { Host } from './host.js'
import type { Judge } from './judge.js'
import { isVisible, tenantOf } from './model.js'
import { isDeletion, type Journal, type Known } from './oracle.js'

/** Checks what one follower of the accounts gets: each entry once, in order, and nothing is left out silently. */
export class FollowerJudge {
  cursor: string | undefined
  #last = 0
  /** In commits: when it got its first entry. */
  #since: number | undefined

  constructor (readonly judge: Judge, readonly name: string, readonly principal: string) {}

  get #journal (): Journal {
    return this.judge.journal
  }

  receive (entry: Members): void {
    const { world } = this.judge
    const position = findPosition(String(entry.cursor)) as number
    world.note(() => `${this.name} receives ${position}`)
    this.judge.checkHidden(entry, this.principal)
    if (position <= this.#last) world.fail(`follower ${this.name}: ${position} after ${this.#last}`)
    this.#since ??= this.#journal.commits
    for (const known of this.#between(this.#last, position)) {
      // One that begins at the beginning gets what there is. Until its first entry, it may not have begun to read.
      if ((known.prunedAt ?? Infinity) > this.#since) {
        world.fail(`follower ${this.name}: ${position} after ${this.#last} without ${String(known.position)}`)
      }
    }
    this.#last = position
    this.cursor = String(entry.cursor)
  }

  /** It was told that entries were deleted. */
  restart (): void {
    this.cursor = undefined
    this.#last = 0
    this.#since = undefined
  }

  /** What it should have got between two positions. An entry of a deleted item is hidden from a tenant. */
  #between (after: number, before: number): Known[] {
    return this.#journal.byPosition.filter(({ entry, position = 0 }) =>
      position > after && position < before && entry.family === 'accounts' && this.#canSee(entry.target))
  }

  #canSee (target: string): boolean {
    const tenant = tenantOf(this.principal)
    if (tenant === undefined) return true
    // One that came back may have been deleted while its entries were passed.
    const wasDeleted = this.#journal.listEntries('accounts', target).some(isDeletion)
    return !wasDeleted && isVisible(this.#journal.database.peek('accounts', Number(target)), tenant)
  }

  /** What is still missing. */
  get missing (): string | undefined {
    const [missing] = this.#between(this.#last, Infinity).filter(({ prunedAt }) => prunedAt === undefined)
    return missing && `follower ${this.name}: has not got ${String(missing.position)}`
  }
}

/** Since when an entry is handled, and how many processes do it now. */
interface Handling {
  readonly since: number
  open: number
  /** What was sent may arrive until then. */
  lostUntil: number
}

/** Checks what a consumer does: each entry has one effect, after those of earlier entries of the same item. */
export class ConsumerJudge {
  readonly #handlings = new Map<string, Handling>()

  constructor (readonly journal: Journal, readonly name: string) {
    journal.handled = known => { this.#check(known) }
  }

  #check ({ entry, position = 0 }: Known): void {
    for (const earlier of this.journal.listEntries(entry.family, entry.target)) {
      if ((earlier.position ?? Infinity) < position && this.#isMissing(earlier)) {
        this.journal.world.fail(`consumer ${this.name}: ${position} before ${String(earlier.position)}`)
      }
    }
  }

  #isMissing ({ entry, hasEffect, prunedAt }: Known): boolean {
    if (entry.outcome !== 'done' || hasEffect === true || this.setAside.has(entry.id)) return false
    return prunedAt === undefined || prunedAt > (this.journal.consumers.get(this.name) ?? Infinity)
  }

  /** A process handles an entry, until it is dropped or calls what is returned. @param latest see `Faults` */
  begin (entry: string, host: Host, latest: number): () => void {
    const { world } = this.journal
    const handling = this.#handlings.get(entry) ?? { since: world.now, open: 0, lostUntil: 0 }
    this.#handlings.set(entry, handling)
    handling.open++
    const end = (): void => {
      host.open.delete(end)
      handling.open--
      handling.lostUntil = world.now + latest + 400
    }
    host.open.add(end)
    return end
  }

  /** Before this moment, no entry was first handled whose handler may still be called, or be at work. */
  get horizon (): number {
    const { world, database, entries } = this.journal
    const reached = this.#place?.position
    const { setAside } = this
    for (const [id, { open, lostUntil }] of this.#handlings) {
      const isPassed = Number(entries.get(id)?.position) <= Number(reached) && !setAside.has(id)
      // A failover may set the place back.
      if (isPassed && open === 0 && world.now > lostUntil && !database.isCut) this.#handlings.delete(id)
    }
    return Math.min(world.now, ...Array.from(this.#handlings.values(), ({ since }) => since))
  }

  get #place (): Stored | undefined {
    return this.journal.database.list('command-consumers').find(({ id }) => id === this.name)
  }

  get setAside (): ReadonlySet<Id> {
    const place = this.#place
    return new Set(([place?.parked ?? [], place?.retried ?? []].flat() as { id: string }[]).map(({ id }) => id))
  }

  get missing (): string | undefined {
    const missing = this.journal.byPosition.find(known =>
      ['accounts', 'tickets'].includes(known.entry.family) && this.#isMissing(known))
    return missing && `consumer ${this.name}: has not handled ${String(missing.position)}`
  }
}

const events = 'accounts'

/**
 * Receives the events of a webhook: all that happened after its creation, each at least once, the first time in the
 * order of the feed. What was pruned before any process saw the webhook may be missing, if the webhook was failing.
 */
export class Receiver {
  readonly #received = new Set<string>()
  readonly #isDeleted: () => boolean

  constructor (readonly judge: Judge) {
    this.#isDeleted = () => this.#findLast('DeleteWebhook') !== undefined
  }

  /** @param startedAt in commits: when the process that sends it was started */
  receive (id: string, body: string, startedAt: number): void {
    const { journal, world } = this.judge
    world.note(() => `webhook gets ${id}`)
    this.judge.checkHidden(body, undefined)
    const isFirst = !this.#received.has(id)
    this.#received.add(id)
    if (!isFirst) {
      // Once it is noted that it arrived, only a process that has not seen that sends it again.
      if ((journal.delivered.get(id) ?? Infinity) <= startedAt) world.fail(`webhook: got ${id} again`)
      return
    }
    const [family = '', target = '', revision] = id.split('/')
    const known = journal.listEntries(family, target).find(({ entry }) =>
      entry.outcome === 'done' && entry.revision === Number(revision))
    const { position = 0 } = known ?? {}
    if (position <= this.#start) return world.fail(`webhook: got ${id}, which was before its creation`)
    const missing = this.#findMissing(position)
    if (missing !== undefined) world.fail(`webhook: got ${id} before ${String(missing.position)}`)
  }

  #findLast (action: string): Known | undefined {
    return [...this.judge.journal.entries.values()].findLast(({ entry }) => entry.action === action)
  }

  get #start (): number {
    return this.#findLast('CreateWebhook')?.position ?? Infinity
  }

  #findMissing (before = Infinity): Known | undefined {
    const { byPosition } = this.judge.journal
    const start = this.#start
    const failedAt = this.#findLast('FailWebhook')?.committedAt ?? 0
    const wasPruned = ({ prunedAt = Infinity }: Known): boolean => prunedAt <= failedAt
    const lastPruned = byPosition.findLast(wasPruned)?.position ?? 0
    return byPosition.find(known => {
      const { entry, position = 0, prunedAt } = known
      return position > start && position < before && entry.family === events && entry.outcome === 'done' &&
        !this.#received.has(`${entry.family}/${entry.target}/${entry.revision}`) &&
        (prunedAt === undefined ? position > lastPruned : !wasPruned(known))
    })
  }

  get missing (): string | undefined {
    if (this.#isDeleted()) {
      const [place] = this.judge.journal.database.list('command-consumers')
        .filter(({ id }) => String(id).startsWith('webhook/'))
      return place && `webhook: its place ${place.id} is left`
    }
    const missing = this.#findMissing()
    return missing && `webhook: has not got ${String(missing.position)}`
  }
}
