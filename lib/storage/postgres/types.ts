import { errorCodes } from '../../core/errors.js'
import type { Kind } from '../../core/storage/storage.js'
import type { Layout } from '../sql/layout.js'
import type { PresentColumn } from '../sql/present-column.js'
import { postgresDialect as dialect } from './dialect.js'

// Types that hold every value of a kind, and whose values a kind can show; further ones may be mapped.
export const ownTypes: Record<Kind, RegExp> = {
  integer: /^bigint$/,
  // Whole numbers become others.
  number: /^(double precision|bigint)$/,
  string: /^text$|^character varying$/,
  boolean: /^boolean$/,
  date: /^date$/,
  'date-time': /^timestamp(\([3-6]\))? with time zone$/,
  json: /^jsonb?$/
}
export const mappableTypes: Record<Kind, RegExp> = {
  ...ownTypes,
  integer: /^(bigint|integer|smallint)$/,
  number: /^(double precision|real|numeric(\(.*\))?|bigint|integer|smallint)$/,
  string: new RegExp('^(text|character( varying)?(\\(\\d+\\))?|(.+\\.)?citext|uuid|numeric(\\(.*\\))?|bigint|integer|' +
    'smallint|time(\\(\\d\\))? without time zone)$'),
  'date-time': /^timestamp(\(\d\))? with(out)? time zone$/,
  json: new RegExp('^(jsonb?|(text|character( varying)?(\\(\\d+\\))?|uuid|numeric(\\(.*\\))?|bigint|integer|smallint|' +
    'real|double precision|boolean|date)\\[\\])$')
}

/** Refuses a column whose type does not fit its field. */
export function checkTypes (
  { family, tableName, columns }: Layout,
  present: ReadonlyMap<string, PresentColumn>,
  types: Record<Kind, RegExp>
): void {
  for (const { name, kind, field } of columns) {
    const { type, labels } = present.get(name ?? '') ?? {}
    if (type === undefined || types[kind].test(type) || (labels !== undefined && kind === 'string')) continue
    const expected = dialect.types[kind]
    throw new errorCodes.FST_DEALBOOK_COLUMN_TYPE(family, name, tableName, type, field.name, kind, expected)
  }
}
