import type { Column } from '../sql/layout.js'
import { readNumber } from './dialect.js'

// Encloses a number that JavaScript must write. JSON can only have it escaped.
const mark = '\u001e'
const marked = new RegExp(`${mark}([^${mark}]*)${mark}`, 'g')

/** The value as `JSON.stringify` writes it, after `restoreNumbers`. */
export function writeValue ({ kind, selected }: Column, mapped: boolean): string {
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

export function restoreNumbers (text: string): string {
  return text.includes(mark) ? text.replace(marked, (_, number: string) => JSON.stringify(readNumber(number))) : text
}
