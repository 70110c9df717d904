import { join } from 'node:path'
import t from 'tap'

// In a process of its own, since it replaces the time of the whole library.
t.spawn(process.execPath, ['--no-warnings', join(import.meta.dirname, 'checks.js')], {}, 'simulated histories')
