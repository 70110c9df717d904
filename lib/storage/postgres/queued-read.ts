import type { Id } from '../storage.js'

/** A statement with its values. */
export interface Statement {
  readonly text: string
  readonly values: unknown[]
}

/** A statement that is to be sent, for whoever waits for its rows. */
export abstract class QueuedRead {
  /** The time since when somebody waits for it. */
  since = performance.now()
  /** How often it was sent. */
  attempts = 0
  /** Called when nobody waits for it any more. */
  onLeft: (() => void) | undefined

  constructor (readonly table: string) {}

  /** Whether somebody waits for it. */
  abstract get isWanted (): boolean
  /** Whether others may still join those who wait. */
  abstract get isOpen (): boolean
  /** What is to be sent, settled now; undefined where nobody waits for it. */
  abstract take (): Statement | undefined
  abstract resolve (rows: unknown[][]): void
  abstract reject (error: unknown): void
  /** The same as several reads, where the data of one may be what the server refuses. */
  abstract split (): readonly QueuedRead[]

  /** Waits until it is answered, or as long as the signal allows. */
  protected wait<T> (signal: AbortSignal | undefined, begin: (waiter: Waiter<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal === undefined) return begin({ resolve, reject, isGone: false })
      if (signal.aborted) return reject(signal.reason)
      const stop = (): void => {
        waiter.isGone = true
        reject(signal.reason)
        if (!this.isWanted) this.onLeft?.()
      }
      const waiter: Waiter<T> = {
        resolve (value) {
          signal.removeEventListener('abort', stop)
          resolve(value)
        },
        reject (error) {
          signal.removeEventListener('abort', stop)
          reject(error)
        },
        isGone: false
      }
      signal.addEventListener('abort', stop, { once: true })
      begin(waiter)
    })
  }
}

interface Waiter<T> {
  resolve (value: T): void
  reject (error: unknown): void
  isGone: boolean
}

/** A read for one who asked. */
export class SingleRead extends QueuedRead {
  #waiter: Waiter<unknown[][]> | undefined

  constructor (table: string, readonly statement: Statement) {
    super(table)
  }

  get isWanted (): boolean {
    return this.#waiter?.isGone === false
  }

  get isOpen (): boolean {
    return false
  }

  rows (signal: AbortSignal | undefined): Promise<unknown[][]> {
    return this.wait(signal, waiter => { this.#waiter = waiter })
  }

  take (): Statement | undefined {
    return this.isWanted ? this.statement : undefined
  }

  resolve (rows: unknown[][]): void {
    this.#waiter?.resolve(rows)
    this.#waiter = undefined
  }

  reject (error: unknown): void {
    this.#waiter?.reject(error)
    this.#waiter = undefined
  }

  split (): readonly QueuedRead[] {
    return []
  }
}

type Row = readonly unknown[]

/** How rows are read by their ids. */
export interface GetTexts {
  /** Takes one id. */
  readonly one: string
  /** Takes an array of them. */
  readonly many: string
  /** Where the id stands in a row. */
  readonly idAt: number
}

interface IdWaiter {
  readonly id: Id
  readonly waiter: Waiter<Row | undefined>
}

const maxIds = 100

/** Rows by their ids, for all who ask until it is sent. */
export class SharedGet extends QueuedRead {
  #waiters: IdWaiter[] = []
  #isTaken = false

  constructor (table: string, readonly texts: GetTexts) {
    super(table)
  }

  get isOpen (): boolean {
    return !this.#isTaken && this.#waiters.length < maxIds
  }

  get isWanted (): boolean {
    return this.#waiters.some(({ waiter }) => !waiter.isGone)
  }

  get (id: Id, signal: AbortSignal | undefined): Promise<Row | undefined> {
    return this.wait(signal, waiter => {
      if (!this.isWanted) this.since = performance.now()
      this.#waiters.push({ id, waiter })
    })
  }

  take (): Statement | undefined {
    this.#isTaken = true
    this.#waiters = this.#waiters.filter(({ waiter }) => !waiter.isGone)
    const ids = this.#waiters.map(({ id }) => id)
    if (ids.length === 0) return undefined
    return ids.length === 1 ? { text: this.texts.one, values: ids } : { text: this.texts.many, values: [ids] }
  }

  resolve (rows: unknown[][]): void {
    const { idAt } = this.texts
    if (this.#waiters.length === 1) this.#waiters[0]?.waiter.resolve(rows[0])
    else {
      // As texts, which is what rows consist of.
      const byId = new Map(rows.map(row => [row[idAt], row]))
      for (const { id, waiter } of this.#waiters) waiter.resolve(byId.get(String(id)))
    }
    this.#waiters = []
  }

  reject (error: unknown): void {
    for (const { waiter } of this.#waiters) waiter.reject(error)
    this.#waiters = []
  }

  split (): readonly QueuedRead[] {
    if (this.#waiters.length < 2) return []
    const parts = this.#waiters.map(one => {
      const part = new SharedGet(this.table, this.texts)
      part.#waiters = [one]
      return part
    })
    this.#waiters = []
    return parts
  }
}
