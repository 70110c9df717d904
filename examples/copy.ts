// Moves the data of a stopped server to a different storage; run it again to continue after an interruption:
// node build/examples/copy.js sqlite:./dealbook.db postgres://user:password@host/database
import { existsSync } from 'node:fs'
import type { Storage } from 'fastify-dealbook'
import { customers, deals } from 'fastify-dealbook'
import { copyStorage } from 'fastify-dealbook/tools'
import { loads } from './first-customers.js'
import { makeProgress } from './progress.js'
import { explainFailure } from './start-and-stop.js'
import { openStorage } from './storage-from-url.js'

/** Copies all data of the server, and shows the progress. */
export async function copyAll (from: Storage, to: Storage, signal?: AbortSignal): Promise<Record<string, number>> {
  let progress: ReturnType<typeof makeProgress> | undefined
  let shown: string | undefined
  let share = 0
  return await copyStorage(from, to, {
    families: [customers, deals, loads],
    onProgress ({ family, copied, total }) {
      share = total === 0 ? 1 : copied / total
      if (family !== shown) progress = makeProgress(`${shown = family} copied`, () => share)
      if (copied === total) progress?.end(copied)
      else progress?.show(copied)
    },
    ...(signal === undefined ? {} : { signal })
  })
}

async function run ([from, to]: readonly string[], signal: AbortSignal): Promise<void> {
  if (from === undefined || to === undefined) throw new Error('Give two URLs, such as sqlite:./a.db sqlite:./b.db')
  const file = from.startsWith('sqlite:') ? from.slice('sqlite:'.length) : undefined
  // Otherwise an empty file would be created.
  if (file !== undefined && !existsSync(file)) throw new Error(`There is no file ${file}`)
  const storages: Storage[] = []
  try {
    for (const url of [from, to]) storages.push(await openStorage(url))
    const [source, target] = storages as [Storage, Storage]
    await copyAll(source, target, signal)
  } finally {
    for (const storage of storages) await storage.close()
  }
}

if (import.meta.filename === process.argv[1]) {
  const stopping = new AbortController()
  process.once('SIGTERM', () => stopping.abort(new Error('Stopped; run it again to continue')))
  await run(process.argv.slice(2), stopping.signal).catch(error => {
    console.error(explainFailure(error))
    process.exitCode = 1
  })
}
