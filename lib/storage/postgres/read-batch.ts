import { startCancelling } from './cancel.js'
import type { PostgresClient } from './driver.js'
import { isRefusal, sendTogether } from './driver.js'
import type { QueuedRead, Statement } from './queued-read.js'
import type { StatementSender } from './sender.js'

/** A statement, and the reads that it answers. */
interface Sending {
  readonly statement: Statement
  readonly reads: readonly QueuedRead[]
}

/** Reads that go to the server together, on one connection, each answered for itself. */
export class ReadBatch {
  #broken: unknown
  #stopCancelling: (() => void) | undefined
  #isEnded = false

  /** @param fail tells whoever waits for a read, or sends it again */
  constructor (
    readonly reads: readonly QueuedRead[],
    readonly sender: StatementSender,
    readonly fail: (read: QueuedRead, error: unknown, isAlone: boolean) => void
  ) {}

  /** Whether the server was told to end them, since nobody waits any more; it may heed that too late. */
  get isCancelled (): boolean {
    return this.#stopCancelling !== undefined
  }

  /** Throws where the connection is of no use any more. */
  async send (client: PostgresClient): Promise<void> {
    const leave = (): void => { this.#leave(client) }
    for (const read of this.reads) read.onLeft = leave
    const all = combine(this.reads)
    if (client.pipeline === true) {
      const answers: Promise<void>[] = []
      sendTogether(client, () => {
        for (const each of all) answers.push(this.#send(client, each, each === all.at(-1)))
      })
      await Promise.all(answers)
    } else {
      for (const each of all) await this.#send(client, each, true)
    }
    this.#isEnded = true
    this.#stopCancelling?.()
    if (this.#broken !== undefined) throw this.#broken
  }

  async #send (client: PostgresClient, { statement, reads }: Sending, isTimed: boolean): Promise<void> {
    try {
      answer(reads, await this.sender.read(client, statement, isTimed))
    } catch (error) {
      if (!isRefusal(error)) this.#broken ??= error
      for (const read of reads) this.fail(read, error, reads.length === 1)
    }
  }

  #leave (client: PostgresClient): void {
    // What is to be sent again may still be waited for, but the connection serves others by now.
    if (this.#isEnded || this.isCancelled || this.reads.some(read => read.isWanted)) return
    // One cancellation ends one statement, and the next may wait for the same lock: it goes on until all have ended.
    this.#stopCancelling = startCancelling(client)
  }
}

/** One statement for all reads that can share it. */
function combine (reads: readonly QueuedRead[]): readonly Sending[] {
  const alone: Sending[] = []
  const groups = new Map<string, QueuedRead[]>()
  for (const read of reads) {
    const { statement, isAlone } = read
    const group = statement.shared === undefined || isAlone ? undefined : groups.get(statement.shared)
    if (group !== undefined) group.push(read)
    else if (statement.shared === undefined || isAlone) alone.push({ statement, reads: [read] })
    else groups.set(statement.shared, [read])
  }
  const shared = Array.from(groups, ([text, group]): Sending => {
    const { statement } = group[0] as QueuedRead
    if (group.length === 1) return { statement, reads: group }
    const values = statement.values.map((_, index) => group.map(read => read.statement.values[index]))
    return { statement: { text, values }, reads: group }
  })
  return [...shared, ...alone]
}

function answer (reads: readonly QueuedRead[], rows: unknown[][]): void {
  const [only, ...others] = reads
  if (others.length === 0) return only?.resolve(rows)
  for (const row of rows) reads[Number(row.at(-1)) - 1]?.resolve([row])
  // For the others there is none.
  for (const read of reads) read.resolve([])
}
