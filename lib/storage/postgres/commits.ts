import { setTimeout as delay } from 'node:timers/promises'
import { Bounded } from '../sql/bounded.js'
import type { Layout } from '../sql/layout.js'
import { batchText, overtaken, partOf } from './batch.js'
import type { Row } from './batch.js'
import type { Runner } from './driver.js'
import { refusal } from './effects.js'
import type { Effect } from './effects.js'

interface Waiting {
  readonly effects: readonly Effect[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

// More than one batch at a time, so that a row which somebody keeps locked does not hold up commits to others.
const batchesAtMost = 2
const rowsAtMost = 1000
const attempts = 10

/**
 * Group commit: the commits of one turn of the event loop, and all that come while a batch is under way, go to the server in
 * one statement. Each is answered for itself. A batch has one commit per item; others on the same item wait their turn.
 */
export class CommitQueue {
  #waiting: Waiting[] = []
  readonly #underWay = new Set<string>()
  readonly #texts = new Bounded<string>(100)
  #batches = 0
  #scheduled = false
  #idle: (() => void)[] = []

  constructor (readonly runner: Runner, readonly layoutOf: (family: string) => Layout) {}

  async add (effects: readonly Effect[]): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ effects, resolve, reject })
      this.#schedule()
    })
  }

  /** Fulfilled when nothing waits any more. */
  async idle (): Promise<void> {
    if (this.#batches === 0 && this.#waiting.length === 0) return
    await new Promise<void>(resolve => { this.#idle.push(resolve) })
  }

  #schedule (): void {
    if (this.#scheduled || this.#batches >= batchesAtMost || this.#waiting.length === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      const batch = this.#take()
      if (batch.length > 0) this.#run(batch).catch(() => {})
    })
  }

  #take (): Waiting[] {
    const batch: Waiting[] = []
    const left: Waiting[] = []
    // A commit does not overtake one that came before it and has an item in common.
    const taken = new Set(this.#underWay)
    let rows = 0
    for (const waiting of this.#waiting) {
      const free = waiting.effects.every(({ key }) => !taken.has(key))
      for (const { key } of waiting.effects) taken.add(key)
      if (free && (rows === 0 || rows + waiting.effects.length <= rowsAtMost)) {
        rows += waiting.effects.length
        batch.push(waiting)
      } else left.push(waiting)
    }
    this.#waiting = left
    return batch
  }

  async #run (batch: readonly Waiting[]): Promise<void> {
    const keys = batch.flatMap(({ effects }) => effects.map(({ key }) => key))
    this.#batches++
    for (const key of keys) this.#underWay.add(key)
    const observed = new Map<string, number | undefined>()
    try {
      await this.#write(batch, observed)
    } catch (error) {
      // Where it was the data of one commit that the server refused, the others must not suffer for it.
      if (batch.length > 1 && isAboutData(error)) {
        for (const one of batch) await this.#write([one], observed).catch(one.reject)
      } else for (const { reject } of batch) reject(error)
    }
    for (const key of keys) this.#underWay.delete(key)
    this.#batches--
    this.#refuse(observed)
    this.#schedule()
    if (this.#batches === 0 && this.#waiting.length === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  async #write (batch: readonly Waiting[], observed: Map<string, number | undefined>): Promise<void> {
    const byFamily = new Map<string, Row[]>()
    const rows: Row[] = []
    batch.forEach(({ effects }, c) => {
      for (const effect of effects) {
        const row = { n: rows.length, c, effect }
        rows.push(row)
        const family = byFamily.get(effect.family)
        if (family === undefined) byFamily.set(effect.family, [row])
        else family.push(row)
      }
    })
    // Always in one order of families, so that no two processes wait for each other.
    const parts = [...byFamily.keys()].sort().map(family => partOf(this.layoutOf(family), byFamily.get(family) as Row[]))
    const shape = parts.map(({ layout, actions }) => `${layout.serial} ${[...actions].sort().join()}`).join('\n')
    const text = this.#texts.get(shape, () => batchText(parts))

    const refused = new Set<number>()
    for (const [n, revision] of await this.#retrying(text, parts.map(({ json }) => json)) as [string, string | null][]) {
      if (n === '-1') continue
      refused.add(Number(n))
      observed.set((rows[Number(n)] as Row).effect.key, revision === null ? undefined : Number(revision))
    }
    const reasons = new Map<number, Effect>()
    for (const { n, c, effect } of rows) if (refused.has(n) && !reasons.has(c)) reasons.set(c, effect)
    batch.forEach(({ effects, resolve, reject }, c) => {
      const reason = reasons.get(c)
      if (reason !== undefined) return reject(refusal(reason))
      for (const { key, revision } of effects) observed.set(key, revision)
      resolve()
    })
  }

  async #retrying (text: string, values: string[]): Promise<unknown[][]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.runner.rows(text, values)
      } catch (error) {
        // Overtaken, not serializable, deadlock: nothing of it was done.
        if (attempt === attempts || ![overtaken, '40001', '40P01'].includes(codeOf(error))) throw error
      }
      await delay(Math.random() * 5 * attempt)
    }
  }

  /** Refuses at once those that wait for an item which is now known to be at another revision than they expect. */
  #refuse (observed: Map<string, number | undefined>): void {
    this.#waiting = this.#waiting.filter(({ effects, reject }) => {
      const unfit = effects.find(({ key, expected }) => observed.has(key) && observed.get(key) !== expected)
      if (unfit !== undefined) {
        reject(refusal(unfit))
        return false
      }
      // It may change these items, so those behind it have to wait for it.
      for (const { key } of effects) observed.delete(key)
      return true
    })
  }
}

function codeOf (error: unknown): string {
  return (error as { code?: string }).code ?? ''
}

// SQLSTATE: data exceptions and broken constraints; whatever else has to do with the server or the way to it.
function isAboutData (error: unknown): boolean {
  return /^2[23]...$/.test(codeOf(error))
}
