import type { Column, Layout } from '../sql/layout.js'
import { quoteName, quoteText } from '../sql/names.js'
import type { Reference } from '../sql/relations.js'
import { postgresDialect as dialect } from './dialect.js'
import type { Statement } from './queued-read.js'

/** Tells a reference from all others to the same family. */
export function nameReference ({ from, column }: Reference): string {
  return `${from.family}.${column.field.name}`
}

interface LookedBatch {
  readonly layout: Layout
  readonly looked: readonly Reference[]
  readonly referrers: readonly Reference[]
}

interface LookSettings {
  readonly waits: boolean
  readonly numbers: ReadonlyMap<string, number>
}

/** Parts of the statement for a batch: what is locked for the references in it, and which rows they refuse. */
export function writeLooks (
  { layout, looked, referrers }: LookedBatch,
  p: number,
  { waits, numbers }: LookSettings
): { given: string[], refused: string[] } {
  const parts = looked.map((reference, r) =>
    writeReference(reference, { p, r, waits, to: numbers.get(reference.to.family) }))
  return {
    given: parts.map(({ given }) => given),
    refused: [
      ...parts.map(({ refused }) => refused),
      ...referrers.map(reference => writeUse(layout, reference, p, numbers.get(reference.from.family)))
    ]
  }
}

interface Place {
  readonly p: number
  readonly r: number
  readonly waits: boolean
  /** The number of the family that is referred to, where the batch changes it too. */
  readonly to: number | undefined
}

/**
 * What is referred to is locked, so that nobody deletes it meanwhile. It may be made by the same commit, and must not
 * be deleted by it.
 */
function writeReference ({ column, to }: Reference, { p, r, waits, to: q }: Place): { given: string, refused: string } {
  const isLooked = `${quoteText(column.name as string)} = ANY (g."$r")`
  const value = `CASE WHEN ${isLooked} THEN ${cast('g', column, to.id)} END`
  const present = `(SELECT ${to.id.equated} AS id FROM ${to.table}) t`
  const changes = (type: string): string =>
    `(SELECT FROM given${q} o WHERE o."$c" = g."$c" AND o."$t" = '${type}' AND ${cast('o', to.id, to.id)} = ${value})`
  const isMissing = q === undefined
    ? 'l.id IS NULL'
    : `(l.id IS NULL AND NOT EXISTS ${changes('insert')} OR EXISTS ${changes('delete')})`
  const isLocked = waits ? 'false' : `EXISTS (SELECT FROM ${present} WHERE t.id = ${value})`
  return {
    given: `referred${p}_${r} AS MATERIALIZED (SELECT ${to.id.equated} AS id FROM ${to.table} ` +
      `WHERE ${to.id.equated} = ANY (ARRAY(SELECT ${value} FROM given${p} g WHERE ${isLooked})) ` +
      `ORDER BY ${to.id.equated} FOR KEY SHARE${waits ? '' : ' SKIP LOCKED'})`,
    refused: `SELECT g."$n", g."$c", NULL::bigint AS revision, ${isLocked} AS locked, ` +
      `${quoteText(column.field.name)}::text AS broken ` +
      `FROM given${p} g LEFT JOIN referred${p}_${r} l ON l.id = ${value} WHERE ${isLooked} AND ${isMissing}`
  }
}

/** What refers to an item that is deleted, but for what the same commit deletes, or lets refer to something else. */
function writeUse (layout: Layout, reference: Reference, p: number, q: number | undefined): string {
  const { from, column } = reference
  const isLooked = `${quoteText(nameReference(reference))} = ANY (g."$u")`
  const id = `CASE WHEN ${isLooked} THEN ${cast('g', layout.id, column)} END`
  const name = column.name as string
  const begins = column.isCut ? `${dialect.beginning?.('t.value')} = ${dialect.beginning?.(`(${id})`)} AND ` : ''
  const isChanged = `o."$t" = 'delete' OR ${cast('o', column, column)} IS DISTINCT FROM t.value ` +
    `AND ${quoteText(name)} <> ALL (COALESCE(o."$k", '{}'))`
  const others = q === undefined
    ? ''
    : ` AND NOT EXISTS (SELECT FROM given${q} o WHERE o."$c" = g."$c" AND ` +
      `${cast('o', from.id, from.id)} = t.id AND (${isChanged}))`
  const rows = `(SELECT ${from.id.equated} AS id, ${column.equated} AS value FROM ${from.table}) t`
  return 'SELECT g."$n", g."$c", NULL::bigint AS revision, false AS locked, ' +
    `${quoteText(from.family)}::text AS broken ` +
    `FROM given${p} g WHERE ${isLooked} ` +
    `AND EXISTS (SELECT FROM ${rows} WHERE ${begins}t.value = ${id}${others})`
}

/** A column of a row that is given, to be compared with another; any type can be text on the way. */
function cast (row: string, { name, present }: Column, { equatedAs }: Column): string {
  return `${row}.${quoteName(name as string)}${present === undefined ? '' : '::text'}::${equatedAs}`
}

/**
 * Locks what is to be deleted and may be referred to. The statement after it sees all that refers to it: whoever made
 * that has held a lock on it until then.
 */
export function lockReferred (layouts: ReadonlyMap<Layout, readonly unknown[]>): Statement[] {
  return Array.from(layouts, ([{ table, id }, ids]) => ({
    text: `SELECT 1 FROM ${table} WHERE ${id.equated} = ANY (${dialect.parameter(1, `${id.equatedAs}[]`)}) ` +
      `ORDER BY ${id.equated} FOR UPDATE`,
    values: [ids]
  }))
}
