import { compareScalars } from '../../core/storage/compare.js'
import type { Change, Condition, Id } from '../../core/storage/storage.js'
import type { Layout } from '../sql/layout.js'
import type { ReadStatement, SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'
import type { Path } from './paths.js'
import type { PageText, Section, TableStatements } from './statements.js'

/** The ids that stand at regular distances along a part of the key. */
interface Anchored {
  readonly ids: Id[]
  readonly descending: boolean
  /** What the database was at when they were found. */
  readonly state: string
}

/** How far apart anchors are. */
export interface AnchorLimits {
  readonly anchorRows: number
}

export const anchorLimits: AnchorLimits = { anchorRows: 100 }

// Parts of one table whose anchors are kept; longer queries nobody repeats.
const maxParts = 20
const maxKeyLength = 500

/**
 * Finds pages by their numbers without passing over all rows before them: keeps ids at regular distances along the key.
 * What is written here to a table of ours moves the anchors beyond it, and no others; after any other write they are
 * found anew.
 */
export class Anchors {
  /** By table, and by query. */
  readonly #tables = new Map<string, Map<string, Anchored>>()
  readonly #readState: ReadStatement
  /** Rows of our tables that were written here, which the database counts too. */
  #written = 0
  /** What was read last, and within which transaction: it stays as it is to the end of that. */
  #read: { readonly within: number | undefined, readonly state: readonly [number, number] } | undefined

  /** @param reads which transaction reads are in, if any */
  constructor (
    database: SqliteDatabase,
    readonly reads: { readonly transaction: number | undefined },
    readonly limits: AnchorLimits
  ) {
    // The first changes when others commit, the second with everything that is written over this connection.
    this.#readState = prepareRead(database, 'SELECT data_version, total_changes() FROM pragma_data_version')
  }

  /** Reads a page along the key, beginning at the nearest anchor before it. */
  readPage (statements: TableStatements, path: Path, section: Section): PageText {
    const { members, limit, offset } = section
    const { anchorRows } = this.limits
    const { layout } = statements
    const parts = this.#getParts(layout)
    const descending = path.order[0]?.descending === true
    const key = JSON.stringify([layout.family, descending, path.bounds])
    const kept = parts.get(key) ?? { ids: [], descending, state: this.#getState(layout) }
    const { ids } = kept
    const wanted = Math.floor(offset / anchorRows)
    while (ids.length < wanted) {
      const id = statements.readAt(moveOn(path, ids.at(-1)), 'id', anchorRows - 1) as Id | undefined
      if (id === undefined) break
      ids.push(id)
    }
    const passed = Math.min(wanted, ids.length)
    const from = moveOn(path, ids[passed - 1])
    const page = statements.readAlong(from, { members, limit, offset: offset - passed * anchorRows })
    // Read last: others may have written meanwhile.
    if (kept.state === this.#getState(layout)) {
      keep(parts, key, kept)
      return page
    }
    parts.delete(key)
    return statements.readAlong(path, section)
  }

  /** To be called for every row that was written here. */
  noteWrite ({ tableName, mapped }: Layout, type: Change['type'], id: Id): void {
    // What else a mapped table may be part of, such as a view, only the database knows.
    if (mapped) return
    this.#written++
    const parts = type === 'replace' ? undefined : this.#tables.get(tableName)
    if (parts === undefined) return
    for (const { ids, descending } of parts.values()) {
      const sign = descending ? -1 : 1
      while (ids.length > 0 && compareScalars(ids.at(-1) as Id, id) * sign >= 0) ids.pop()
    }
  }

  #getState ({ mapped }: Layout): string {
    const within = this.reads.transaction
    if (within === undefined || within !== this.#read?.within) {
      this.#read = { within, state: this.#readState.get([]) as [number, number] }
    }
    const [version, written] = this.#read.state
    return `${version} ${mapped ? written : written - this.#written}`
  }

  #getParts ({ tableName }: Layout): Map<string, Anchored> {
    let parts = this.#tables.get(tableName)
    if (parts === undefined) this.#tables.set(tableName, parts = new Map<string, Anchored>())
    return parts
  }
}

/** The path from this id on. */
function moveOn (path: Path, id: Id | undefined): Path {
  if (id === undefined) return path
  const beyond: Condition = { field: 'id', op: path.order[0]?.descending === true ? 'lt' : 'gt', value: id }
  // It takes the place of the bound on the same side, which it is tighter than.
  const other = path.bounds.filter(({ op }) => op.startsWith('g') !== (beyond.op === 'gt'))
  return { ...path, bounds: [...other, beyond] }
}

function keep (parts: Map<string, Anchored>, key: string, kept: Anchored): void {
  if (key.length > maxKeyLength || parts.has(key)) return
  if (parts.size >= maxParts) parts.delete(parts.keys().next().value as string)
  parts.set(key, kept)
}
