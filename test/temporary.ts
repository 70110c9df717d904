// Temporary files in memory where there is room: SQLite waits for the disk at every commit, and tests make thousands.
import { statfsSync } from 'node:fs'

const memory = '/dev/shm'

function hasRoom (): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > 2 ** 32
  } catch {
    return false
  }
}

if (process.env['TMPDIR'] === undefined && hasRoom()) process.env['TMPDIR'] = memory
