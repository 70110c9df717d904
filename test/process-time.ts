import {
  clearInterval, delay, now, performance, random, randomUUID, setInterval, type Timer, yieldToEventLoop
} from '../lib/core/runtime.js'
import { toolRuntime } from '../lib/tools/system.js'

// What `useRuntime` sets holds for consumers and other tools too, which do not reach into the core.
Object.assign(toolRuntime, {
  now,
  elapsed: () => performance.now(),
  random,
  randomUUID,
  setInterval,
  clearInterval: (timer: Timer) => { clearInterval(timer) },
  pause: yieldToEventLoop,
  delay: (time: number, signal: AbortSignal) => delay(time, undefined, { signal }).catch(() => {})
} satisfies typeof toolRuntime)
