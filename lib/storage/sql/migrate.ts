import { errorCodes } from '../../core/errors.js'

/**
 * What is done at the start about tables, columns and indexes that are missing: they are made (`auto`), the boot fails
 * with the SQL that makes them (`check`), or nobody looks (`off`).
 */
export type Migrate = 'auto' | 'check' | 'off'

const modes: readonly Migrate[] = ['auto', 'check', 'off']

export function readMigrate (migrate: Migrate = 'auto'): Migrate {
  if (modes.includes(migrate)) return migrate
  const allowed = modes.map(mode => `"${mode}"`).join(', ')
  throw new errorCodes.FST_DEALBOOK_INVALID_STORAGE_OPTION('migrate', `it must be one of ${allowed}`)
}

/** Statements as one text that can be run as it stands, without those that come twice. */
export function joinStatements (statements: readonly string[]): string {
  return [...new Set(statements)].map(statement => `${statement};\n`).join('')
}
