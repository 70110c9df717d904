import type { Kind } from '../../core/storage/storage.js'
import { maxDigits } from '../../core/values/decimals.js'
import {
  type ColumnField, type ColumnTexts, type Dialect, type Flag, indexedLength, type PresentColumn, quoteText
} from '../sql/dialect.js'
import { encodeFlag, writeFlag } from '../sql/flags.js'
import type { Column } from '../sql/layout.js'

/** Values from the driver are text, whatever parsers the pool has. */
export const postgresDialect: Dialect = {
  types: {
    integer: 'bigint',
    number: 'double precision',
    decimal: 'numeric',
    string: 'text COLLATE "C"',
    boolean: 'boolean',
    date: 'date',
    'date-time': 'timestamp(3) with time zone',
    // Not jsonb: it reorders members, so that a replayed answer would differ from the first.
    json: 'json'
  },
  parameter: (n, as) => `$${n}::${as}`,
  inList (column, list, negated, isPrefixIndexed) {
    const isOneOf = `${column} ${negated ? '<> ALL' : '= ANY'} (${list})`
    if (negated || !isPrefixIndexed) return isOneOf
    return `(${takeBeginning(column)} = ANY (ARRAY(SELECT ${takeBeginning('one')} FROM unnest(${list}) AS one)) ` +
      `AND ${isOneOf})`
  },
  listsAreOneParameter: true,
  withoutIndex: '',
  // An index entry has 2704 bytes at most.
  beginning: takeBeginning,
  writeColumn (column, field, present) {
    const { kind } = field
    if (present?.flag !== undefined) return writeFlagTexts(column, present.flag, present)
    const as = plainTypes[kind]
    // Fixed formats, since a session may have any DateStyle and TimeZone.
    const date = kind === 'date' ? `to_char(${column}, 'YYYY-MM-DD')` : column
    const selected = kind === 'date-time' ? printMoment(`${column} AT TIME ZONE 'UTC'`) : date
    // Equality is the same in every collation; naming one would rule out a mapped table's index.
    const texts = { selected, compared: column, comparedAs: as, equated: column, equatedAs: as }
    return present === undefined ? texts : { ...texts, ...writeForeignColumn(column, field, present) }
  },
  writeFilled (column, field, present) {
    const { kind, default: value } = field
    if (present?.flag !== undefined) {
      const { as } = describeFlag(column, present.flag, present)
      const filled = `COALESCE(${column}, ${writeLiteral(encodeFlag(present.flag, value))}::${as})`
      return this.writeColumn(filled, field, present)
    }
    // A literal without a type gets that of the column.
    const literal = writeLiteral(kind === 'json' ? JSON.stringify(value) : String(value))
    if (present === undefined) return this.writeColumn(`COALESCE(${column}, ${literal})`, field)
    const filled = `COALESCE(${writePlain(column, kind, present)}, ${writeTyped(value, kind)})`
    return this.writeColumn(filled, field, { ...present, type: plainTypes[kind], labels: undefined })
  },
  encode: {
    // A cursor may have a text, which a mapped column has.
    boolean: value => value === true,
    json: value => JSON.stringify(value)
  },
  decode: {
    integer: toInteger,
    number: parseNumber,
    boolean: value => value === 't',
    json: value => JSON.parse(value as string) as unknown
  },
  // Texts may be too long for an index, or equal by a collation. In the format "escape" only a backslash is special.
  uniqueTerm: (column, kind) => kind === 'string'
    ? `sha256(decode(replace(${column}, chr(92), chr(92) || chr(92)), 'escape'))`
    : column,
  literal: writeTyped,
  constant: writeTyped
}

/** Values that a number cannot hold are text. */
function toInteger (text: unknown): unknown {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : text
}

export function parseNumber (text: unknown): unknown {
  const value = Number(text)
  return Number.isFinite(value) ? value : String(value)
}

export function takeBeginning (text: string): string {
  return `left(${text}, ${indexedLength})`
}

function writeTyped (value: unknown, kind: Kind): string {
  return `${writeLiteral(kind === 'json' ? JSON.stringify(value) : String(value))}::${plainTypes[kind]}`
}

