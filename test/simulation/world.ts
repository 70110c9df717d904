import { type Runtime, type Timer, useRuntime } from '../../lib/core/runtime.js'
import { Random } from './random.js'

const { setImmediate: nextTurn } = globalThis

/** A process of the simulation: what it owns is dropped with it. */
export interface Actor {
  readonly name: string
  readonly runtime: Runtime
  isDead: boolean
  /** Until then, nothing of it runs: a stop of the machine, or a long collection of garbage. */
  pausedUntil: number
}

interface Event extends Timer {
  at: number
  order: number
  run: () => void
  readonly owner: Actor | undefined
  isCancelled: boolean
}

const epoch = Date.UTC(2030, 0, 1)
// Histories of 100,000 seeds have at most a tenth of it.
const maxSteps = 100_000

/**
 * Time, and everything that is to happen, in order. An event runs together with all microtasks and ticks that follow
 * from it, as in a turn of the event loop; until the next one, timers and storages belong to the owner of the event.
 */
export class World {
  now = 0
  steps = 0
  current: Actor | undefined
  violation: string | undefined
  readonly trace: string[] | undefined
  #hash = 0x811c9dc5
  #orders = 0
  readonly #queue: Event[] = []
  readonly #outside: Runtime

  constructor (readonly seed: number, isTraced: boolean) {
    this.trace = isTraced ? [] : undefined
    this.#outside = this.makeRuntime(() => null, new Random(seed, 'outside'), 0, 1)
  }

  /** Of a process whose clock is wrong by `offset` milliseconds, and runs `rate` times as fast. */
  makeRuntime (owner: () => Actor | null, random: Random, offset: number, rate: number): Runtime {
    const repeat = (run: () => void, time: number): Event => {
      const timer = this.after(time, () => {
        timer.at = this.now + time
        this.#push(timer)
        run()
      }, owner())
      return timer
    }
    return {
      now: () => Math.floor(epoch + this.now * rate + offset),
      elapsed: () => this.now * rate,
      setTimeout: (run, time) => this.after(time / rate, run, owner()),
      setInterval: (run, time) => repeat(run, time / rate),
      clear: timer => { if (timer !== undefined) (timer as Event).isCancelled = true },
      setImmediate: run => this.after(0, run, owner()),
      random: () => random.next(),
      randomUUID: () => [8, 4, 4, 4, 12].map(digits => random.hex(digits)).join('-'),
      randomBytes: size => Buffer.from(random.hex(2 * size), 'hex'),
      kept: []
    }
  }

  /** @param owner null if it happens outside of all processes */
  after (time: number, run: () => void, owner: Actor | null | undefined = this.current): Event {
    const event: Event = {
      at: this.now + Math.max(0, time),
      order: 0,
      run,
      owner: owner ?? undefined,
      isCancelled: false,
      ref: () => event,
      unref: () => event
    }
    this.#push(event)
    return event
  }

  cancel (event: Event): void {
    event.isCancelled = true
  }

  /** For clients, which are outside of all processes. */
  sleep (time: number): Promise<void> {
    return new Promise(resolve => { this.after(time, resolve, null) })
  }

  note (text: () => string): void {
    this.trace?.push(`${this.now.toFixed(0).padStart(7)} ${(this.current?.name ?? '').padEnd(4)} ${text()}`)
  }

  fail (violation: string): void {
    this.note(() => `VIOLATION ${violation}`)
    this.violation ??= violation
  }

  /** A number of what has happened so far. */
  get digest (): string {
    return this.#hash.toString(16).padStart(8, '0')
  }

  mix (value: number): void {
    this.#hash = Math.imul(this.#hash ^ value, 0x01000193) >>> 0
  }

  /** Runs all events until the time, or until the end. */
  async run (until: () => boolean, latest: number): Promise<void> {
    const restore = this.#patch()
    try {
      await new Promise<void>(resolve => {
        const step = (): void => {
          const event = this.violation === undefined && !until() ? this.#take(latest) : undefined
          if (event === undefined) return resolve()
          this.#begin(event)
          nextTurn(step)
          event.run()
        }
        nextTurn(step)
      })
    } finally {
      restore()
    }
  }

  /** Lets what is left end, and forgets what that leads to. */
  async end (work: () => void): Promise<void> {
    const restore = this.#patch()
    this.violation ??= ''
    useRuntime(this.#outside)
    work()
    await new Promise(resolve => { nextTurn(resolve) })
    restore()
    if (this.violation === '') this.violation = undefined
  }

  #begin ({ at, owner }: Event): void {
    this.now = Math.max(this.now, at)
    if (++this.steps > maxSteps) this.fail('it does not end')
    this.current = owner
    this.mix(Math.floor(this.now) ^ (owner === undefined ? 0 : owner.name.charCodeAt(1) << 20))
    useRuntime(owner?.runtime ?? this.#outside)
  }

  /** The next event of a living process. */
  #take (latest: number): Event | undefined {
    for (;;) {
      const event = this.#queue[0]
      if (event === undefined || event.at > latest) return undefined
      this.#pop()
      const { owner } = event
      if (event.isCancelled || owner?.isDead === true) continue
      if (owner === undefined || owner.pausedUntil <= this.now || owner.pausedUntil <= event.at) return event
      event.at = owner.pausedUntil
      this.#push(event)
    }
  }

  /** Requests that are injected use immediates of Node. What nobody catches is a bug, too. */
  #patch (): () => void {
    const { setImmediate } = globalThis
    const fail = (error: unknown): void => { this.fail(`unhandled: ${String((error as Error).stack ?? error)}`) }
    globalThis.setImmediate = ((run: (...given: unknown[]) => void, ...given: unknown[]) =>
      this.after(0, () => { run(...given) })) as never
    process.on('unhandledRejection', fail)
    return () => {
      globalThis.setImmediate = setImmediate
      process.off('unhandledRejection', fail)
      // Not that of the system: a timer of what is left would keep this process alive.
      useRuntime(this.#outside)
    }
  }

  // A binary heap.
  #push (event: Event): void {
    event.order = this.#orders++
    const queue = this.#queue
    let at = queue.push(event) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(event, queue[above] as Event)) break
      queue[at] = queue[above] as Event
      at = above
    }
    queue[at] = event
  }

  #pop (): void {
    const queue = this.#queue
    const last = queue.pop() as Event
    if (queue.length === 0) return
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= queue.length) break
      if (below + 1 < queue.length && isBefore(queue[below + 1] as Event, queue[below] as Event)) below++
      if (!isBefore(queue[below] as Event, last)) break
      queue[at] = queue[below] as Event
      at = below
    }
    queue[at] = last
  }
}

function isBefore (one: Event, other: Event): boolean {
  return one.at === other.at ? one.order < other.order : one.at < other.at
}
