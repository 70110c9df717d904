import type { Column } from '../sql/layout.js'

// In our own tables these are NOT NULL.
const requiredFields = ['id', 'revision', 'createdAt', 'updatedAt']

// Stands before and after a number that JavaScript must write; within JSON it could only be escaped.
const mark = '\u001e'

/** Whether rows can be written as JSON by the server. What others have put into a column of JSON may be laid out. */
export function canWriteJson (members: readonly Column[], mapped: boolean): boolean {
  return members.length > 0 && !(mapped && members.some(({ kind }) => kind === 'json'))
}

/**
 * A row as the text of a JSON object with these members, as `JSON.stringify` writes it once `restoreNumbers` has seen
 * it; absent ones are left out.
 */
export function selectJson (members: readonly Column[], mapped: boolean): string {
  const isRequired = ({ field }: Column): boolean => !mapped && requiredFields.includes(field.name)
  const parts = members.map((column, index) => {
    const { name, nullable } = column.field
    const value = writeValue(column, mapped)
    const member = `',${JSON.stringify(name)}:' || ${nullable === true ? `coalesce(${value}, 'null')` : value}`
    if (!isRequired(column)) return `coalesce(${member}, '')`
    return index === 0 ? member.replace(',', '{') : member
  })
  if (isRequired(members[0] as Column)) return `${parts.join(' || ')} || '}'`
  return `'{' || ltrim(${parts.join(' || ')}, ',') || '}'`
}

function writeValue ({ kind, selected }: Column, mapped: boolean): string {
  const marked = `${quotedMark} || ${selected} || ${quotedMark}`
  switch (kind) {
    // Beyond these, not every integer is a number of JavaScript.
    case 'integer': return mapped
      ? `CASE WHEN ${selected} BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER} ` +
        `THEN ${selected}::text ELSE ${marked} END`
      : `${selected}::text`
    case 'number': return mapped ? marked : writeNumber(selected, marked)
    case 'boolean': return `${selected}::text`
    case 'string': return `to_json(${selected})::text`
    case 'json': return `${selected}::text`
    default: return `'"' || ${selected} || '"'`
  }
}

// Of fractions PostgreSQL and JavaScript write the same digits, the fewest that tell a number from others, and between
// these bounds neither writes an exponent. Of integers above PostgreSQL writes more digits than needed now and then.
function writeNumber (column: string, marked: string): string {
  return `CASE WHEN ${column} = trunc(${column}) AND abs(${column}) <= ${Number.MAX_SAFE_INTEGER} ` +
    `THEN ${column}::bigint::text ` +
    `WHEN abs(${column}) BETWEEN 1e-4 AND 1e15 THEN ${column}::text ` +
    `ELSE ${marked} END`
}

const quotedMark = 'chr(30)'

/** Writes the numbers that are marked as JavaScript does. */
export function restoreNumbers (text: string): string {
  return text.includes(mark) ? text.replace(marked, (_, number: string) => JSON.stringify(Number(number))) : text
}

const marked = new RegExp(`${mark}([^${mark}]*)${mark}`, 'g')