export function writeLiteral (value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  if (Array.isArray(value)) return `ARRAY[${value.map(writeLiteral).join(', ')}]`
  const text = String(value).replaceAll('\'', '\'\'')
  // Some sessions read backslashes as escapes in plain quotes too.
  return text.includes('\\') ? `E'${text.replaceAll('\\', '\\\\')}'` : `'${text}'`
}

const plainTypes: Record<Kind, string> = {
  integer: 'bigint',
  number: 'double precision',
  decimal: 'numeric',
  string: 'text',
  boolean: 'boolean',
  date: 'date',
  'date-time': 'timestamptz',
  json: 'json'
}

/** For types that our tables do not have. */
function writeForeignColumn (column: string, field: ColumnField, present: PresentColumn): Partial<ColumnTexts> {
  switch (field.kind) {
    case 'string': return writeText(column, present)
    case 'date-time': return writeMomentTexts(column, present.type)
    // Not to_char, which leaves out BC.
    case 'date': return { selected: `trim('"' FROM to_json(${column})::text)` }
    case 'number': return writeNumber(column, present.type)
    case 'decimal': return { selected: showDecimal(column, field.scale as number, present.type) }
    case 'json': return present.type.endsWith('[]') ? { selected: `to_json(${column})` } : {}
    default: return {}
  }
}

