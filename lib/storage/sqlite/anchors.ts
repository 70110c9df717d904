import { compareScalars } from '../../core/storage/conditions.js'
import type { Change, Condition, Id, Query } from '../../core/storage/storage.js'
import type { Layout } from '../sql/layout.js'
import { isRangeOfId } from '../sql/planner.js'
import { tighten } from '../sql/tighten.js'
import type { ReadStatement, SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'
import type { Round } from './round.js'
import type { ReadStatements, Select } from './statements.js'

/** The ids that stand at regular distances along the rows of a query. */
interface Anchored {
  readonly ids: Id[]
  readonly descending: boolean
  /** Whether only inserting and deleting can move them, since nothing but ids is asked for. */
  readonly isById: boolean
  /** What the database was at when they were found. */
  readonly state: string
}

/** How far apart anchors are. */
export interface AnchorLimits {
  readonly anchorRows: number
}

export const anchorLimits: AnchorLimits = { anchorRows: 100 }

// Queries of one table whose anchors are kept; longer ones nobody repeats.
const maxQueries = 20
const maxKeyLength = 500

/**
 * Finds pages by their numbers without passing over all rows before them: keeps the ids at regular distances along
 * queries in the order of the id, whose rows lie side by side in it. What is written here to a table of ours moves the
 * anchors beyond it, and no others; after any other write they are found anew.
 */
export class Anchors {
  /** By table, and by query. */
  readonly #tables = new Map<string, Map<string, Anchored>>()
  readonly #readState: ReadStatement
  /** Rows of our tables that were written here, which the database counts too. */
  #written = 0
  /** What was read last, and within which transaction: it stays as it is to the end of that. */
  #read: { readonly within: number | undefined, readonly state: readonly [number, number] } | undefined

  constructor (database: SqliteDatabase, readonly round: Round, readonly limits: AnchorLimits) {
    // The first changes when others commit, the second with everything that is written over this connection.
    this.#readState = prepareRead(database, 'SELECT data_version, total_changes() FROM pragma_data_version')
  }

  /** Reads a page, beginning at the nearest anchor before it. */
  readPage<Rows> (
    statements: ReadStatements,
    { where, order, limit, offset }: Query,
    index: string | undefined,
    read: (select: Select) => Rows
  ): Rows {
    const { anchorRows } = this.limits
    if (offset < anchorRows) return read({ where, order, limit, offset, index })
    const { layout } = statements
    const queries = this.#getQueries(layout)
    const descending = order[0]?.descending === true
    const key = JSON.stringify([layout.family, descending, where])
    const kept = queries.get(key) ?? {
      ids: [], descending, isById: where.every(isRangeOfId), state: this.#getState(layout)
    }
    const { ids } = kept
    const wanted = Math.floor(offset / anchorRows)
    while (ids.length < wanted) {
      const next = { where: moveOn(where, ids.at(-1), descending), order, limit: 1, offset: anchorRows - 1, index }
      const [row] = statements.readRows(next, [layout.id])
      if (row === undefined) break
      ids.push(row[0] as Id)
    }
    const passed = Math.min(wanted, ids.length)
    const from = moveOn(where, ids[passed - 1], descending)
    const rows = read({ where: from, order, limit, offset: offset - passed * anchorRows, index })
    // Asked last: others may have written meanwhile.
    if (kept.state === this.#getState(layout)) {
      keep(queries, key, kept)
      return rows
    }
    queries.delete(key)
    return read({ where, order, limit, offset, index })
  }

  /** To be told of every row that was written here. */
  noteWrite ({ tableName, mapped }: Layout, type: Change['type'], id: Id): void {
    // What else a mapped table may be part of, as a view, only the database knows.
    if (mapped) return
    this.#written++
    const queries = this.#tables.get(tableName)
    if (queries === undefined) return
    for (const [key, { ids, descending, isById }] of queries) {
      if (!isById) queries.delete(key)
      else if (type !== 'replace') {
        const sign = descending ? -1 : 1
        while (ids.length > 0 && compareScalars(ids.at(-1) as Id, id) * sign >= 0) ids.pop()
      }
    }
  }

  #getState ({ mapped }: Layout): string {
    const within = this.round.transaction
    if (within === undefined || within !== this.#read?.within) {
      this.#read = { within, state: this.#readState.get([]) as [number, number] }
    }
    const [version, written] = this.#read.state
    return `${version} ${mapped ? written : written - this.#written}`
  }

  #getQueries ({ tableName }: Layout): Map<string, Anchored> {
    let queries = this.#tables.get(tableName)
    if (queries === undefined) this.#tables.set(tableName, queries = new Map<string, Anchored>())
    return queries
  }
}

function moveOn (where: readonly Condition[], id: Id | undefined, descending: boolean): readonly Condition[] {
  return id === undefined ? where : tighten([...where, { field: 'id', op: descending ? 'lt' : 'gt', value: id }])
}

function keep (queries: Map<string, Anchored>, key: string, kept: Anchored): void {
  if (key.length > maxKeyLength || queries.has(key)) return
  if (queries.size >= maxQueries) queries.delete(queries.keys().next().value as string)
  queries.set(key, kept)
}
