// Changes the code in small ways, one at a time, and says which changes no fast test notices: see CONTRIBUTING.md.
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle, instrument } from './mutation/bundle.js'
import { forEach, runBundle } from './mutation/process.js'
import { report } from './mutation/report.js'
import { name, Results } from './mutation/results.js'
import { choose, findMeetings, measure } from './mutation/tests.js'

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
  if (!statSync(path).isDirectory()) return [{ name: path, mutate: lines ? [lines] : true }]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => ({ name: join(path, file), mutate: true }))
}

process.env.TEST_FAST = 'true'
const { listFiles } = await import('../build/test/list-files.js')
mkdirSync(folder, { recursive: true })
const { mutants: made, changed } = await instrument(positionals.flatMap(expand))
const mutants = name(made.filter(({ status }) => status !== 'Ignored'))
const files = listFiles().filter(file => only.split(',').some(part => file.includes(part)))
const digests = await bundle(files, changed, out)
const { tests, left } = await measure(out, digests, folder, Number(jobs))
console.log(`${mutants.length} mutants, ${tests.length} tests (${minutes()})`)
for (const test of left) console.log(`left out, since it fails without a mutant: ${test}`)

const meetings = findMeetings(tests)
const results = new Results(folder)
const isDone = ({ status } = {}) => (resume && status !== undefined) || (survivors && /Killed|Timeout/.test(status))
const isKnown = ({ fileName, key }) => isDone(results.of(fileName)[key])
const kills = new Map()
const todo = mutants.filter(mutant => !isKnown(mutant))
for (const { fileName, key } of mutants) note(fileName, results.of(fileName)[key])
let count = 0

function note (fileName, { killer } = {}) {
  if (killer === undefined) return
  const key = `${fileName} ${killer}`
  kills.set(key, (kills.get(key) ?? 0) + 1)
}

await forEach(todo, Number(jobs), async ({ id, fileName, key }) => {
  const result = await judge(id, fileName)
  results.save(fileName, key, result)
  note(fileName, result)
  if (++count % 100 === 0) console.log(`${count} of ${todo.length} (${minutes()})`)
})

async function judge (id, fileName) {
  const met = meetings.get(id)
  if (met === undefined) return { status: 'NotMet' }
  const { chosen, files } = choose(met, fileName, kills, seconds * 1000)
  const limit = 100 * met.reduce((sum, { hits, load }) => sum + (hits[id] ?? 0) + (load[id] ?? 0), 0)
  const expected = chosen.reduce((sum, test) => sum + test.time, 0)
  const { answer, time } = await runBundle(out, { mutant: id, limit, files }, 20_000 + 6 * expected)
  const isStatic = met.every(({ hits }) => hits[id] === undefined)
  const rest = { isStatic, tests: chosen.length, of: met.length, time: Math.round(time) }
  if (answer === undefined) return { status: 'Timeout', ...rest }
  return answer.hasSurvived ? { status: 'Survived', ...rest } : { status: 'Killed', killer: answer.killer, ...rest }
}

report(mutants.map(mutant => ({ mutant, result: results.of(mutant.fileName)[mutant.key] })))
console.log(minutes())
