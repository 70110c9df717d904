import { memoryStorage } from 'fastify-dealbook'
import type { Storage } from 'fastify-dealbook'

/** Where the server keeps its data unless STORAGE says otherwise. */
export const defaultStorage = 'memory:'

const openers: Record<string, (url: string) => Promise<Storage>> = {
  'memory:': async () => memoryStorage()
}

/** Opens the storage that a URL such as `memory:` names; a driver is loaded only when it is chosen. */
export async function openStorage (url: string): Promise<Storage> {
  const scheme = url.slice(0, url.indexOf(':') + 1)
  const open = openers[scheme]
  if (open === undefined) throw new Error(`STORAGE is "${url}", but must begin with one of ${Object.keys(openers).join(' ')}`)
  return await open(url)
}
