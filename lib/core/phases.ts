import { executionAsyncResource } from 'node:async_hooks'

/** What is done at the end of a turn of the event loop, in this order. */
const order = ['begin', 'read', 'read', 'write'] as const

type Phase = typeof order[number]

// As they are now: what a host's tests put in their place later does not hold up requests.
const { setImmediate, queueMicrotask, process: { nextTick } } = globalThis

// One of the objects that Node makes for every tick. While none is alive, the garbage collector takes their hidden
// class too; where that happens before V8 has optimized `nextTick`, each of its calls, by anybody in the process, costs
// up to ten times as much for good: `node bench/ticks.js` shows it.
const kept: object[] = []
nextTick(() => { kept.push(executionAsyncResource()) })

const waiting: Record<Phase, (() => void)[]> = { begin: [], read: [], write: [] }
let isPlanned = false

/**
 * Calls this at the end of this turn of the event loop, or in a phase that is still to come in it. Requests that arrive
 * together are so begun together, read together and written together, each phase with all that follows from it at once
 * (what is read may lead to a second read). Where parsing, deciding, reading and sending take turns for each request,
 * they find the caches of the processor filled by one another, and a small read takes four times as long.
 */
export function runInPhase (phase: Phase, run: () => void): void {
  waiting[phase].push(run)
  if (isPlanned) return
  isPlanned = true
  setImmediate(() => { runFrom(0) })
}

let beginning: Promise<void> | undefined

/** Fulfilled in the phase in which requests begin. */
export function waitToBegin (): Promise<void> {
  beginning ??= new Promise(resolve => {
    runInPhase('begin', () => {
      beginning = undefined
      resolve()
    })
  })
  return beginning
}

function runFrom (at: number): void {
  while (at < order.length && waiting[order[at] as Phase].length === 0) at++
  if (at === order.length) return finish()
  const phase = order[at] as Phase
  const runs = waiting[phase]
  waiting[phase] = []
  for (const run of runs) run()
  // Ticks come when all that follows from it has been done.
  queueMicrotask(() => nextTick(() => { runFrom(at + 1) }))
}

/** Whatever came too late in this turn, or goes on and on, has to wait for the next, as others do. */
function finish (): void {
  isPlanned = Object.values(waiting).some(runs => runs.length > 0)
  if (isPlanned) setImmediate(() => { runFrom(0) })
}
