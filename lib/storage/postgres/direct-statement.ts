import { quoteName } from '../sql/dialect.js'
import { getColumn, type Layout, listWritten } from '../sql/layout.js'
import {
  failUnless, nameWritten, readExpected, readGiven, typeSince, writeChangedRows,
  writeExpected
} from './batch-statement.js'
import type { EncodedWrite } from './writer.js'

/** Whether `writeDirectText` can write it: nothing is to be checked, and locks have no order to keep. */
export function isDirect (writes: readonly EncodedWrite[]): boolean {
  return writes.filter(({ type }) => type !== 'insert').length <= 1 &&
    writes.every(({ type, checked, referrers }) => type !== 'require' && checked.length + referrers.length === 0)
}

/** Rows of a table. The values of a single one are parameters, unless the table is mapped: others are JSON. */
export interface DirectRows {
  readonly layout: Layout
  readonly type: EncodedWrite['type']
  readonly isSingle: boolean
  readonly writes: readonly EncodedWrite[]
}

/** As in a batch, the row that others may have locked comes first. */
export function groupDirect (writes: readonly EncodedWrite[]): DirectRows[] {
  const groups = new Map<string, EncodedWrite[]>()
  for (const write of writes) {
    const { layout: { serial }, type } = write
    const key = `${serial} ${type}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [write])
    else group.push(write)
  }
  const rows = Array.from(groups.values(), writes => {
    const { layout, type } = writes[0] as EncodedWrite
    return { layout, type, isSingle: writes.length === 1 && !layout.mapped, writes }
  })
  const rank = ({ type, layout }: DirectRows): number => type !== 'insert' ? 0 : layout.mapped ? 1 : 2
  return rows.sort((a, b) => rank(a) - rank(b))
}

/** A cache key: everything that the text of the statement depends on. */
export function describeDirect (groups: readonly DirectRows[]): string {
  return `direct ${groups.map(({ layout, type, isSingle }) => `${layout.serial} ${type} ${isSingle}`).join()}`
}

export function listParameters (groups: readonly DirectRows[]): unknown[] {
  return groups.flatMap(({ type, isSingle, writes }) => {
    const [{ values, expected, since }] = writes as [EncodedWrite]
    if (isSingle) return type === 'insert' ? values : [...values, expected, since]
    const rows = writes.map(write => `{${writeExpected(write)},${write.writeJson()}}`)
    return [`[${rows.join()}]`]
  })
}

/**
 * One statement for one commit that is expected to succeed, at less cost. A commit that is to be refused fails and so
 * undoes itself, as a batch does; the statement of a batch then says why.
 */
export function writeDirectText (groups: readonly DirectRows[]): string {
  const ctes: string[] = []
  const complete: string[] = []
  let n = 0
  for (const [g, { layout, layout: { mapped }, type, isSingle }] of groups.entries()) {
    const columns = listWritten(layout)
    const [id, revision] = [layout.id, getColumn(layout, 'revision')].map(({ name }) => quoteName(name as string))
    const types = [...columns.map(nameWritten), ...type === 'insert' ? [] : ['bigint', typeSince(layout)]]
    const names = [...columns.map(({ name }) => quoteName(name as string)), '"$x"', '"$s"'].slice(0, types.length)
    const given = isSingle
      ? `(VALUES (${types.map(type => `$${++n}::${type}`).join(', ')})) d (${names.join(', ')})`
      : `(${readGiven(layout, ++n)}) d`
    const inOrder = isSingle || type !== 'insert' ? '' : ` ORDER BY d.${id}`
    if (type !== 'insert' || mapped) {
      const found = readExpected(layout)
      const isExpected = type === 'insert'
        ? 'true'
        : `${found.revision} = d."$x" AND (${found.since} = d."$s") IS NOT FALSE`
      const onConflict = type === 'insert' ? `${inOrder} ON CONFLICT (${id}) DO NOTHING` : ''
      ctes.push(`done${g} AS (${writeChangedRows(layout, type, given, isExpected)}${onConflict} RETURNING 1)`)
      complete.push(`(SELECT count(*) FROM done${g}) = ${isSingle ? 1 : `json_array_length($${n}::json)`}`)
      continue
    }
    const isLast = g === groups.length - 1
    const condition = isLast && complete.length > 0 ? `${failUnless(complete)} = 1` : 'true'
    // Not a constant, which would fail when it is planned.
    const fail = `DO UPDATE SET ${revision} = width_bucket(0, 0, 1, (excluded.${revision} * 0)::integer)`
    const insert = `${writeChangedRows(layout, type, given, condition)}${inOrder} ON CONFLICT (${id}) ${fail}`
    // To select from it would take a sixth longer.
    if (isLast) return `${ctes.length === 0 ? '' : `WITH ${ctes.join(', ')} `}${insert}`
    ctes.push(`done${g} AS (${insert})`)
  }
  return `WITH ${ctes.join(', ')} SELECT ${failUnless(complete)}`
}
