// Many mutants, one after the other, in a process that has loaded the tests: a tenth of the time of a process for each.
// What modules keep from one to the next must not count, so a test notices a mutant only if it fails, passes without
// it, and fails once more.
import t, { type Test, TestBase } from 'tap'

export type Loader = () => Promise<unknown>

export interface Activation {
  activeMutant?: string | undefined
  hitCount?: number
  hitLimit?: number
}

export interface Trial {
  readonly mutant: string
  /** `limit` is how often it may meet the mutant, `time` the milliseconds that it takes without one. */
  readonly tests: readonly {
    readonly file: string
    readonly number: number
    readonly limit: number
    readonly time: number
  }[]
}

type Parameters = readonly unknown[]

const teardowns: (() => unknown)[] = []

/** The tests of a file, which is loaded once. */
async function listTests (load: Loader): Promise<readonly Parameters[]> {
  const tests: Parameters[] = []
  const { test, teardown } = t
  const note = (...parameters: unknown[]): unknown => {
    tests.push(parameters)
    return Promise.resolve(null)
  }
  t.test = note as Test['test']
  t.teardown = run => { teardowns.unshift(run) }
  await load()
  Object.assign(t, { test, teardown })
  return tests
}

let hasFailed = false

/** Ends a test with its first failure: a table of them, each with its place in the bundle, would take minutes. */
function endAtFirstFailure (): void {
  const { fail, threw } = TestBase.prototype
  // Of an error that the test throws: tap itself calls `fail` then, which must not throw.
  TestBase.prototype.threw = function (...given) {
    hasFailed = true
    return threw.apply(this, given)
  }
  TestBase.prototype.fail = function () {
    if (hasFailed) return fail.call(this, 'again', { at: null, diagnostic: false })
    hasFailed = true
    throw Object.assign(new Error('It fails'), { stack: '' })
  }
}

async function passes (parameters: Parameters): Promise<boolean> {
  hasFailed = false
  const body = parameters.at(-1) as (t: Test) => unknown
  const test = t.test as (...parameters: unknown[]) => Promise<unknown>
  let ended: Test | undefined
  await test(...parameters.slice(0, -1), async (child: Test) => {
    ended = child
    await body(child)
  })
  return ended?.passing() === true && !hasFailed
}

// An earlier mutant may have left something that makes tests fail.
const maxDoubts = 3

/** Tells of each mutant which test notices it; ends when tests fail without one. */
export async function runBatch (
  loaders: Readonly<Record<string, Loader>>,
  trials: readonly Trial[],
  scope: Activation,
  tell: (answer: unknown) => void
): Promise<void> {
  const files = new Map<string, readonly Parameters[]>()
  const tryWith = async (parameters: Parameters, mutant?: string, limit = Infinity): Promise<boolean> => {
    Object.assign(scope, { activeMutant: mutant, hitCount: 0, hitLimit: limit })
    const isPassing = await passes(parameters).catch(() => false)
    scope.activeMutant = undefined
    return isPassing
  }
  endAtFirstFailure()
  // Of an earlier mutant, perhaps.
  process.on('unhandledRejection', () => {})
  const doubted = new Set<string>()
  for (const { mutant, tests } of trials) {
    let killer: string | undefined
    const doubts: string[] = []
    for (const { file, number, limit, time } of tests) {
      const name = `${file} ${number}`
      if (doubted.has(name)) continue
      if (!files.has(file)) files.set(file, await listTests(loaders[file]!))
      const parameters = files.get(file)![number]!
      // What it waits for may not come, and goes on when the next test begins.
      const hanging = setTimeout(() => {
        tell({ mutant, doubts, isDone: false, isHanging: true })
        process.exit()
      }, 2000 + 5 * time)
      const isPassing = await tryWith(parameters, mutant, limit)
      clearTimeout(hanging)
      if (isPassing) continue
      if (await tryWith(parameters)) {
        if (await tryWith(parameters, mutant, limit)) continue
        killer = name
        break
      }
      doubted.add(name)
      doubts.push(name)
      if (doubts.length === maxDoubts) return tell({ mutant, doubts, isDone: false })
    }
    tell({ mutant, killer, doubts, isDone: true })
  }
  for (const teardown of teardowns) await teardown()
}
