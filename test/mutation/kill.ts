// The command of `npm run mutate`. Without a mutant it runs the fast tests, and notes which of them meet which mutants;
// with one, it runs those that meet it, until one of them fails.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Met, notes } from './met.js'

// More tests than these would find little more, and take too long for thousands of mutants.
const longest = 20_000

const mutant = process.env['__STRYKER_ACTIVE_MUTANT__']

function choose (id: string): Met[] {
  let sum = 0
  return (JSON.parse(readFileSync(notes, 'utf8')) as Met[])
    .filter(({ mutants }) => mutants.includes(id))
    .sort((one, other) => one.time - other.time)
    .filter(({ time }) => (sum += time) <= longest || sum === time)
}

const chosen = mutant === undefined ? [] : choose(mutant)
if (mutant === undefined) writeFileSync(notes, '[]')
if (mutant === undefined || chosen.length > 0) {
  const expected = chosen.reduce((sum, { time }) => sum + time, 0)
  const { status } = spawnSync(process.execPath, [
    fileURLToPath(new URL('./run.js', import.meta.url)), ...chosen.map(({ file }) => file)
  ], {
    // Its caller takes no more than a million characters.
    stdio: 'ignore',
    env: { ...process.env, TEST_FAST: 'true', TAP_TIMEOUT: '7200', TAP_BAIL: mutant === undefined ? '0' : '1' },
    // A mutant may be a loop without an end.
    ...(mutant !== undefined && { timeout: 10_000 + 4 * expected, killSignal: 'SIGKILL' })
  })
  process.exitCode = mutant === undefined ? 0 : status ?? 1
}
