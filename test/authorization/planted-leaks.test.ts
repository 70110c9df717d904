import { join } from 'node:path'
import t from 'tap'

// In a process of its own, since the library is loaded once more.
const file = join(import.meta.dirname, 'leak-checks.js')
t.spawn(process.execPath, ['--no-warnings', file], { timeout: 600_000 }, 'planted leaks')
