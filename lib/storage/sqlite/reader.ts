import { statSync } from 'node:fs'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { isPlain } from '../../core/storage/conditions.js'
import { raceSignal } from '../../core/storage/deadline.js'
import { askOneMore, toFoundText, writePage } from '../../core/storage/pages.js'
import type { Condition, Found, FoundText, Id, Query, Stored } from '../../core/storage/storage.js'
import type { HeavyReadQueue } from '../../core/storage/turns.js'
import { makeListWriter } from '../../core/values/json.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn } from '../sql/layout.js'
import type { ReadBurst } from './bursts.js'
import type { Anchors, Index, PageText, Path, PathLimits } from './paths.js'
import { isLower, listPaths } from './paths.js'
import type { TableStatements } from './statements.js'
import { itemSeparator } from './statements.js'

/** How all tables of a database are read. */
export interface ReadSettings {
  readonly limits: PathLimits
  /** What is small. */
  readonly burst: ReadBurst
  /** All else. */
  readonly heavy: HeavyReads
  readonly anchors: Anchors
}

/**
 * Reads a family's table. A statement of SQLite holds the thread that runs it, so only what visits few rows for sure,
 * whatever is in the table, is read in this one.
 */
export class TableReader {
  #indexes: readonly Index[]

  /** @param readIndexes reads which indexes the table has now */
  constructor (
    readonly statements: TableStatements, readonly readIndexes: () => readonly Index[], readonly settings: ReadSettings
  ) {
    this.#indexes = readIndexes()
  }

  get (id: Id): Stored | undefined | Promise<Stored | undefined> {
    return this.settings.burst.read(() => this.statements.get(id))
  }

  nextId (): Id | undefined {
    return this.statements.nextId()
  }

  async find (query: Query, signal?: AbortSignal): Promise<Found> {
    const { text, mark, total } = await this.#read(query, this.statements.layout.columns, signal)
    const items = JSON.parse(`[${joinItems(text, mark)}]`) as Stored[]
    return total === undefined ? { items } : { items, total }
  }

  /** The page as JSON, and whether there is more after it: one item further is looked for. */
  async findText (asked: Query, members: readonly string[], signal?: AbortSignal): Promise<FoundText> {
    const query = askOneMore(asked)
    // The first and the last item must have their key.
    if (!asked.order.every(({ field }) => members.includes(field))) {
      return writePage(await this.find(query, signal), asked, makeListWriter(members))
    }
    const columns = members.map(member => getColumn(this.statements.layout, member))
    return splitItems(await this.#read(query, columns, signal), asked)
  }

  async #read (query: Query, members: readonly Column[], signal: AbortSignal | undefined): Promise<PageText> {
    const { burst, heavy } = this.settings
    const small = query.where.every(isPlain) ? await burst.read(() => this.#readSmall(query, members)) : undefined
    return small ?? await heavy.read(this.statements, query, members, signal)
  }

  /** The page; undefined where it may take long. */
  #readSmall (query: Query, members: readonly Column[]): PageText | undefined {
    const { limits } = this.settings
    if (query.where.some(({ field, op }) => field === 'id' && op === 'eq')) {
      return this.statements.readAll(query, { ...query, members })
    }
    try {
      for (const path of listPaths(query, this.#indexes, limits)) {
        const page = this.#readBy(path, query, members)
        if (page !== undefined) return page
      }
    } catch (error) {
      // It was dropped meanwhile.
      if (!(error as Error).message.includes('no such index')) throw error
      this.#indexes = this.readIndexes()
    }
    return undefined
  }

  #readBy (path: Path, query: Query, members: readonly Column[]): PageText | undefined {
    const { limits, anchors } = this.settings
    const { limit, offset, count } = query
    const section = { members, limit, offset }
    if (path.isOrdered && !count) {
      if (path.rest.length > 0) return this.statements.look(path, query, section)
      if (offset + limit <= limits.keyRows) return this.statements.readAlong(path, section)
      const isByKey = path.index === undefined && offset + limit <= limits.skipRows
      return isByKey ? anchors.readPage(this.statements, path, section) : undefined
    }
    const [first] = path.isByFirst ? path.order : []
    const edge = this.statements.readAt(path, first?.field ?? 'id', path.maxRows)
    if (edge === undefined) return this.statements.look(path, query, section)
    if (first === undefined || count || edge === null) return undefined
    // The rows before the last that may be visited, without those that equal it: some of these may come after it.
    const { field: { optional, nullable } } = getColumn(this.statements.layout, first.field)
    if (!first.descending && (optional || nullable === true)) return undefined
    const before: Condition = { field: first.field, op: first.descending ? 'gt' : 'lt', value: edge }
    const bounds = path.bounds.filter(each => each.field !== first.field || isLower(each) !== first.descending)
    const page = this.statements.look({ ...path, bounds: [...bounds, before] }, query, section)
    return page?.length === limit ? page : undefined
  }
}

