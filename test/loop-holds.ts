import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

/**
 * The longest that the event loop was held while this ran, in milliseconds of the processor, not of the clock: how busy
 * the machine is makes no difference.
 */
export async function measureLoopHolds (work: () => Promise<unknown>): Promise<number> {
  const state = { isOver: false, longest: 0 }
  const done = work().finally(() => { state.isOver = true })
  let before = process.cpuUsage()
  while (!state.isOver) {
    await yieldToEventLoop()
    const { user, system } = process.cpuUsage(before)
    state.longest = Math.max(state.longest, (user + system) / 1000)
    before = process.cpuUsage()
  }
  await done
  return state.longest
}

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
