/**
 * What is done at the start about tables, columns and indexes that are missing: they are made (`auto`), the boot fails
 * with the SQL that makes them (`check`), or nobody looks (`off`).
 */
export type Migrate = 'auto' | 'check' | 'off'

/** Statements as one text that can be run as it stands, without those that come twice. */
export function joinStatements (statements: readonly string[]): string {
  return [...new Set(statements)].map(statement => `${statement};\n`).join('')
}
