/** The phases at the end of a turn of the event loop, in this order. A read may lead to a second one. */
const order = ['begin', 'read', 'read', 'write'] as const

type Phase = typeof order[number]

// Taken at import, so that fake timers in a host's tests do not stop requests.
const { setImmediate, queueMicrotask, performance, process: { nextTick } } = globalThis

const waiting: Record<Phase, (() => void)[]> = { begin: [], read: [], write: [] }
let isPlanned = false

// Milliseconds that one turn may work before it lets other events in.
const maxTurn = 5
let turnedAt = -Infinity

/**
 * Runs this with all others of its phase, so that requests that arrive together are read and written together.
 * Taking turns for each request fills the processor's caches with other work: a small read takes four times as long.
 */
export function runInPhase (phase: Phase, run: () => void): void {
  waiting[phase].push(run)
  if (!isPlanned) plan(isTurnLong() ? setImmediate : nextTick)
}

export function isAlone (): boolean {
  return !isPlanned && !isTurnLong()
}

function isTurnLong (): boolean {
  return performance.now() - turnedAt > maxTurn
}

let beginning: Promise<void> | undefined
let lastConnection: object | undefined
let lastAt = -Infinity

// In milliseconds. Requests further apart do not overlap.
const maxPause = 100

/**
 * Undefined if no other request can have arrived: the last came over the same connection, or long ago.
 *
 * @param connection undefined if it can carry several requests at once
 */
export function waitToBegin (connection?: object): Promise<void> | undefined {
  const now = performance.now()
  const sinceLast = now - lastAt
  const isFirst = sinceLast > maxPause || (connection !== undefined && connection === lastConnection)
  if (sinceLast > maxTurn) turnedAt = now
  lastConnection = connection
  lastAt = now
  if (isFirst && !isPlanned) return undefined
  beginning ??= new Promise(resolve => {
    waiting.begin.push(() => {
      beginning = undefined
      resolve()
    })
    if (!isPlanned) plan(setImmediate)
  })
  return beginning
}

function plan (defer: typeof setImmediate | typeof nextTick): void {
  isPlanned = true
  defer(() => {
    if (defer === setImmediate) turnedAt = performance.now()
    runFrom(0)
  })
}

function runFrom (at: number): void {
  while (at < order.length && waiting[order[at] as Phase].length === 0) at++
  if (at === order.length) return finish()
  const phase = order[at] as Phase
  const runs = waiting[phase]
  waiting[phase] = []
  for (const run of runs) run()
  // A tick runs after all microtasks that this phase caused.
  queueMicrotask(() => nextTick(() => { runFrom(at + 1) }))
}

/** Leftovers wait for the next turn, so that endless work does not block other events. */
function finish (): void {
  isPlanned = false
  if (Object.values(waiting).some(runs => runs.length > 0)) plan(setImmediate)
}
