// Changes the code in small ways, one at a time, and says which changes no fast test notices: see CONTRIBUTING.md.
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle, instrument } from './mutation/bundle.js'
import { Judge } from './mutation/judge.js'
import { forEach } from './mutation/process.js'
import { explain, report } from './mutation/report.js'
import { name, Results } from './mutation/results.js'
import { findMeetings, measure } from './mutation/tests.js'

const { values: { seconds, jobs, resume, survivors, tests: only }, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '5' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    resume: { type: 'boolean', default: false },
    survivors: { type: 'boolean', default: false },
    tests: { type: 'string', default: '' }
  }
})
if (positionals.length === 0) throw new Error('Name what to change, such as lib/core/query or lib/http/mount.ts:10-20')

const folder = '.mutants'
const out = join(folder, `${positionals.join(' ').replaceAll(/[^\w-]+/g, '-').slice(0, 200)}.mjs`)
const started = performance.now()
const minutes = () => `${((performance.now() - started) / 60_000).toFixed(1)} min`

function expand (positional) {
  const [, path, from, to] = /^(.*?)(?::(\d+)-(\d+))?$/.exec(positional)
  const lines = from && { start: { line: from - 1, column: 0 }, end: { line: Number(to), column: 0 } }
  if (!statSync(path).isDirectory()) return [{ name: path, lines }]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => ({ name: join(path, file), lines }))
}

/** Each file once, with all ranges of it. */
function listFilesToChange (expanded) {
  const files = new Map()
  for (const { name, lines } of expanded) files.set(name, [...files.get(name) ?? [], lines])
  return Array.from(files, ([name, ranges]) => ({ name, mutate: ranges.includes(undefined) || ranges }))
}

process.env.TEST_FAST = 'true'
const { listFiles } = await import('../build/test/list-files.js')
mkdirSync(folder, { recursive: true })
const { mutants: made, changed } = await instrument(listFilesToChange(positionals.flatMap(expand)))
const mutants = name(made.filter(({ status }) => status !== 'Ignored'))
const files = listFiles().filter(file => only.split(',').some(part => file.includes(part)))
const digests = await bundle(files, changed, out)
const { tests, failing } = await measure(out, digests, folder, Number(jobs))
console.log(`${mutants.length} mutants, ${tests.length} tests (${minutes()})`)
for (const test of failing) console.log(`left out, since it fails without a mutant: ${test}`)

const results = new Results(folder)
const judge = new Judge(out, findMeetings(tests), Number(jobs))
const noticed = ['Killed', 'Timeout']
const begun = ['Left', 'Passed']
const isDone = ({ status = 'Left' } = {}) => survivors ? noticed.includes(status) : resume && !begun.includes(status)
const isKnown = ({ fileName, key }) => isDone(results.of(fileName)[key])
for (const { fileName, key } of mutants) judge.note(fileName, results.of(fileName)[key])
const todo = mutants.filter(mutant => !isKnown(mutant))
let count = 0
const save = ({ fileName, key }, result) => {
  results.save(fileName, key, result)
  if (++count % 100 === 0) console.log(`${count} of ${todo.length} (${minutes()})`)
}
// Most are noticed within a second of tests. Others get more of them, and those that are left a process of their own:
// what modules keep from one mutant to the next may hide something.
const stages = { First: [], Passed: [], Left: [] }
for (const mutant of todo) {
  const { status } = results.of(mutant.fileName)[mutant.key] ?? {}
  stages[resume && begun.includes(status) ? status : 'First'].push(mutant)
}
const sort = (mutant, result) => {
  if (stages[result.status] === undefined) return save(mutant, result)
  results.save(mutant.fileName, mutant.key, result)
  stages[result.status].push(mutant)
}
await judge.runBatches(stages.First, 1000, sort)
console.log(`${stages.Passed.length} get more tests (${minutes()})`)
await judge.runBatches(stages.Passed, seconds * 1000, (mutant, result) => {
  const isExplained = result.status === 'Passed' && explain(mutant) !== undefined
  sort(mutant, { ...result, status: isExplained ? 'Survived' : result.status === 'Passed' ? 'Left' : result.status })
})
console.log(`${stages.Left.length} run alone (${minutes()})`)
await forEach(stages.Left, Number(jobs), async mutant => { save(mutant, await judge.runAlone(mutant, seconds * 1000)) })

report(mutants.map(mutant => ({ mutant, result: results.of(mutant.fileName)[mutant.key] })))
console.log(minutes())
