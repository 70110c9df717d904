// What became of the commands of a fault, beside what clients, followers, the consumer and the webhook were told.
import { setTimeout as delay } from 'node:timers/promises'
import { type Entry, type Load, type Seen, type Sent } from './load.js'

/** A fault at one entry. Times are in milliseconds. */
export interface Result {
  readonly fault: string
  readonly entry: string
  readonly acknowledged: number
  readonly replayed: number
  readonly unavailable: number
  readonly longestRequest: number
  readonly writesPaused: number
  readonly feedPaused: number
  readonly consumerPaused: number
  readonly webhookPaused: number
  /** How long a process took to close, where the fault has one closed. */
  readonly closing?: number | undefined
  /** Whatever should not be. */
  readonly lost: readonly string[]
  readonly twice: readonly string[]
  readonly wrong: readonly string[]
}

// Milliseconds: the timeout of a mount, and what a busy machine may add.
const longestAllowed = 10_000 + 4000
// For followers to catch up when the cluster is whole.
const catchUp = 40_000

/** Compares the whole ledger of an entry with the log and the items. */
export class Ledger {
  #cursor: string | undefined
  readonly #log: Entry[] = []
  /** Sent before the present fault. */
  #before = 0
  /** Found in an earlier fault. */
  readonly #known = new Set<string>()

  constructor (readonly load: Load) {}

  /** Of the commands since the last time, once all have an answer. */
  async check (fault: string, closing?: number): Promise<Result> {
    const { load } = this
    const { processes: [first] } = load
    const { log, cursor } = await load.readLog(this.#cursor)
    this.#cursor = cursor
    this.#log.push(...log)
    const wrong = [...load.wrong, ...await this.#checkFollowers(log)]
    if (load.longestRequest > longestAllowed) wrong.push(`a request took ${load.longestRequest} ms`)
    if (load.streamEnds > 0) wrong.push(`the stream ended ${load.streamEnds} times`)
    const tickets = await this.#readTickets()
    const lost = this.#new(this.#findLost(tickets))
    const twice = this.#new([...await this.#checkCounters(), ...this.#checkTickets(tickets)])
    const sent = load.sent.slice(this.#before)
    this.#before = load.sent.length
    return {
      fault,
      entry: load.name,
      acknowledged: sent.length,
      replayed: sent.filter(({ answer }) => answer?.isReplayed).length,
      unavailable: load.unavailable,
      longestRequest: load.longestRequest,
      writesPaused: load.written.longest,
      // Not of the follower in a process that was closed.
      feedPaused: Math.max(...load.followers.filter(({ name }) => closing === undefined || name !== first.name)
        .map(({ seen }) => seen.pulse.longest)),
      consumerPaused: load.consumed.pulse.longest,
      webhookPaused: load.delivered.pulse.longest,
      closing,
      lost,
      twice,
      wrong
    }
  }

  #new (found: readonly string[]): string[] {
    const fresh = found.filter(each => !this.#known.has(each))
    for (const each of fresh) this.#known.add(each)
    return fresh
  }

  /** Commands that a client was told are done, and that are not in the log or the items as it was told. */
  #findLost (tickets: readonly Ticket[]): string[] {
    const revisions = new Map(this.#log.map(({ id, revision }) => [id, revision]))
    const titles = new Map(tickets.map(({ id, title }) => [id, title]))
    const isThere = ({ key, counter, answer }: Sent): boolean => counter === undefined
      ? titles.get(answer?.ticket ?? 0) === key
      : revisions.get(key) === answer?.revision
    return this.load.sent.filter(sent => !isThere(sent))
      .map(({ key, counter, answer }) => `${key} of ${counter ?? 'a ticket'}, answered by ${JSON.stringify(answer)}`)
  }

  /** Counts that are not the sum of the commands. */
  async #checkCounters (): Promise<string[]> {
    const { sent } = this.load
    const found: string[] = []
    for (const counter of new Set(sent.flatMap(({ counter }) => counter ?? []))) {
      const amounts = sent.filter(each => each.counter === counter).map(({ amount }) => amount)
      const { total, revision } = await this.load.get<{ total: number, revision: number }>(`/counters/${counter}`)
      const sum = amounts.reduce((sum, amount) => sum + amount, 0)
      if (total !== sum) found.push(`${counter} is ${total}, its commands add ${sum}`)
      const entries = this.#log.filter(entry => entry.counter === counter).length
      if (revision !== amounts.length + 1) found.push(`${counter} has ${revision} revisions of ${amounts.length + 1}`)
      if (revision !== entries) found.push(`${counter} has ${revision} revisions and ${entries} entries`)
    }
    return found
  }

  async #readTickets (): Promise<Ticket[]> {
    const tickets: Ticket[] = []
    for (let path: string | undefined = '/tickets?maxpagesize=1000'; path !== undefined;) {
      const page: TicketPage = await this.load.get(path)
      tickets.push(...page.items)
      path = page.links.next
    }
    return tickets
  }

  /** Tickets that were made twice, and gaps in their numbers. */
  #checkTickets (tickets: readonly Ticket[]): string[] {
    const told = new Set(this.load.sent.map(({ key, answer }) => `${answer?.ticket} ${key}`))
    const twice = tickets.map(({ id, title }) => `${id} ${title}`).filter(each => !told.has(each))
    const last = Math.max(0, ...tickets.map(({ id }) => id))
    return [
      ...twice.map(each => `no client was told of ticket ${each}`),
      ...last === tickets.length ? [] : [`${tickets.length} tickets are numbered to ${last}`]
    ]
  }