/** A column that keeps a boolean as one of two texts or integers, and the type of these. */
function describeFlag (column: string, flag: Flag, { type, labels }: PresentColumn): { column: string, as: string } {
  if (typeof flag.true === 'number') return { column, as: type.startsWith('numeric') ? 'numeric' : type }
  if (labels !== undefined) return { column, as: type }
  // Padded with spaces, which do not count.
  if (/^character\(/.test(type)) return { column, as: 'bpchar' }
  return { column: isTextType(type) ? column : `${column}::text`, as: 'text' }
}

function writeFlagTexts (given: string, flag: Flag, present: PresentColumn): ColumnTexts {
  const { column, as } = describeFlag(given, flag, present)
  const literal = (value: string | number): string => `${writeLiteral(value)}::${as}`
  const terms = { column, as, text: `${given}::text`, literal, quote: quoteText }
  const texts = writeFlag(flag, terms, text => `to_json(${text})::text`)
  return { ...texts, compared: `(${texts.compared}) COLLATE "C"`, comparedAs: 'text' }
}

/** The column as a value that can be combined with a literal of its kind. */
function writePlain (column: string, kind: Kind, { type }: PresentColumn): string {
  if (kind === 'string') return isTextType(type) ? column : `${column}::text`
  if (kind === 'json') return `to_json(${column})`
  if (kind === 'number') return showNumber(column, type)
  return kind === 'date-time' && !isZoned(type) ? `(${column} AT TIME ZONE 'UTC')` : column
}

function writeText (column: string, present: PresentColumn): Partial<ColumnTexts> {
  const { type } = present
  if (isTextType(type)) return { compared: `${column} COLLATE "C"` }
  const text = `${column}::text`
  // Ordered by bytes, like their text.
  if (type === 'uuid') return { selected: text, compared: column, comparedAs: type, equated: column, equatedAs: type }
  const compared = { selected: text, compared: `${text} COLLATE "C"` }
  const as = findEqualType(present)
  // So that an index of the column can be used.
  return as === undefined ? { ...compared, equated: text } : { ...compared, equated: column, equatedAs: as }
}

function isTextType (type: string): boolean {
  return /^(text$|character varying)/.test(type)
}

/** A type in which only identical texts are equal. */
function findEqualType ({ type, labels }: PresentColumn): string | undefined {
  if (labels !== undefined || /^(bigint|integer|smallint)$/.test(type)) return type
  if (/^character\(/.test(type)) return 'bpchar'
  // Without a scale, 1.0 and 1.00 are two texts and one number.
  return /^numeric\(/.test(type) ? 'numeric' : undefined
}

function isZoned (type: string): boolean {
  return /tz$|with time zone$/.test(type)
}

/** Compared as shown, unless the type has only values that are shown exactly. */
function writeNumber (column: string, type: string): Partial<ColumnTexts> {
  // An index of the column can be used.
  const isShort = Number(/^numeric\((\d+),/.exec(type)?.[1]) <= 15
  const compared = isShort ? column : showNumber(column, type)
  const as = isShort ? 'numeric' : plainTypes.number
  return { compared, comparedAs: as, equated: compared, equatedAs: as }
}

/** With the digits of the field, if it can hold the value. */
function showDecimal (column: string, scale: number, type: string): string {
  if (type === `numeric(${maxDigits},${scale})`) return column
  return `CASE WHEN ${column} = round(${column}, ${scale}) AND abs(${column}) < 1e${maxDigits - scale} ` +
    `THEN round(${column}, ${scale}) ELSE ${column} END`
}

/** The number that JavaScript reads in the text of the column. */
function showNumber (column: string, type: string): string {
  if (type === 'real') return `${column}::text::double precision`
  if (type === 'bigint') return `${column}::double precision`
  if (!type.startsWith('numeric')) return column
  return `CASE WHEN abs(${column}) <= 2.47e-324 THEN 0 WHEN abs(${column}) < 1.797693134862315808e308 ` +
    `THEN ${column}::double precision ELSE sign(${column}) * 'Infinity'::double precision END`
}

/** Date-times have milliseconds: further digits of a column are neither shown nor compared. */
function writeMomentTexts (column: string, type: string): Partial<ColumnTexts> {
  const hasMore = Number(/\((\d)\)/.exec(type)?.[1] ?? 6) > 3
  const moment = isZoned(type) ? `(${column} AT TIME ZONE 'UTC')` : column
  const compared = hasMore ? `date_trunc('milliseconds', ${moment})` : moment
  const as = 'timestamp'
  const selected = `CASE WHEN NOT isfinite(${moment}) THEN ${moment}::text ` +
    `WHEN ${moment} < '0001-01-01' THEN ${printMoment(moment)} || ' BC' ELSE ${printMoment(moment)} END`
  if (isZoned(type) && !hasMore) return { selected }
  return { selected, compared, comparedAs: as, equated: compared, equatedAs: as }
}

/** `moment` is in UTC, without a zone. */
function printMoment (moment: string): string {
  return `to_char(${moment}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

// Encloses a number that JavaScript must write. JSON can only have it escaped.
const mark = '\u001e'
const marked = new RegExp(`${mark}([^${mark}]*)${mark}`, 'g')

/** The value as `JSON.stringify` writes it, after `restoreNumbers`. */
export function writeJsonValue ({ kind, selected }: Column, mapped: boolean): string {
  const marked = `chr(30) || ${selected} || chr(30)`
  const text = `${selected}::text`
  switch (kind) {
    // Beyond these, JavaScript would round an integer.
    case 'integer': return mapped
      ? `CASE WHEN ${selected} BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER} ` +
        `THEN ${text} ELSE '"' || ${text} || '"' END`
      : text
    // Both write the fewest digits that identify a fraction, without an exponent between these bounds. Above,
    // PostgreSQL may write more digits of an integer than needed.
    case 'number': return mapped
      ? marked
      : `CASE WHEN ${selected} = trunc(${selected}) AND abs(${selected}) <= ${Number.MAX_SAFE_INTEGER} ` +
        `THEN ${selected}::bigint::text WHEN abs(${selected}) BETWEEN 1e-4 AND 1e15 THEN ${text} ELSE ${marked} END`
    case 'string': return `to_json(${selected})::text`
    case 'boolean':
    case 'json': return text
    default: return `'"' || ${selected} || '"'`
  }
}

/**
 * A row as `JSON.stringify` writes it, after `restoreNumbers`; absent members are left out. `format` and `concat` take
 * a fifth longer.
 */
export function selectItem (members: readonly Column[], mapped: boolean): string {
  const isAlways = ({ field }: Column): boolean => field.nullable === true || field.name === 'id'
  const isFirst = members[0] !== undefined && isAlways(members[0])
  const text = members.map((column, index) => {
    const { field: { name, nullable }, written = name } = column
    const value = writeJsonValue(column, mapped)
    const before = quoteText(`${isFirst && index === 0 ? '{' : ','}${JSON.stringify(written)}:`)
    if (isAlways(column)) return `${before} || ${nullable === true ? `coalesce(${value}, 'null')` : value}`
    // NULL || text is NULL.
    return `coalesce(${before} || ${value}, '')`
  }).join(' || ')
  return `${isFirst ? text : `'{' || ltrim(${text}, ',')`} || '}'`
}

export function restoreNumbers (text: string): string {
  return text.includes(mark) ? text.replace(marked, (_, number: string) => JSON.stringify(parseNumber(number))) : text
}
