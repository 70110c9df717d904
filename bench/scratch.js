// A folder and other resources for a run, deleted afterwards, also if the run fails or is interrupted.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export async function inScratch (run) {
  const folder = mkdtempSync(join(tmpdir(), 'dealbook-bench-'))
  const ends = [() => { rmSync(folder, { recursive: true, force: true }) }]
  let undone
  const undo = async () => {
    undone ??= undoAll(ends)
    await undone
  }
  const stop = () => { undo().finally(() => process.exit(1)) }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    return await run({ folder, atEnd: end => { ends.push(end) } })
  } finally {
    await undo()
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

/** In reverse order of creation; a failure must not prevent the others. */
async function undoAll (ends) {
  while (ends.length > 0) {
    try {
      await ends.pop()()
    } catch (error) {
      console.error(error)
    }
  }
}
