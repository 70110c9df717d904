import type { Id } from '../../core/storage/storage.js'
import { getPathField } from '../../core/values/paths.js'
import type { Reference } from '../sql/definitions.js'
import { quoteName, quoteText, shortenName, toSnakeCase } from '../sql/dialect.js'
import { type Column, getColumn, type Layout } from '../sql/layout.js'
import { prepareRead, type ReadStatement, type SqliteDatabase } from './driver.js'

// SQLite has no index of the elements of a list. So each path has a table of the ids that its items refer to. Triggers
// fill it, also for programs and earlier versions of the application that do not know the path.

interface Links {
  /** Quoted. */
  readonly table: string
  readonly column: Column
  readonly path: string
  /** By their names; each is one statement. */
  readonly parts: ReadonlyMap<string, string>
}

/** Of our tables: nothing is added to a mapped one. */
function listLinkTables (layout: Layout): Links[] {
  return Object.keys(layout.pathReferences).map(path => {
    const column = getColumn(layout, getPathField(path))
    const name = nameLinks(layout, path)
    const table = quoteName(name)
    const field = quoteName(column.name as string)
    const id = quoteName(layout.id.name as string)
    const [after, before] = [walkPath(path, `NEW.${field}`), walkPath(path, `OLD.${field}`)]
    const add = `INSERT OR IGNORE INTO ${table} SELECT DISTINCT ${after.id}, NEW.${id} FROM ${after.rows}`
    const drop = `DELETE FROM ${table} WHERE id = OLD.${id} AND referred IN (SELECT ${before.id} FROM ${before.rows})`
    const on = (when: string, event: string, actions: string): [string, string] => {
      const trigger = shortenName(`${name}_${when}`)
      return [trigger, `CREATE TRIGGER ${quoteName(trigger)} AFTER ${event} ON ${layout.table} BEGIN ${actions}; END`]
    }
    const parts = new Map([
      [name, `CREATE TABLE ${table} (referred, id, PRIMARY KEY (referred, id)) WITHOUT ROWID`],
      on('added', 'INSERT', add),
      on('changed', `UPDATE OF ${id}, ${field}`, `${drop}; ${add}`),
      on('removed', 'DELETE', drop)
    ])
    return { table, column, path, parts }
  })
}

function nameLinks ({ tableName }: Pick<Layout, 'tableName'>, path: string): string {
  return shortenName(`${tableName}_${path.split('.').map(toSnakeCase).join('_')}_links`)
}

/** The ids in a JSON text, and the rows that have them: a path leads through lists. */
function walkPath (path: string, text: string): { readonly id: string, readonly rows: string } {
  const [, ...names] = path.split('.')
  const from = [writeElements(text, 0), ...names.map((name, index) => {
    const member = `CASE e${index}.type WHEN 'object' THEN e${index}.value -> ${quoteText(`$.${quoteName(name)}`)} END`
    return writeElements(member, index + 1)
  })]
  const last = `e${names.length}`
  return { id: `${last}.value`, rows: `${from.join(', ')} WHERE ${last}.atom IS NOT NULL` }
}

/** Of a list, its elements; of anything else, itself. */
function writeElements (text: string, index: number): string {
  return `json_each(CASE json_type(${text}) WHEN 'array' THEN ${text} ELSE json_array(json(${text})) END) AS e${index}`
}

/** What is to be created, and filled with what the rows have. */
export function listMissingLinks (database: SqliteDatabase, layout: Layout): string[] {
  return listLinkTables(layout).flatMap(({ table, column, path, parts }) => {
    const read = prepareRead(database, 'SELECT type, sql FROM sqlite_master WHERE name = ?')
    const present = new Map(Array.from(parts.keys(), name => [name, read.get([name])]))
    if ([...parts].every(([name, sql]) => present.get(name)?.[1] === sql)) return []
    const dropped = [...present].flatMap(([name, part]) =>
      part === undefined ? [] : [`DROP ${part[0] as string} IF EXISTS ${quoteName(name)}`])
    const { id, rows } = walkPath(path, `t.${quoteName(column.name as string)}`)
    const fill = `INSERT INTO ${table} SELECT DISTINCT ${id}, t.${quoteName(layout.id.name as string)} ` +
      `FROM ${layout.table} AS t, ${rows}`
    // A table is dropped last, since a trigger names it.
    return [...dropped.reverse(), ...parts.values(), fill]
  })
}

/** Whether an item refers to this one by a path. Without links, as for a mapped table, all rows are read. */
export class LinkFinder {
  readonly #database: SqliteDatabase
  readonly #statements = new Map<string, ReadStatement>()

  constructor (database: SqliteDatabase) {
    this.#database = database
  }

  has ({ from, column, path = '' }: Reference, id: Id): boolean {
    const key = `${from.serial} ${path}`
    let statement = this.#statements.get(key)
    if (statement === undefined) {
      const { id, rows } = walkPath(path, `t.${quoteName(column.name as string)}`)
      const links = nameLinks(from, path)
      // A host may not have created them.
      const hasLinks = !from.mapped &&
        prepareRead(this.#database, 'SELECT 1 FROM sqlite_master WHERE name = ?').get([links]) !== undefined
      const sql = hasLinks
        ? `SELECT 1 FROM ${quoteName(links)} WHERE referred = ? LIMIT 1`
        : `SELECT 1 FROM ${from.table} AS t, ${rows} AND ${id} = ? LIMIT 1`
      this.#statements.set(key, statement = prepareRead(this.#database, sql))
    }
    return statement.get([id]) !== undefined
  }
}
