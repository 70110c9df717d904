import type { Dialect } from '../sql/dialect.js'

/** Dates are text in SQLite, so that their order is the order of time; booleans are 0 and 1. */
export const sqliteDialect: Dialect = {
  types: { integer: 'INTEGER', number: 'REAL', string: 'TEXT', boolean: 'BOOLEAN', date: 'TEXT', 'date-time': 'TEXT', json: 'TEXT' },
  parameter: () => '?',
  inList: (column, _, length, __, negated) => `${column}${negated ? ' NOT' : ''} IN (${Array(length).fill('?').join(', ')})`,
  listsAreOneParameter: false,
  selected: column => column,
  compared: binary,
  equated: binary,
  // Absent comes first by itself.
  absentFirst: '',
  absentLast: '',
  encode (value, kind) {
    if (value === undefined || value === null) return null
    if (kind === 'boolean') return value === true ? 1 : 0
    return kind === 'json' ? JSON.stringify(value) : value
  },
  decode: {
    boolean: value => value !== 0,
    json: value => JSON.parse(value as string) as unknown
  },
  constant: value => typeof value === 'number' ? `CAST(${value} AS INTEGER)` : `CAST('${value}' AS TEXT)`
}

function binary (column: string, kind: string, foreign: boolean): string {
  return foreign && kind === 'string' ? `${column} COLLATE BINARY` : column
}