  /** Followers get every entry once, in the order of the log; the others, each at least once. */
  async #checkFollowers (log: readonly Entry[]): Promise<string[]> {
    const { followers, consumed, delivered } = this.load
    const all = log.map(({ id }) => id)
    const ofCounters = log.filter(({ counter }) => counter !== undefined).map(({ id }) => id)
    const inOrder = followers.map(each => ({ ...each, ids: each.ofCounters ? ofCounters : all }))
    const others = Object.entries({ 'the consumer': consumed, 'the webhook': delivered })
      .map(([name, seen]) => ({ name, seen, ids: all }))
    const hasAll = ({ ids: seen }: Seen, ids: readonly string[]): boolean => {
      const set = new Set(seen)
      return ids.every(id => set.has(id))
    }
    const known = new Set(this.#log.map(({ id }) => id))
    const deadline = performance.now() + catchUp
    while (performance.now() < deadline && ![...inOrder, ...others].every(({ seen, ids }) => hasAll(seen, ids))) {
      await delay(100)
    }
    const wrong = [
      ...others.filter(({ seen, ids }) => !hasAll(seen, ids)).map(({ name }) => `${name} misses entries`),
      ...others.filter(({ seen }) => !seen.ids.every(id => known.has(id)))
        .map(({ name }) => `${name} got entries that are not in the log`),
      ...inOrder.filter(({ seen, ids }) => seen.ids.join() !== ids.join())
        .map(({ name, seen, ids }) => `${name} did not get each entry once, in order: ${describe(seen.ids, ids)}`)
    ]
    for (const { seen } of [...inOrder, ...others]) seen.ids = []
    return wrong
  }
}

interface Ticket {
  readonly id: number
  readonly title: string
}

interface TicketPage {
  readonly items: readonly Ticket[]
  readonly links: { readonly next?: string }
}

function describe (seen: readonly string[], ids: readonly string[]): string {
  const at = ids.findIndex((id, index) => seen[index] !== id)
  const missing = ids.filter(id => !seen.includes(id)).length
  return `${seen.length} of ${ids.length}, ${missing} missing, from ${at}: ` +
    `${seen.slice(at, at + 4).join()} instead of ${ids.slice(at, at + 4).join()}`
}
