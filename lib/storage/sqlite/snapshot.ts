import { statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Turn } from '../turn.js'
import type { SqliteDatabase } from './driver.js'

// As long as somebody reads from it, SQLite cannot begin its write-ahead log anew, and the log grows.
const maxLogBytes = 2 ** 24
// Twice as long as a slice, so that two who read see to it at the same time.
const pauseMs = 100

/**
 * The turns of a read that sees the data as it was when it began; where others write so much meanwhile that the log
 * has become long, it pauses, and goes on with the data as they are then.
 */
export class SnapshotTurn extends Turn {
  #logBytes: number

  constructor (readonly database: SqliteDatabase, readonly file: string, signal: AbortSignal) {
    super(signal)
    this.#logBytes = this.#measureLog()
    database.exec('BEGIN')
  }

  override async pass (): Promise<void> {
    await super.pass()
    const before = this.#logBytes
    this.#logBytes = this.#measureLog()
    if (this.#logBytes <= Math.max(maxLogBytes, before)) return
    this.database.exec('COMMIT')
    try {
      // In this thread, and not at the next commit, where others would wait for it.
      this.database.exec('PRAGMA wal_checkpoint(PASSIVE)')
      await delay(pauseMs)
    } finally {
      this.database.exec('BEGIN')
    }
  }

  override end (): void {
    super.end()
    this.database.exec('COMMIT')
  }

  #measureLog (): number {
    return statSync(`${this.file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }
}
