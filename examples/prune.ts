// A nightly job that deletes old commands from the server's data, by default after 90 days:
// STORAGE=sqlite:./dealbook.db node build/examples/prune.js 90
import type { Storage } from 'fastify-dealbook'
import { prune } from 'fastify-dealbook/tools'
import { defaultStorage, openStorage } from './storage-from-url.js'

/**
 * Deletes commands older than this many days from all logs. Safe to run twice, and to be stopped at any moment: the
 * next run deletes the rest.
 */
export async function forgetOldCommands (storage: Storage, days: number, signal?: AbortSignal): Promise<number> {
  const before = new Date(Date.now() - days * 24 * 3600 * 1000)
  return await prune(storage, { before, ...(signal === undefined ? {} : { signal }) })
}

if (import.meta.filename === process.argv[1]) {
  const stopping = new AbortController()
  process.once('SIGTERM', () => stopping.abort(new Error('Stopped; the next run deletes the rest')))
  const storage = await openStorage(process.env.STORAGE ?? defaultStorage)
  try {
    const days = Number(process.argv[2] ?? 90)
    console.log(JSON.stringify({ dropped: await forgetOldCommands(storage, days, stopping.signal) }))
  } finally {
    await storage.close()
  }
}
