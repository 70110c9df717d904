import { keepPerProcess, performance, setImmediate } from './runtime.js'

/** The phases at the end of a turn of the event loop, in this order. A read may lead to a second one. */
const order = ['begin', 'read', 'read', 'write'] as const

type Phase = typeof order[number]

// Taken at import, so that fake timers in a host's tests do not stop requests.
const { queueMicrotask, process: { nextTick } } = globalThis

interface ProcessPhases {
  readonly waiting: Record<Phase, (() => void)[]>
  isPlanned: boolean
  turnedAt: number
  beginning: Promise<void> | undefined
  lastConnection: object | undefined
  lastAt: number
}

const getPhases = keepPerProcess((): ProcessPhases => ({
  waiting: { begin: [], read: [], write: [] },
  isPlanned: false,
  turnedAt: -Infinity,
  beginning: undefined,
  lastConnection: undefined,
  lastAt: -Infinity
}))

// Milliseconds that one turn may work before it lets other events in.
const maxTurn = 5

/**
 * Runs this with all others of its phase, so that requests that arrive together are read and written together.
 * Taking turns for each request fills the processor's caches with other work: a small read takes four times as long.
 */
export function runInPhase (phase: Phase, run: () => void): void {
  const state = getPhases()
  state.waiting[phase].push(run)
  if (!state.isPlanned) plan(state, isTurnLong(state) ? setImmediate : nextTick)
}

export function isAlone (): boolean {
  const state = getPhases()
  return !state.isPlanned && !isTurnLong(state)
}

function isTurnLong ({ turnedAt }: ProcessPhases): boolean {
  return performance.now() - turnedAt > maxTurn
}

// In milliseconds. Requests further apart do not overlap.
const maxPause = 100

/**
 * Undefined if no other request can have arrived: the last came over the same connection, or long ago.
 *
 * @param connection undefined if it can carry several requests at once
 */
export function waitToBegin (connection?: object): Promise<void> | undefined {
  const state = getPhases()
  const now = performance.now()
  const sinceLast = now - state.lastAt
  const isFirst = sinceLast > maxPause || (connection !== undefined && connection === state.lastConnection)
  if (sinceLast > maxTurn) state.turnedAt = now
  state.lastConnection = connection
  state.lastAt = now
  if (isFirst && !state.isPlanned) return undefined
  state.beginning ??= new Promise(resolve => {
    state.waiting.begin.push(() => {
      state.beginning = undefined
      resolve()
    })
    if (!state.isPlanned) plan(state, setImmediate)
  })
  return state.beginning
}

function plan (state: ProcessPhases, defer: typeof setImmediate | typeof nextTick): void {
  state.isPlanned = true
  defer(() => {
    if (defer === setImmediate) state.turnedAt = performance.now()
    runFrom(state, 0)
  })
}

function runFrom (state: ProcessPhases, at: number): void {
  const { waiting } = state
  while (at < order.length && waiting[order[at] as Phase].length === 0) at++
  if (at === order.length) return finish(state)
  const phase = order[at] as Phase
  const runs = waiting[phase]
  waiting[phase] = []
  for (const run of runs) run()
  // A tick runs after all microtasks that this phase caused.
  queueMicrotask(() => nextTick(() => { runFrom(state, at + 1) }))
}

/** Leftovers wait for the next turn, so that endless work does not block other events. */
function finish (state: ProcessPhases): void {
  state.isPlanned = false
  if (Object.values(state.waiting).some(runs => runs.length > 0)) plan(state, setImmediate)
}
