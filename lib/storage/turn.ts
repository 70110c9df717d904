import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

// How long a search may hold the event loop before other requests go on.
const maxMs = 5

/** The turn that a search has on the event loop. */
export class Turn {
  #end = performance.now() + maxMs

  get isOver (): boolean {
    return performance.now() > this.#end
  }

  /** Lets others have theirs, and begins the next. */
  async pass (): Promise<void> {
    await yieldToEventLoop()
    this.#end = performance.now() + maxMs
  }
}
