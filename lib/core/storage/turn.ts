import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { WaitingLine } from './waiting-line.js'

// How long searches may hold the event loop before other requests continue, in milliseconds.
const maxMs = 5

let endOfAll: number | undefined

// One for all searches in the same turn of the loop: many small parts hold it up as one large one does.
function getEnd (): number {
  if (endOfAll === undefined) {
    endOfAll = performance.now() + maxMs
    setImmediate(() => { endOfAll = undefined })
  }
  return endOfAll
}

const waiting: (() => void)[] = []

/** Pauses for other requests if this turn of the loop was long: for long work that may never wait for anything else. */
export async function endLongTurn (): Promise<void> {
  if (performance.now() <= getEnd()) return
  await new Promise<void>(resolve => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(resumeOne)
  })
}

// One in each turn, however long that is: so none waits forever, and many are no long turn together.
function resumeOne (): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(resumeOne)
}

/** The turn that a search has on the event loop. */
export class Turn {
  #end = getEnd()
  #leaveLine: (() => void) | undefined

  /** @param line the queue of searches that need more than one turn */
  constructor (readonly signal?: AbortSignal, readonly line?: WaitingLine) {}

  get isOver (): boolean {
    return performance.now() > this.#end
  }

  /** Pauses for others, and begins the next turn, unless the signal is aborted. */
  async pass (): Promise<void> {
    if (this.line !== undefined) this.#leaveLine ??= await this.line.enter(this.signal)
    await yieldToEventLoop()
    this.signal?.throwIfAborted()
    this.#end = getEnd()
  }

  /** Called after the last turn: leaves the queue. */
  end (): void {
    this.#leaveLine?.()
    this.#leaveLine = undefined
  }
}
