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

/**
 * Lets others go on where this turn of the loop was long: for what goes on and on, and may never wait for anything. Of
 * many who do so, those for whom the next turn has no time left wait for another.
 */
export async function endLongTurn (): Promise<void> {
  while (performance.now() > getEnd()) await yieldToEventLoop()
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
