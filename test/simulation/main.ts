import { parseArgs } from 'node:util'
import { plantedBugs } from './planted.js'
import { plant, shrink, simulate } from './run.js'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1-1000' },
    trace: { type: 'string' },
    options: { type: 'string' },
    planted: { type: 'string' }
  }
})
// Traces of the stack take a tenth of the time, and refusals are many.
Error.stackTraceLimit = values.trace === undefined ? 0 : 20
const changed = values.options === undefined ? {} : JSON.parse(values.options) as object

if (values.planted !== undefined) {
  const [first = 1, last = first] = values.seeds.split('-').map(Number)
  const names = Object.keys(plantedBugs).filter(name => [name, 'all'].includes(String(values.planted)))
  for (const name of names) await search(name, first, last)
} else if (values.trace !== undefined) {
  const report = await simulate(Number(values.trace), changed, true)
  console.log(report.trace.join('\n'))
  const { seed, options, violation = 'none', digest, events, commits } = report
  console.log(JSON.stringify({ seed, violation, digest, events, commits, options }, null, 2))
  process.exitCode = report.violation === undefined ? 0 : 1
} else {
  const [first = 1, last = first] = values.seeds.split('-').map(Number)
  const began = process.cpuUsage()
  let events = 0
  let failures = 0
  for (let seed = first; seed <= last; seed++) {
    const report = await simulate(seed, changed)
    events += report.events
    if ((seed - first + 1) % 5000 === 0) console.log(`${seed - first + 1} histories, ${failures} failed`)
    if (report.violation !== undefined) {
      failures++
      console.log(`seed ${seed}: ${report.violation}`)
      if (failures === 1) {
        const { options, violation } = await shrink(report)
        console.log(`  with ${JSON.stringify(options)}: ${violation ?? ''}`)
      }
    }
  }
  const { user, system } = process.cpuUsage(began)
  const seconds = (user + system) / 1e6
  const count = last - first + 1
  console.log(`${count} histories, ${failures} of them failed; ${(count / seconds).toFixed(0)} a second of CPU time, ` +
    `${(events / count).toFixed(0)} events each`)
  process.exitCode = failures === 0 ? 0 : 1
}

/** Looks for the first seed that finds a bug. */
async function search (name: string, first: number, last: number): Promise<void> {
  const simulate = await plant(name)
  for (let seed = first; seed <= last; seed++) {
    const { violation } = await simulate(seed, { ...plantedBugs[name]?.options, ...changed })
    if (violation === undefined) continue
    const isExpected = plantedBugs[name]?.violation.test(violation) === true
    console.log(`${name}: seed ${seed}${isExpected ? '' : ', unexpectedly'}: ${violation}`)
    if (isExpected) return
  }
  console.log(`${name}: not found`)
  process.exitCode = 1
}
