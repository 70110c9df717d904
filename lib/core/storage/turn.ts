import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { WaitingLine } from './waiting-line.js'

// How long searches may hold the event loop before other requests go on.
const maxMs = 5

let endOfAll: number | undefined

// One for all that search in the same turn of the loop: many small parts hold it up as one large one does.
function getEnd (): number {
  if (endOfAll === undefined) {
    endOfAll = performance.now() + maxMs
    setImmediate(() => { endOfAll = undefined })
  }
  return endOfAll
}

// Those for whom a turn had no time left.
const waiting: (() => void)[] = []

/** Lets others go on where this turn of the loop was long: for what goes on and on, and may never wait for anything. */
export async function endLongTurn (): Promise<void> {
  if (performance.now() <= getEnd()) return
  await new Promise<void>(resolve => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(letOneGoOn)
  })
}

// One in each turn, whoever else had it: so none waits forever, and many are no long turn together.
function letOneGoOn (): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(letOneGoOn)
}

/** The turn that a search has on the event loop. */
export class Turn {
  #end = getEnd()
  #leaveLine: (() => void) | undefined

  /** @param line of those that need more than one turn */
  constructor (readonly signal?: AbortSignal, readonly line?: WaitingLine) {}

  get isOver (): boolean {
    return performance.now() > this.#end
  }

  /** Lets others have theirs, and begins the next, unless nobody waits for the outcome any more. */
  async pass (): Promise<void> {
    if (this.line !== undefined) this.#leaveLine ??= await this.line.enter(this.signal)
    await yieldToEventLoop()
    this.signal?.throwIfAborted()
    this.#end = getEnd()
  }

  /** Called after the last turn: others in the line can go on. */
  end (): void {
    this.#leaveLine?.()
    this.#leaveLine = undefined
  }
}
