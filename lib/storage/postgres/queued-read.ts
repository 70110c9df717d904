/** A statement with its values. */
export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
  /**
   * The same for several sets of values: takes an array for each value, and answers one row at most for each set, with
   * the number of the set (from 1) after its columns.
   */
  readonly shared?: string | undefined
}

/** A statement that is to be sent, and the one who waits for its rows. */
export class QueuedRead {
  readonly since = performance.now()
  /** Whether it has waited for a connection for longer than a turn. */
  isLate = false
  /** Whether it is sent by itself, since what the server refuses of several may be the data of one. */
  isAlone = false
  /** How often it was sent and undone. */
  attempts = 0
  /** Called when nobody waits for it any more. */
  onLeft: (() => void) | undefined
  #resolve: ((rows: unknown[][]) => void) | undefined
  #reject: ((error: unknown) => void) | undefined

  constructor (readonly table: string, readonly statement: Statement) {}

  /** Whether somebody waits for it. */
  get isWanted (): boolean {
    return this.#resolve !== undefined
  }

  /** The rows that it brings, unless the signal ends the waiting. */
  wait (signal: AbortSignal | undefined): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      if (signal === undefined) return
      const stop = (): void => {
        this.reject(signal.reason)
        this.onLeft?.()
      }
      if (signal.aborted) return stop()
      signal.addEventListener('abort', stop, { once: true })
      this.#end = () => { signal.removeEventListener('abort', stop) }
    })
  }

  #end: (() => void) | undefined

  resolve (rows: unknown[][]): void {
    this.#resolve?.(rows)
    this.#forget()
  }

  reject (error: unknown): void {
    this.#reject?.(error)
    this.#forget()
  }

  #forget (): void {
    this.#end?.()
    this.#resolve = this.#reject = this.#end = undefined
  }
}
