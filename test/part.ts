import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import './temporary.js'
import t, { type Test } from 'tap'
import { isAlive } from './is-alive.js'
import { listFiles } from './list-files.js'
import { NoPostgresError } from './postgres/url.js'
import { isFast } from './size.js'

const root = import.meta.dirname

// What tap adds to every process and thread of Node that a test starts: more than most of them do themselves.
if (process.env['_TAPJS_PROCESSINFO_COVERAGE_'] === '0') process.env['NODE_OPTIONS'] = ''

/**
 * Runs files of tests in this process, one after the other: each that no other process of the run has begun. To load
 * everything for each file takes longer than most of the tests.
 */
export async function runPart (): Promise<void> {
  const begun = makeFolder()
  if (isFast) skipWithoutPostgres(t)
  const state: { file?: string } = {}
  process.once('exit', () => { if (state.file !== undefined) fail(state.file) })
  for (const file of listFiles()) {
    if (!isFirst(join(begun, file.replaceAll('/', '-')))) continue
    state.file = file
    await runFile(file)
    delete state.file
  }
}

/** Runs a file of tests in this process. */
export async function runFile (file: string, load = (): Promise<unknown> => import(join(root, file))): Promise<void> {
  // What a file registers at its top level is run after its own tests, not after those of all files.
  const teardowns: (() => unknown)[] = []
  t.teardown = teardown => { teardowns.unshift(teardown) }
  const before = process.cpuUsage()
  await load().catch((error: unknown) => {
    if (!isFast || !(error instanceof NoPostgresError)) throw error
    t.comment(`${file} needs PostgreSQL`)
  })
  let hasEnded = false
  // The tests of a file are queued by its import; this one comes after them.
  await t.test(`${file} has ended`, async t => {
    hasEnded = true
    for (const teardown of teardowns) await teardown()
    const { user, system } = process.cpuUsage(before)
    t.comment(`${((user + system) / 1e6).toFixed(1)} s of CPU`)
  })
  if (!hasEnded) fail(file)
}

type TestFunction = (t: Test) => unknown

/** Skips a test, also one within another, from where it asks for the PostgreSQL that there is not. */
export function skipWithoutPostgres (t: Pick<Test, 'test'>): void {
  const test = t.test as (...parameters: unknown[]) => unknown
  const testOrSkip = (...parameters: unknown[]): unknown => {
    const run = parameters.at(-1)
    if (typeof run !== 'function') return test(...parameters)
    return test(...parameters.slice(0, -1), async (t: Test) => {
      skipWithoutPostgres(t)
      try {
        await (run as TestFunction)(t)
      } catch (error) {
        if (!(error instanceof NoPostgresError)) throw error
        t.pass('needs PostgreSQL', { skip: true })
      }
    })
  }
  t.test = testOrSkip as Test['test']
}

function fail (file: string): void {
  console.error(`${file} has not run to its end`)
  process.exitCode = 1
}

/** Where the processes that one tap has started mark what they have begun; for a process alone, one of its own. */
function makeFolder (): string {
  const parent = process.env['TAP'] === '1' ? process.ppid : process.pid
  for (const name of readdirSync('.tap').filter(name => name.startsWith('begun-'))) {
    if (!isAlive(Number(name.slice('begun-'.length)))) rmSync(join('.tap', name), { recursive: true, force: true })
  }
  const folder = join('.tap', `begun-${parent}`)
  mkdirSync(folder, { recursive: true })
  return folder
}

function isFirst (mark: string): boolean {
  try {
    writeFileSync(mark, '', { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
