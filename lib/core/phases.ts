/** What is done at the end of a turn of the event loop, in this order. */
const order = ['begin', 'read', 'read', 'write'] as const

type Phase = typeof order[number]

// As they are now: what a host's tests put in their place later does not hold up requests.
const { setImmediate, queueMicrotask, performance, process: { nextTick } } = globalThis

const waiting: Record<Phase, (() => void)[]> = { begin: [], read: [], write: [] }
let isPlanned = false

// How long (in milliseconds) one turn may work before it looks at what else has arrived.
const maxTurn = 5
let turnedAt = -Infinity

/**
 * Calls this as soon as all that is under way has been done, or in a phase that is still to come. Requests that arrive
 * together are so begun together, read together and written together, each phase with all that follows from it at once
 * (what is read may lead to a second read). Where parsing, deciding, reading and sending take turns for each request,
 * they find the caches of the processor filled by one another, and a small read takes four times as long.
 */
export function runInPhase (phase: Phase, run: () => void): void {
  waiting[phase].push(run)
  if (!isPlanned) plan(isTurnLong() ? setImmediate : nextTick)
}

/** Whether there is nothing to wait for: no other request has arrived, and this turn has not lasted long. */
export function isAlone (): boolean {
  return !isPlanned && !isTurnLong()
}

function isTurnLong (): boolean {
  return performance.now() - turnedAt > maxTurn
}

let beginning: Promise<void> | undefined
let lastConnection: object | undefined
let lastAt = -Infinity

// Clients that ask less often than this (in milliseconds) do not meet.
const maxPause = 100

/**
 * Fulfilled at the end of this turn of the event loop, when the requests that have arrived in it begin; undefined where
 * no other can have: the last request came over the same connection, which waits for its answer, or long ago.
 *
 * @param connection over which the request came; none where it can carry several at once
 */
export function waitToBegin (connection?: object): Promise<void> | undefined {
  const now = performance.now()
  const sinceLast = now - lastAt
  const isFirst = sinceLast > maxPause || (connection !== undefined && connection === lastConnection)
  // What arrives after a while has come with a turn.
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
  // Ticks come when all that follows from it has been done.
  queueMicrotask(() => nextTick(() => { runFrom(at + 1) }))
}

/** What came too late in this turn, or continues without end, waits for the next, as others do. */
function finish (): void {
  isPlanned = false
  if (Object.values(waiting).some(runs => runs.length > 0)) plan(setImmediate)
}
