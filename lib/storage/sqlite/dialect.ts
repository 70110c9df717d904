import type { Kind } from '../../core/storage/storage.js'
import type { Dialect } from '../sql/dialect.js'
import { quoteText } from '../sql/names.js'
import type { PresentColumn } from '../sql/present-column.js'

/**
 * Dates are text in SQLite, so that their order is the order of time; booleans are 0 and 1. The first word of a type
 * means nothing to SQLite, but tells what is in the column.
 */
export const sqliteDialect: Dialect = {
  types: {
    integer: 'INTEGER',
    number: 'REAL',
    string: 'TEXT',
    boolean: 'BOOLEAN',
    date: 'DATE TEXT',
    'date-time': 'DATETIME TEXT',
    json: 'JSON TEXT'
  },
  parameter: (_, as) => writeParameter(as),
  inList: ({ column, as, length, negated }) =>
    `${column}${negated ? ' NOT' : ''} IN (${Array(length).fill(writeParameter(as)).join(', ')})`,
  listsAreOneParameter: false,
  // The unary plus makes an expression of a column, and no index is over that.
  withoutIndex: '+',
  writeColumn (column, kind, present) {
    const selected = isSpaced(kind, present) ? `strftime('%Y-%m-%dT%H:%M:%fZ', ${column})` : column
    const compared = present !== undefined && kind === 'string' ? `${selected} COLLATE BINARY` : selected
    return { selected, compared, comparedAs: kind, equated: compared, equatedAs: kind }
  },
  writeFilled (column, kind, value, present) {
    return this.writeColumn(`COALESCE(${column}, ${writeLiteral(value, kind)})`, kind, present)
  },
  // Absent comes first by itself.
  absentFirst: '',
  absentLast: '',
  encode,
  decode: {
    boolean: value => value !== 0,
    json: value => JSON.parse(value as string) as unknown
  },
  uniqueTerm: (column, kind) => kind === 'string' ? `${column} COLLATE BINARY` : column,
  literal: writeLiteral,
  // As itself, a number would be that of a column in an order.
  constant: (value, kind) => `CAST(${writeLiteral(value, kind)} AS ${typeof value === 'number' ? 'INTEGER' : 'TEXT'})`
}

// @photostructure/sqlite binds positive numbers below 2^-52 as 0; as text they arrive whole.
const tiny = 1e-15

function encode (value: unknown, kind: Kind): unknown {
  if (value === undefined || value === null) return null
  if (kind === 'boolean') return value === true ? 1 : 0
  if (kind === 'number' && (value as number) > 0 && (value as number) < tiny) return String(value)
  return kind === 'json' ? JSON.stringify(value) : value
}

/** Whether moments are kept in another form than ours. */
export function isSpaced (kind: Kind, present: PresentColumn | undefined): boolean {
  return kind === 'date-time' && present?.isSpaced === true
}

function writeLiteral (value: unknown, kind: Kind): string {
  const encoded = encode(value, kind)
  return typeof encoded === 'string' ? quoteText(encoded) : String(encoded)
}

function writeParameter (as: string): string {
  return as === 'number' ? 'CAST(? AS REAL)' : '?'
}
