import { keepPerProcess, now, randomUUID } from './runtime.js'

const getLastUuid = keepPerProcess(() => ({ last: 0, counter: 0, prefix: '' }))

/** UUID version 7, ordered by time and, within a process, by call. Node has none, and packages are larger than this. */
export function uuidv7 (time = now()): string {
  const state = getLastUuid()
  if (time > state.last || ++state.counter > 0xfff) {
    state.last = Math.max(time, state.last + 1)
    state.counter = 0
    const digits = state.last.toString(16).padStart(12, '0')
    state.prefix = `${digits.slice(0, 8)}-${digits.slice(8)}-7`
  }
  // Node caches random bytes for its UUIDs, so variant and random digits are cheapest from there.
  return `${state.prefix}${state.counter.toString(16).padStart(3, '0')}${randomUUID().slice(18)}`
}
