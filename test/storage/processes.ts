import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isLong } from '../size.js'
import { unmeasured } from '../unmeasured.js'

/** How many start at once. */
export const starting = isLong ? 10 : 4

/** Starts processes at once that prepare the same family and insert one thing each, from 0. */
export async function startProcesses (count: number, where: string, schema = ''): Promise<void> {
  const script = fileURLToPath(new URL('prepare-process.js', import.meta.url))
  await Promise.all(Array.from({ length: count }, async (_, id) => {
    await promisify(execFile)(...unmeasured(process.execPath, [script, where, schema, String(id)]))
  }))
}
