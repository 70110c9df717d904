// A nightly job that forgets commands after so many days, 90 unless given, on the server's data:
// STORAGE=sqlite:./dealbook.db node build/examples/prune.js 90
import type { Storage } from 'fastify-dealbook'
import { prune } from 'fastify-dealbook'
import { defaultStorage, openStorage } from './storage-from-url.js'

/**
 * Drops what is older than so many days from all logs. Safe to run twice, and to be stopped at any moment: what is left
 * is dropped the next time.
 */
export async function forgetOldCommands (storage: Storage, days: number, signal?: AbortSignal): Promise<number> {
  const before = new Date(Date.now() - days * 24 * 3600 * 1000)
  return await prune(storage, { before, ...(signal === undefined ? {} : { signal }) })
}

if (import.meta.filename === process.argv[1]) {
  const stopping = new AbortController()
  process.once('SIGTERM', () => stopping.abort(new Error('Stopped; the rest is dropped the next time')))
  const storage = await openStorage(process.env.STORAGE ?? defaultStorage)
  try {
    const days = Number(process.argv[2] ?? 90)
    console.log(JSON.stringify({ dropped: await forgetOldCommands(storage, days, stopping.signal) }))
  } finally {
    await storage.close()
  }
}
