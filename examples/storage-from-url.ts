import type { Storage } from 'fastify-dealbook'
import { memoryStorage } from 'fastify-dealbook'

/** Where the server keeps its data unless STORAGE says otherwise. */
export const defaultStorage = 'sqlite:./dealbook.db'

const openers: Record<string, (url: string) => Promise<Storage>> = {
  'memory:': async () => memoryStorage(),
  'sqlite:': async url =>
    (await import('fastify-dealbook/sqlite')).sqliteStorage({ file: url.slice('sqlite:'.length) }),
  'postgres:': postgres,
  'postgresql:': postgres
}

async function postgres (url: string): Promise<Storage> {
  return (await import('fastify-dealbook/postgres')).postgresStorage({ connectionString: url })
}

/** Opens the storage that a URL such as `memory:` names; a driver is loaded only when it is chosen. */
export async function openStorage (url: string): Promise<Storage> {
  const scheme = url.slice(0, url.indexOf(':') + 1)
  const open = openers[scheme]
  if (open === undefined) {
    throw new Error(`STORAGE is "${url}", but must begin with one of ${Object.keys(openers).join(' ')}`)
  }
  return await open(url)
}
