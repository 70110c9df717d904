import { join } from 'node:path'
import t from 'tap'

const file = join(import.meta.dirname, 'checks.js')
// In a process of its own, since it replaces the time of the whole library.
const flags = ['--no-warnings', '--max-semi-space-size=64']
t.spawn(process.execPath, [...flags, file], { timeout: 600_000 }, 'simulated histories')
