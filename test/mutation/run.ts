// Runs files of tests in this process: those that are named, or all fast ones, and then notes what they met.
import { writeFileSync } from 'node:fs'
import '../../lib/index.js'
import t from 'tap'
import { listFiles, runFile, skipWithoutPostgres } from '../part.js'
import { type Met, notes } from './met.js'

interface Instrumented {
  currentTestId?: string
  readonly mutantCoverage?: {
    readonly static: Readonly<Record<string, number>>
    readonly perTest: Readonly<Record<string, Readonly<Record<string, number>>>>
  }
}

const named = process.argv.slice(2)
const instrumented = (globalThis as { __stryker__?: Instrumented }).__stryker__ ?? {}
const met: Met[] = []
skipWithoutPostgres(t)

for (const file of named.length > 0 ? named : listFiles()) {
  const start = performance.now()
  const failed = t.counts.fail
  instrumented.currentTestId = file
  await runFile(file).catch((error: unknown) => { t.fail(String(error)) })
  if (t.counts.fail === failed) met.push({ file, time: performance.now() - start, mutants: [] })
  else if (named.length > 0) process.exit(1)
}

if (named.length === 0) {
  const { perTest = {}, static: always = {} } = instrumented.mutantCoverage ?? {}
  const list = met.map(({ file, time }) => ({
    file, time, mutants: [...Object.keys(perTest[file] ?? {}), ...Object.keys(always)]
  }))
  writeFileSync(notes, JSON.stringify(list))
}
process.exit()
