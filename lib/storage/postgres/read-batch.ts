import { sendCancellation } from './cancel.js'
import type { PostgresClient } from './driver.js'
import { isRefusal, sendTogether } from './driver.js'
import type { QueuedRead } from './queued-read.js'
import type { TakenRead } from './read-queue.js'
import type { StatementSender } from './sender.js'

/** Reads that go to the server together, on one connection, each answered for itself. */
export class ReadBatch {
  #unanswered: number
  #broken: unknown
  /** Whether the server was told to end them, since nobody waits any more; it may heed that too late. */
  isCancelled = false

  /** @param fail tells those who wait for a read, or sends it again */
  constructor (
    readonly reads: readonly TakenRead[],
    readonly sender: StatementSender,
    readonly fail: (read: QueuedRead, error: unknown) => void
  ) {
    this.#unanswered = reads.length
  }

  /** Throws where the connection is of no use any more. */
  async send (client: PostgresClient): Promise<void> {
    for (const { read } of this.reads) read.onLeft = () => { this.#leave(client) }
    if (client.pipeline === true) {
      const answers: Promise<void>[] = []
      sendTogether(client, () => {
        for (const taken of this.reads) answers.push(this.#send(client, taken, taken === this.reads.at(-1)))
      })
      await Promise.all(answers)
    } else {
      for (const taken of this.reads) await this.#send(client, taken)
    }
    if (this.#broken !== undefined) throw this.#broken
  }

  async #send (client: PostgresClient, { read, statement }: TakenRead, isTimed = true): Promise<void> {
    try {
      read.resolve(await this.sender.read(client, statement, isTimed))
    } catch (error) {
      if (!isRefusal(error)) this.#broken ??= error
      this.fail(read, error)
    }
    this.#unanswered--
    // One cancellation ends one statement, and the next may wait for the same lock.
    if (this.isCancelled && this.#unanswered > 0) sendCancellation(client)
  }

  #leave (client: PostgresClient): void {
    if (this.isCancelled || this.reads.some(({ read }) => read.isWanted)) return
    this.isCancelled = true
    sendCancellation(client)
  }
}
