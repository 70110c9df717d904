import type { Dialect } from '../sql/dialect.js'
import { indexedLength } from '../sql/dialect.js'
import { quoteText } from '../sql/names.js'
import type { Kind } from '../storage.js'

/** What the driver hands over is the text of the value, whatever the pool's own parsers are. */
export const postgresDialect: Dialect = {
  types: {
    integer: 'bigint',
    number: 'double precision',
    string: 'text COLLATE "C"',
    boolean: 'boolean',
    date: 'date',
    'date-time': 'timestamp(3) with time zone',
    // Not jsonb: that would order the members anew, and the answer to a repeated command would differ from the first.
    json: 'json'
  },
  parameter: (n, kind) => `$${n}::${parameterTypes[kind]}`,
  inList ({ column, kind, from, negated, isCut }) {
    const list = `$${from}::${parameterTypes[kind]}[]`
    const isOneOf = `${column} ${negated ? '<> ALL' : '= ANY'} (${list})`
    if (negated || !isCut) return isOneOf
    return `(${takeBeginning(column)} = ANY (ARRAY(SELECT ${takeBeginning('one')} FROM unnest(${list}) AS one)) ` +
      `AND ${isOneOf})`
  },
  listsAreOneParameter: true,
  withoutIndex: '',
  // An entry of an index has 2704 bytes at most.
  beginning: takeBeginning,
  // Texts of their own for dates, since a session may have any DateStyle and TimeZone.
  selected (column, kind) {
    if (kind === 'date') return `to_char(${column}, 'YYYY-MM-DD')`
    if (kind === 'date-time') return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    return column
  },
  compared: (column, kind, foreign) => foreign && kind === 'string' ? `${column} COLLATE "C"` : column,
  // Equal is equal in every collation; naming one would keep a mapped table's index from being used.
  equated: column => column,
  absentFirst: ' NULLS FIRST',
  absentLast: ' NULLS LAST',
  encode,
  decode: {
    integer: Number,
    number: Number,
    boolean: value => value === 't',
    json: value => JSON.parse(value as string) as unknown
  },
  literal: writeLiteral,
  constant: writeLiteral
}

function takeBeginning (text: string): string {
  return `left(${text}, ${indexedLength})`
}

function encode (value: unknown, kind: Kind): unknown {
  if (value === undefined || value === null) return null
  return kind === 'json' ? JSON.stringify(value) : value
}

function writeLiteral (value: unknown, kind: Kind): string {
  const text = String(encode(value, kind))
  // A session may have backslashes mean something in plain quotes too.
  const quoted = text.includes('\\') ? `E${quoteText(text.replaceAll('\\', '\\\\'))}` : quoteText(text)
  return `${quoted}::${parameterTypes[kind]}`
}

const parameterTypes: Record<Kind, string> = {
  integer: 'bigint',
  number: 'double precision',
  string: 'text',
  boolean: 'boolean',
  date: 'date',
  'date-time': 'timestamptz',
  json: 'json'
}
