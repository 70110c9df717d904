import { join } from 'node:path'
import t from 'tap'

const file = join(import.meta.dirname, 'checks.js')
// In a process of its own, since it replaces the time of the whole library.
t.spawn(process.execPath, ['--no-warnings', file], { timeout: 600_000 }, 'simulated histories')
