import { type Stats, statSync } from 'node:fs'

// Milliseconds between two checks while nothing is committed.
const checkFileEvery = 1000

/** Notices that the file of an open database was removed or replaced. SQLite would continue in the old one. */
export class FileGuard {
  // The device and the inode by file.
  readonly #known = new Map<string, string>()
  #checkedAt = performance.now()
  #flaw: string | undefined

  /** @param log the write-ahead log; undefined if the host may change the mode of the database */
  constructor (readonly file: string, readonly log: string | undefined) {
    this.#compare(file)
  }

  /** Called after a commit, before it is acknowledged: a system call of 2 to 3 µs. */
  confirmCommit (): void {
    this.#compare(this.file)
    // The first commit makes it.
    if (this.log !== undefined && !this.#known.has(this.log)) this.#compare(this.log)
  }

  /** Checks the files now and then. Throws for good once one is gone. */
  check (): void {
    if (this.#flaw !== undefined) throw new Error(this.#flaw)
    const now = performance.now()
    if (now - this.#checkedAt < checkFileEvery) return
    this.#checkedAt = now
    this.#compare(this.file)
    if (this.log !== undefined) this.#compare(this.log)
  }

  #compare (file: string): void {
    const stats = readStats(file)
    if (stats === null) return
    const known = this.#known.get(file)
    const found = stats && `${stats.dev} ${stats.ino}`
    if (known === found) return
    if (known === undefined) this.#known.set(file, found as string)
    else {
      this.#flaw = `${file} was ${found === undefined ? 'removed' : 'replaced'} while it was open; ` +
        'put it back and restart the process'
      throw new Error(this.#flaw)
    }
  }
}

/** Undefined if there is no such file; null if that cannot be known, such as without permission. */
function readStats (file: string): Stats | null | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch {
    return null
  }
}
