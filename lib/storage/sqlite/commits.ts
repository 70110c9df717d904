import type { Layout } from '../sql/layout.js'
import { quote } from '../sql/names.js'
import { ConflictError, DuplicateError, ReadOnlyError } from '../storage.js'
import type { Change, Id } from '../storage.js'
import { sqliteDialect as dialect } from './dialect.js'
import { transaction, whenFree, writeStatement } from './driver.js'
import type { SqliteDatabase, WriteStatement } from './driver.js'

/** One change as a statement that must touch exactly one row. */
export interface Step {
  readonly statement: WriteStatement
  readonly parameters: readonly unknown[]
  readonly change: Change['type']
  readonly family: string
  readonly id: Id
}

/** The statements that write a family's table. */
export class TableWriter {
  readonly #insert: WriteStatement
  readonly #replace: WriteStatement
  readonly #delete: WriteStatement
  readonly #columns

  constructor (database: SqliteDatabase, readonly layout: Layout) {
    const { table, columns, id } = layout
    this.#columns = columns.filter(({ name }) => name !== undefined).map(({ name, kind, field }) => ({ name: name as string, kind, field: field.name }))
    const names = this.#columns.map(({ name }) => quote(name))
    const condition = `WHERE ${id.equated} = ? AND ${quote(columns.find(({ field }) => field.name === 'revision')?.name as string)} = ?`
    // A taken id is no error of SQL but a row that was not inserted, which reads alike with every driver.
    this.#insert = writeStatement(database, `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) ` +
      `ON CONFLICT (${quote(id.name as string)}) DO NOTHING`)
    this.#replace = writeStatement(database, `UPDATE ${table} SET ${names.map(name => `${name} = ?`).join(', ')} ${condition}`)
    this.#delete = writeStatement(database, `DELETE FROM ${table} ${condition}`)
  }

  step (change: Change): Step {
    const { type, family } = change
    if (type === 'delete') return { statement: this.#delete, parameters: [change.id, change.expected], change: type, family, id: change.id }
    const parameters = this.#columns.map(({ field, kind }) => dialect.encode(change.item[field], kind))
    const { id } = change.item
    if (type === 'insert') return { statement: this.#insert, parameters, change: type, family, id }
    parameters.push(id, change.expected)
    return { statement: this.#replace, parameters, change: type, family, id }
  }
}

interface Waiting {
  readonly steps: readonly Step[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

// A transaction ends after so many steps, so that a flood of commits does not hold the event loop.
const stepsAtMost = 2000

/**
 * Group commit: the commits of one turn of the event loop share one transaction, and so one wait for the disk. Each has a
 * savepoint of its own and is answered for itself.
 */
export class CommitQueue {
  #waiting: Waiting[] = []
  #running: Promise<void> | undefined

  constructor (readonly database: SqliteDatabase, readonly timeout: number) {}

  async add (steps: readonly Step[]): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ steps, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Fulfilled when nothing waits any more. */
  async idle (): Promise<void> {
    await this.#running
  }

  async #run (): Promise<void> {
    do {
      await new Promise(resolve => setImmediate(resolve))
      const group = this.#take()
      try {
        const answers = await whenFree(this.timeout, () => this.#write(group))
        for (const answer of answers) answer()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    } while (this.#waiting.length > 0)
    this.#running = undefined
  }

  #take (): Waiting[] {
    let steps = 0
    const end = this.#waiting.findIndex(waiting => (steps += waiting.steps.length) > stepsAtMost)
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : Math.max(1, end))
  }

  #write (group: readonly Waiting[]): (() => void)[] {
    const answers: (() => void)[] = []
    transaction(this.database, () => {
      for (const { steps, resolve, reject } of group) {
        const refusal = this.#apply(steps)
        answers.push(refusal === undefined ? resolve : () => reject(refusal))
      }
    })
    return answers
  }

  #apply (steps: readonly Step[]): unknown {
    // One step is one statement, and undone by itself.
    const several = steps.length > 1
    if (several) this.database.exec('SAVEPOINT one')
    try {
      for (const { statement, parameters, change, family, id } of steps) {
        if (statement(parameters) === 1) continue
        throw change === 'insert' ? new DuplicateError(family, id) : new ConflictError(family, id)
      }
      if (several) this.database.exec('RELEASE one')
      return undefined
    } catch (error) {
      if (several) this.database.exec('ROLLBACK TO one; RELEASE one')
      return error
    }
  }
}

export function writerOf (writers: ReadonlyMap<string, TableWriter>, family: string): TableWriter {
  const writer = writers.get(family)
  if (writer === undefined) throw new ReadOnlyError(family)
  return writer
}
