import { Watchers } from '../../core/storage/watchers.js'
import { prepareRead, type SqliteDatabase } from './driver.js'

// Milliseconds between two looks at the counter, which costs a few microseconds.
const interval = 100

/** Notices commits of this process at once, and of others by the change counter of the file. */
export class Changes {
  readonly #watchers = new Watchers()
  #timer: NodeJS.Timeout | undefined

  constructor (readonly database: SqliteDatabase) {}

  watch (wake: () => void): () => void {
    const stop = this.#watchers.add(wake)
    this.#timer ??= this.#start()
    return () => {
      stop()
      if (this.#watchers.isEmpty) this.stop()
    }
  }

  notify (): void {
    this.#watchers.notify()
  }

  stop (): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #start (): NodeJS.Timeout {
    const counter = prepareRead(this.database, 'PRAGMA data_version')
    let last = counter.get([])?.[0]
    return setInterval(() => {
      const now = counter.get([])?.[0]
      if (now === last) return
      last = now
      this.notify()
    }, interval).unref()
  }
}
