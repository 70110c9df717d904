import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

/** How many turns the event loop had while this ran: whoever waits for one has to wait as long as a turn takes. */
export async function countTurns (work: () => Promise<unknown>): Promise<number> {
  const state = { isOver: false, turns: 0 }
  const done = work().finally(() => { state.isOver = true })
  while (!state.isOver) {
    await yieldToEventLoop()
    state.turns++
  }
  await done
  return state.turns
}
