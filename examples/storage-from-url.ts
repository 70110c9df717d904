import type { Storage } from 'fastify-dealbook'
import { memoryStorage } from 'fastify-dealbook'

/** The default of STORAGE. */
export const defaultStorage = 'sqlite:./dealbook.db'

const openers: Record<string, (url: string) => Promise<Storage>> = {
  'memory:': async () => memoryStorage(),
  'sqlite:': sqlite,
  'postgres:': postgres,
  'postgresql:': postgres
}

async function sqlite (url: string): Promise<Storage> {
  const file = url.slice('sqlite:'.length)
  // To SQLite, no name means a file that is deleted at the end.
  if (file === '') throw new Error('STORAGE is "sqlite:", but must name a file, such as sqlite:./dealbook.db')
  return (await import('fastify-dealbook/sqlite')).sqliteStorage({ file })
}

async function postgres (url: string): Promise<Storage> {
  // Without further hosts: postgres://user@first:5432,second:5432/crm.
  if (!URL.canParse(url.replace(/,[^@/?]*(?=[/?]|$)/, ''))) {
    throw new Error('STORAGE must be a URL such as postgres://user:password@host/database, ' +
      'with special characters of the password percent-encoded')
  }
  return (await import('fastify-dealbook/postgres')).postgresStorage({ connectionString: url })
}

/** Opens the storage that a URL such as `memory:` names; a driver is loaded only when it is chosen. */
export async function openStorage (url: string): Promise<Storage> {
  const scheme = url.slice(0, url.indexOf(':') + 1)
  const open = openers[scheme]
  if (open === undefined) {
    throw new Error(`STORAGE is "${hidePassword(url)}", but must begin with one of ${Object.keys(openers).join(' ')}`)
  }
  return await open(url)
}

// The message may be logged.
function hidePassword (url: string): string {
  return url.replace(/\/\/.*@/, '//…@')
}