const separators = new RegExp(itemSeparator, 'g')

function joinItems (text: string, mark: string): string {
  return mark === itemSeparator ? text.replace(separators, ',') : text
}

/** @param page with one item more than `limit` where there are more */
function splitItems ({ text, length, mark, total }: PageText, query: Query): FoundText {
  const more = length > query.limit
  const count = more ? query.limit : length
  const shown = more ? text.slice(0, Math.max(0, text.lastIndexOf(mark))) : text
  return toFoundText({
    text: joinItems(shown, mark),
    count,
    more,
    first: count === 0 || query.offset === 0 ? undefined : parseFirst(shown, mark),
    last: count === 0 ? undefined : JSON.parse(shown.slice(shown.lastIndexOf(mark) + 1)) as Stored,
    total
  }, query)
}

function parseFirst (shown: string, mark: string): Stored {
  const end = shown.indexOf(mark)
  return JSON.parse(end === -1 ? shown : shown.slice(0, end)) as Stored
}

/** What a worker is asked. */
export interface HeavyQuestion {
  /** By which it knows the layout again. */
  readonly serial: number
  /** Where it is new to the worker. */
  readonly layout: Layout | undefined
  readonly query: Query
  readonly members: readonly string[]
}

/** The last message that a worker gets: it leaves as soon as it can. */
export const leaveMessage = 'leave'

/** What it answers, once for every question. */
export type HeavyAnswer =
  | { readonly type: 'found', readonly page: PageText }
  | { readonly type: 'failed', readonly error: unknown }

export interface WorkerSettings {
  readonly file: string
  /** One number, which is not 0 where nothing waits for the answer any more. */
  readonly isEnded: Int32Array
}

/** Reads what may take long: in a thread, or in this one where the database has no file that a thread could open. */
export class HeavyReads {
  #workers: HeavyWorkers | undefined

  constructor (readonly line: HeavyReadQueue, workers: HeavyWorkers | undefined) {
    this.#workers = workers
  }

  async read (
    statements: TableStatements, query: Query, members: readonly Column[], signal?: AbortSignal
  ): Promise<PageText> {
    const release = await this.line.enter(signal)
    // The caller waits no longer than the signal says; there is room for the next when the work has ended.
    return await raceSignal(signal, this.#work(statements, query, members, signal).finally(release))
  }

  async close (): Promise<void> {
    await this.#workers?.close()
  }

  async #work (
    statements: TableStatements, query: Query, members: readonly Column[], signal: AbortSignal | undefined
  ): Promise<PageText> {
    if (this.#workers !== undefined) {
      try {
        return await this.#workers.read(statements.layout, query, members.map(({ field }) => field.name), signal)
      } catch (error) {
        if (!isFileMissing(error)) throw error
        this.#goWithoutWorkers()
      }
    }
    // Others have their turn between two such reads.
    await nextTurn()
    signal?.throwIfAborted()
    const { functions } = statements
    functions.isEnded = () => signal?.aborted === true
    try {
      return statements.readAll(query, { ...query, members })
    } finally {
      functions.isEnded = () => false
    }
  }

  #goWithoutWorkers (): void {
    if (this.#workers === undefined) return
    this.#workers = undefined
    process.emitWarning('fastify-dealbook: heavy-worker.js was not found, as after bundling. Heavy reads of SQLite ' +
      'run in the main thread and hold it up; leave the package out of the bundle', { code: 'DEALBOOK_NO_WORKER' })
  }
}

// The file itself, or what it imports; without an address of this module, as in CommonJS, there is no URL.
function isFileMissing (error: unknown): boolean {
  const { code } = error as { code?: string }
  return code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_INVALID_URL' ||
    code === 'FST_DEALBOOK_DRIVER_MISSING'
}

/** A thread, and what is known of it. */
interface Thread {
  readonly worker: Worker
  readonly isEnded: Int32Array
  /** The layouts that it has. */
  readonly serials: Set<number>
}

// So that some commits are made while nothing reads.
const pauseMs = 100

/** Threads that read, each over its own connection, so that nothing else waits for it. */
export class HeavyWorkers {
  readonly #all = new Set<Thread>()
  readonly #idle: Thread[] = []
  readonly #running = new Set<Promise<unknown>>()
  #pausing: Promise<void> | undefined
  #logBytes = 0
  #isClosed = false

