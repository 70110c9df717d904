import { ClauseBuilder } from '../sql/clauses.js'
import type { Layout } from '../sql/layout.js'
import { postgresDialect as dialect } from './dialect.js'

/** The text of a statement, and of the same for several sets of values (`Statement.shared`). */
export interface KeptText {
  readonly text: string
  readonly shared: string | undefined
}

/** @param isOneRow whether it answers one row at most, so that it can be shared */
export function writeKept (layout: Layout, write: (clauses: ClauseBuilder) => string, isOneRow: boolean): KeptText {
  return { text: write(new ClauseBuilder(layout, dialect)), shared: isOneRow ? writeShared(layout, write) : undefined }
}

/** None where a value is a list, or where there is no value: an array has one for each set. */
function writeShared (layout: Layout, write: (clauses: ClauseBuilder) => string): string | undefined {
  const arrays: string[] = []
  let hasLists = false
  const one = write(new ClauseBuilder(layout, {
    ...dialect,
    parameter (n, as) {
      // Hidden in a query, so that the length of an array is no reason to plan the statement anew each time.
      arrays[n - 1] = `(SELECT ${dialect.parameter(n, as)}[])`
      return `"$given"."${n}"`
    },
    inList (test) {
      hasLists = true
      return dialect.inList(test)
    }
  }))
  if (hasLists || arrays.length === 0) return undefined
  const names = arrays.map((_, index) => `"${index + 1}"`)
  return `SELECT one.*, "$given"."set" FROM unnest(${arrays.join(', ')}) ` +
    `WITH ORDINALITY AS "$given" (${names.join(', ')}, "set"), LATERAL (${one}) AS one`
}
