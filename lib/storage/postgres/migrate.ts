import { setTimeout as delay } from 'node:timers/promises'
import { isAbsent } from '../../core/storage/conditions.js'
import { refuseIncomplete } from '../../core/storage/shapes.js'
import { BusyError } from '../../core/storage/storage.js'
import {
  describeFilling, listIndexes, listNulls, nameNulls, nameUnique, refuseFound, writeAddColumn, writeClashes,
  writeCreate, writeFill, writeNulls, writeUnique
} from '../sql/definitions.js'
import { qualifyName, quoteName } from '../sql/dialect.js'
import { type Column, type Layout, mayLack } from '../sql/layout.js'
import type { Connections, Run } from './connections.js'
import { postgresDialect as dialect, takeBeginning, writeLiteral } from './dialect.js'
import { getCode, statementTimedOut } from './driver.js'
import { listPathIndexes } from './path-references.js'
import { type PresentTable, readTable } from './tables.js'
import { checkColumnType, ownTypes } from './types.js'

const deadlocked = '40P01'
const clashing = '23505'

/** One process migrates and the others poll: building an index would wait for a statement that waits for the lock. */
export class Migration {
  /** `timeout`: milliseconds, for a statement or for another process. `isConcurrent` takes two connections. */
  constructor (
    readonly connections: Connections,
    readonly schema: string | undefined,
    readonly timeout: number,
    readonly isConcurrent: boolean
  ) {}

  async listMissing (layout: Layout): Promise<readonly string[]> {
    // Another process that migrates may have locked the table.
    const { definitions, builds } = await this.#find(this.connections.makeRun(this.timeout), layout)
    return [...definitions, ...builds]
  }

  async makeMissing (layout: Layout): Promise<void> {
    if (await this.#isComplete(layout)) return
    const end = performance.now() + this.timeout
    while (!await this.#make(layout)) {
      if (performance.now() > end) throw new BusyError(`Another process is still creating ${layout.table}`)
      await delay(50 + Math.random() * 100)
    }
  }

  async #isComplete (layout: Layout): Promise<boolean> {
    try {
      return (await this.listMissing(layout)).length === 0
    } catch (error) {
      // A process that is migrating keeps it locked for longer than a request may wait.
      if (getCode(error) === statementTimedOut) return false
      throw error
    }
  }

  /** Returns false while another process migrates. */
  async #make (layout: Layout): Promise<boolean> {
    const builds = await this.#lock(async (run, runLong) => {
      // May take longer than a request, but must not wait longer for a table: it blocks everything behind it.
      await run(`SET LOCAL statement_timeout = ${this.timeout}`)
      const { definitions, builds } = await this.#find(runLong, layout)
      if (definitions.length > 0) await runLong(definitions.join('; '))
      return builds
    })
    if (builds === undefined || builds.length === 0) return builds !== undefined
    // The lock has its own transaction: a build waits for all others that have read a table.
    return await this.#lock(async run => {
      await run('SET LOCAL idle_in_transaction_session_timeout = 0')
      return await this.connections.runAlone(this.timeout, run => this.#build(run, layout))
    }) === true
  }

  /** Undefined if another process has the lock. */
  async #lock<T> (work: (run: Run, runLong: Run) => Promise<T>): Promise<T | undefined> {
    return await this.connections.transact(this.timeout, async (run, runLong) => {
      // Without values: they would leave something open on the connection that a build waits for.
      const key = writeLiteral(`fastify-dealbook ${this.schema ?? ''}`)
      const [[isLocked] = []] = await run(`SELECT pg_try_advisory_xact_lock(hashtext(${key}))`)
      return isLocked === 't' ? await work(run, runLong) : undefined
    })
  }

  async #build (run: Run, layout: Layout): Promise<boolean> {
    // The server may still be building for a process that has ended.
    const progress = 'SELECT 1 FROM pg_stat_progress_create_index WHERE relid = to_regclass($1)'
    if ((await run(progress, [layout.table])).length > 0) return false
    const { builds } = await this.#find(run, layout)
    try {
      for (const build of builds) await run(build)
      return true
    } catch (error) {
      if (getCode(error) === deadlocked) return false
      // A duplicate was stored during the build: this throws with the ids.
      if (getCode(error) === clashing) await this.#find(run, layout)
      throw error
    }
  }

  /** `builds` run after `definitions`, each by itself and outside of a transaction. */
  async #find (run: Run, layout: Layout): Promise<Record<'definitions' | 'builds', string[]>> {
    const { schema } = this
    const definitions: string[] = []
    if (schema !== undefined && (await run('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).length === 0) {
      definitions.push(`CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`)
    }
    const present = await readTable(run, layout)
    const isNew = present.columns.size === 0
    const hasRows = !isNew && (await run(`SELECT 1 FROM ${layout.table} LIMIT 1`)).length > 0
    if (isNew) definitions.push(writeCreate(layout, dialect))
    const lacking = isNew ? [] : await listLacking(run, layout, present)
    if (!isNew) {
      definitions.push(...completeColumns(layout, present, hasRows))
      // After the columns have their defaults, so that no later row lacks one.
      definitions.push(...lacking.map(column => writeFill(layout, column, dialect)))
    }
    if (hasRows) await refuseClashes(run, layout, present, lacking)
    const isConcurrent = this.isConcurrent && hasRows
    const builds = listMissingIndexes(layout, present, schema, isConcurrent ? 'CONCURRENTLY ' : '')
    return isConcurrent ? { definitions, builds } : { definitions: [...definitions, ...builds], builds: [] }
  }
}

