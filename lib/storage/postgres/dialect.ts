import type { Kind } from '../../core/storage/storage.js'
import type { Dialect } from '../sql/dialect.js'
import { indexedLength } from '../sql/dialect.js'
import { quoteText } from '../sql/names.js'
import { showMoment, writeForeignColumn, writePlain } from './foreign.js'

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
  parameter: (n, as) => `$${n}::${as}`,
  inList ({ column, as, from, negated, isCut }) {
    const list = `$${from}::${as}[]`
    const isOneOf = `${column} ${negated ? '<> ALL' : '= ANY'} (${list})`
    if (negated || !isCut) return isOneOf
    return `(${takeBeginning(column)} = ANY (ARRAY(SELECT ${takeBeginning('one')} FROM unnest(${list}) AS one)) ` +
      `AND ${isOneOf})`
  },
  listsAreOneParameter: true,
  withoutIndex: '',
  // An entry of an index has 2704 bytes at most.
  beginning: takeBeginning,
  writeColumn (column, kind, present) {
    const as = plainTypes[kind]
    // Equal is equal in every collation; naming one would keep a mapped table's index from being used.
    const texts = { selected: select(column, kind), compared: column, comparedAs: as, equated: column, equatedAs: as }
    return present === undefined ? texts : { ...texts, ...writeForeignColumn(column, kind, present) }
  },
  writeFilled (column, kind, value, present) {
    const filled = `COALESCE(${writePlain(column, kind, present)}, ${writeLiteral(value, kind)})`
    return this.writeColumn(filled, kind, { ...present, type: plainTypes[kind], labels: undefined })
  },
  absentFirst: ' NULLS FIRST',
  absentLast: ' NULLS LAST',
  encode,
  decode: {
    integer: Number,
    number: Number,
    boolean: value => value === 't',
    json: value => JSON.parse(value as string) as unknown
  },
  uniqueTerm: (column, kind) => kind === 'string' ? digest(column) : column,
  literal: writeLiteral,
  constant: writeLiteral
}

// Texts of their own for dates, since a session may have any DateStyle and TimeZone.
function select (column: string, kind: Kind): string {
  if (kind === 'date') return `to_char(${column}, 'YYYY-MM-DD')`
  return kind === 'date-time' ? showMoment(`${column} AT TIME ZONE 'UTC'`) : column
}

// A text may be longer than an entry of an index, and its collation may take two texts for one. In the format "escape"
// bytes stand for themselves, but for the backslash.
function digest (text: string): string {
  return `sha256(decode(replace(${text}, chr(92), chr(92) || chr(92)), 'escape'))`
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
  return `${quoted}::${plainTypes[kind]}`
}

const plainTypes: Record<Kind, string> = {
  integer: 'bigint',
  number: 'double precision',
  string: 'text',
  boolean: 'boolean',
  date: 'date',
  'date-time': 'timestamptz',
  json: 'json'
}
