// Runs tests in this process and tells its parent, `tools/mutate.js`, by the file descriptor 3. Without a mutant: what
// each test of the file takes, and which mutants it meets. With one: which of the chosen tests fails first. With many:
// see batch.ts.
import { readFileSync, writeSync } from 'node:fs'
import '../part.js'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { runFile, skipWithoutPostgres } from '../part.js'
import { type Activation, type Loader, runBatch, type Trial } from './batch.js'

type Hits = Readonly<Record<string, number>>

interface Instrumented extends Activation {
  currentTestId?: string
  readonly mutantCoverage?: { readonly perTest: Readonly<Record<string, Hits>> }
}

interface Order {
  readonly mutant?: string
  /** How often the mutant may be met. */
  readonly limit?: number
  readonly trials?: readonly Trial[]
  readonly files: readonly { readonly file: string, readonly tests?: readonly number[] }[]
}

interface Met {
  readonly title: string
  /** Milliseconds. */
  readonly time: number
  readonly cpu: number
  readonly failed: boolean
}

// Some tests replace it.
const now = performance.now.bind(performance)
const scope = globalThis as { __stryker__?: Instrumented }
const instrumented = scope.__stryker__ ??= {}
const tell = (answer: unknown): void => { writeSync(3, `${JSON.stringify(answer)}\n`) }
const cpu = (before?: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

let current = ''

/** Counts the tests of a file, runs those that are chosen, and notes what they take. */
function select (file: string, chosen: readonly number[] | undefined, notes: Met[]): () => void {
  const test = t.test
  const run = test as (...parameters: unknown[]) => Promise<unknown>
  let index = 0
  const replaced = (...parameters: unknown[]): Promise<unknown> | null => {
    const body = parameters.at(-1)
    const number = index++
    if (chosen !== undefined && !chosen.includes(number)) return Promise.resolve(null)
    if (typeof body !== 'function') return run(...parameters)
    let note = (): void => {}
    return run(...parameters.slice(0, -1), async (child: Test) => {
      const start = now()
      const before = process.cpuUsage()
      const failed = t.counts.fail
      current = `${file} ${number}`
      instrumented.currentTestId = current
      child.teardown(() => {
        current = file
        instrumented.currentTestId = file
      })
      note = () => {
        const hasFailed = !child.passing() || t.counts.fail > failed
        notes[number] = { title: child.name, time: now() - start, cpu: cpu(before), failed: hasFailed }
      }
      await (body as (t: Test) => unknown)(child)
    }).finally(() => { note() })
  }
  t.test = replaced as Test['test']
  return () => { t.test = test }
}

async function measure (file: string, load: Loader): Promise<void> {
  const notes: Met[] = []
  const start = now()
  instrumented.currentTestId = file
  let loaded = 0
  const reset = select(file, undefined, notes)
  await runFile(file, async () => {
    await load()
    loaded = now() - start
    reset()
  }).catch((error: unknown) => { t.fail(String(error)) })
  const { perTest = {} } = instrumented.mutantCoverage ?? {}
  const tests = Array.from(notes, (note: Met | undefined, index) => {
    return note && { ...note, hits: perTest[`${file} ${index}`] ?? {} }
  })
  tell({ loaded, hits: perTest[file] ?? {}, tests })
}

export async function run (loaders: Readonly<Record<string, Loader>>): Promise<void> {
  const { mutant, limit, files, trials } = JSON.parse(readFileSync(0, 'utf8')) as Order
  // The same cases each time, and no search for a smaller one.
  fc.configureGlobal({ seed: 1, endOnFailure: true })
  skipWithoutPostgres(t)
  if (trials !== undefined) {
    await runBatch(loaders, trials, instrumented, tell)
    process.exit()
  }
  if (mutant === undefined) {
    await measure(files[0]!.file, loaders[files[0]!.file]!)
    process.exit()
  }
  let hasSurvived = false
  process.once('exit', () => { tell(hasSurvived ? { hasSurvived } : { killer: current }) })
  Object.assign(instrumented, { activeMutant: mutant, hitCount: 0, hitLimit: limit })
  for (const { file, tests } of files) {
    current = file
    const reset = select(file, tests, [])
    const load = loaders[file]!
    await runFile(file, () => load().finally(reset))
    if (t.counts.fail > 0) process.exit(1)
  }
  hasSurvived = true
  process.exit(0)
}