function completeColumns (layout: Layout, { columns: present }: PresentTable, hasRows: boolean): string[] {
  const statements: string[] = []
  for (const column of layout.columns) {
    const { kind, field } = column
    const there = present.get(column.name as string)
    if (there === undefined) {
      if (hasRows) refuseIncomplete(layout.family, field, describeFilling(layout, column, dialect))
      statements.push(writeAddColumn(layout, column, dialect))
      continue
    }
    checkColumnType(layout, column, there, ownTypes)
    const alter = `ALTER TABLE ${layout.table} ALTER COLUMN ${quoteName(column.name as string)}`
    if (kind === 'number' && there.type === 'bigint') statements.push(`${alter} TYPE ${dialect.types.number}`)
    if (isAbsent(field.default) || there.hasDefault) continue
    statements.push(`${alter} SET DEFAULT ${dialect.literal(field.default, kind)}`)
  }
  return statements
}

/** Columns in which a row lacks the default. */
async function listLacking (run: Run, layout: Layout, { columns: present, indexes }: PresentTable): Promise<Column[]> {
  const found: Column[] = []
  for (const column of layout.columns) {
    const name = column.name as string
    const there = present.get(name)
    const firsts = [...indexes.values()].flatMap(({ isWhole, terms: [first = ''] }) => isWhole ? [first] : [])
    const isPlain = firsts.includes(name) || indexes.get(nameNulls(layout, column))?.isWhole === true
    const isIndexed = isPlain || firsts.includes(`left ${name}`)
    // If the column has the default, hardly any row lacks it, and a search without an index may take long.
    if (there === undefined || !mayLack(column) || (there.hasDefault && !isIndexed)) continue
    const searched = isPlain || !isIndexed ? column.equated : takeBeginning(column.equated)
    const rows = await run(`SELECT 1 FROM ${layout.table} WHERE ${searched} IS NULL LIMIT 1`)
    if (rows.length > 0) found.push(column)
  }
  return found
}

async function refuseClashes (
  run: Run, layout: Layout, present: PresentTable, lacking: readonly Column[]
): Promise<void> {
  const missing = listMissingUnique(layout, present)
  const isFilled = (fields: readonly string[]): boolean => lacking.some(({ field }) => fields.includes(field.name))
  for (const fields of layout.unique.filter(row => missing.includes(row) || isFilled(row))) {
    try {
      refuseFound(layout, fields, await run(writeClashes(layout, fields, present.columns, dialect)))
    } catch (error) {
      // A check may take no longer than a request; the build will find clashes.
      if (getCode(error) !== statementTimedOut) throw error
    }
  }
}

function listMissingIndexes (
  layout: Layout, present: PresentTable, schema: string | undefined, concurrently: string
): string[] {
  const { indexes } = present
  const drop = (name: string): string => `DROP INDEX ${concurrently}IF EXISTS ${qualifyName(schema, name)}`
  // An interrupted build leaves an unusable index with the name.
  const make = (name: string, create: string): string[] => indexes.has(name) ? [drop(name), create] : [create]
  const all = listIndexes(layout)
  const made = all.flatMap(({ name, nameIfPrefix, columns }) =>
    indexes.get(name)?.isWhole === true || indexes.get(nameIfPrefix)?.isWhole === true
      ? []
      : make(name, `CREATE INDEX ${concurrently}IF NOT EXISTS ${quoteName(name)} ON ${layout.table} ` +
        `(${writeTerms(layout, columns)})`))
  const nulls = listNulls(layout).filter(column => indexes.get(nameNulls(layout, column))?.isWhole !== true)
    .flatMap(column => make(nameNulls(layout, column), writeNulls(layout, column, ' NULLS FIRST', concurrently)))
  const unique = listMissingUnique(layout, present).flatMap(fields =>
    make(nameUnique(layout, fields), writeUnique(layout, fields, dialect, concurrently)))
  const replaced = new Set(all.flatMap(({ replaces }) => replaces).filter(each =>
    indexes.has(each) && !all.some(({ name }) => name === each)))
  const paths = listPathIndexes(layout).filter(({ name }) => indexes.get(name)?.isWhole !== true)
    .flatMap(({ name, term }) =>
      make(name, `CREATE INDEX ${concurrently}IF NOT EXISTS ${quoteName(name)} ON ${layout.table} ${term}`))
  return [...made, ...nulls, ...unique, ...paths, ...[...replaced].map(drop)]
}

function listMissingUnique (layout: Layout, { indexes }: PresentTable): (readonly string[])[] {
  return layout.unique.filter(fields => indexes.get(nameUnique(layout, fields))?.isWhole !== true)
}

// In the order of pages: absent first, ties by id.
function writeTerms ({ id }: Layout, columns: readonly Column[]): string {
  const others = columns.filter(column => column !== id).map(({ equated, isPrefixIndexed }) =>
    `${isPrefixIndexed ? takeBeginning(equated) : equated} NULLS FIRST`)
  return [...others, id.equated].join(', ')
}