  /** @param script the file that a thread runs; beside this one unless given */
  constructor (readonly file: string, readonly script?: URL) {}

  /** The page, or why there is none; the caller knows how many may be asked for at once. */
  async read (layout: Layout, query: Query, members: readonly string[], signal?: AbortSignal): Promise<PageText> {
    if (this.#pausing !== undefined || this.#isLogGrowing()) await (this.#pausing ??= this.#pause())
    // What has waited until now would start a thread that nothing ends.
    if (this.#isClosed) throw makeClosed()
    signal?.throwIfAborted()
    const reading = this.#read(layout, query, members, signal)
    const running = reading.catch(() => {}).finally(() => { this.#running.delete(running) })
    this.#running.add(running)
    return await reading
  }

  /** Ends the threads; what they were reading fails. */
  async close (): Promise<void> {
    this.#isClosed = true
    // They leave by themselves: with some drivers, a thread that is stopped within a statement takes the process along.
    await Promise.all(Array.from(this.#all, ({ worker, isEnded }) => new Promise(resolve => {
      Atomics.store(isEnded, 0, 1)
      worker.ref()
      worker.once('exit', resolve).postMessage(leaveMessage)
    })))
  }

  async #read (
    layout: Layout, query: Query, members: readonly string[], signal: AbortSignal | undefined
  ): Promise<PageText> {
    const thread = this.#idle.pop() ?? this.#start()
    const { worker, isEnded, serials } = thread
    Atomics.store(isEnded, 0, 0)
    // A program that waits for an answer does not end.
    worker.ref()
    const end = (): void => { Atomics.store(isEnded, 0, 1) }
    signal?.addEventListener('abort', end, { once: true })
    try {
      const { serial } = layout
      const answer = await ask(worker, { serial, layout: serials.has(serial) ? undefined : layout, query, members })
      serials.add(serial)
      this.#idle.push(thread)
      if (answer.type === 'found') return answer.page
      throw this.#isClosed ? makeClosed() : answer.error
    } finally {
      signal?.removeEventListener('abort', end)
      if (!this.#isClosed) worker.unref()
    }
  }

  /** As long as something reads, SQLite cannot begin its log anew, however much is written. */
  #isLogGrowing (): boolean {
    const isLong = isLogLong(this.file, this.#logBytes)
    this.#logBytes = measureLog(this.file)
    return isLong
  }

  async #pause (): Promise<void> {
    await Promise.all(this.#running)
    await delay(pauseMs)
    this.#pausing = undefined
  }

  #start (): Thread {
    const isEnded = new Int32Array(new SharedArrayBuffer(4))
    const workerData: WorkerSettings = { file: this.file, isEnded }
    const script = this.script ?? new URL('./heavy-worker.js', import.meta.url)
    // Without the host's --import and --require: loading a tracer in each thread costs more than most reads.
    const execArgv = process.execArgv.filter(option => option === '--experimental-sqlite')
    const worker = new Worker(script, { workerData, execArgv })
    const thread = { worker, isEnded, serials: new Set<number>() }
    this.#all.add(thread)
    // What was asked of it fails. An error of one that has nothing to do ends nothing else: there will be another.
    worker.on('error', () => {})
    worker.once('exit', () => {
      this.#all.delete(thread)
      const at = this.#idle.indexOf(thread)
      if (at !== -1) this.#idle.splice(at, 1)
    })
    return thread
  }
}

async function ask (worker: Worker, question: HeavyQuestion): Promise<HeavyAnswer> {
  return await new Promise<HeavyAnswer>((resolve, reject) => {
    const settle = (): void => {
      worker.off('message', answer).off('error', fail).off('exit', leave)
    }
    const answer = (message: HeavyAnswer): void => { settle(); resolve(message) }
    const fail = (error: Error): void => { settle(); reject(error) }
    const leave = (): void => { settle(); reject(makeClosed()) }
    worker.on('message', answer).on('error', fail).on('exit', leave)
    worker.postMessage(question)
  })
}

function makeClosed (): Error {
  return new Error('the storage was closed')
}

// Of SQLite's write-ahead log; it begins anew after 4 MB by itself.
const maxLogBytes = 2 ** 24

/** Whether the log of the database in this file has become long. @param allowed bytes that it may have in any case */
export function isLogLong (file: string, allowed = 0): boolean {
  return measureLog(file) > Math.max(maxLogBytes, allowed)
}

function measureLog (file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
}
