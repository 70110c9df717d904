import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { unmeasured } from '../unmeasured.js'

/** Starts ten processes at once that prepare the same family and insert the things 0 to 9. */
export async function tenProcesses (where: string, schema = ''): Promise<void> {
  const script = fileURLToPath(new URL('prepare-process.js', import.meta.url))
  await Promise.all(Array.from({ length: 10 }, async (_, id) => {
    await promisify(execFile)(...unmeasured(process.execPath, [script, where, schema, String(id)]))
  }))
}
