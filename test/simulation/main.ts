import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { plantedBugs } from './planted.js'
import { plant, type Report, shrink, simulate } from './run.js'

interface Part {
  readonly first: number
  readonly last: number
  readonly changed: object
}

// What dropped processes wait for is never freed, so a thread runs only so many histories.
const partSize = 5000

if (isMainThread) await main()
else await runPart(workerData as Part)

async function main (): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1-1000' },
      trace: { type: 'string' },
      options: { type: 'string' },
      planted: { type: 'string' }
    }
  })
  const changed = values.options === undefined ? {} : JSON.parse(values.options) as object
  const [first = 1, last = first] = values.seeds.split('-').map(Number)
  if (values.trace !== undefined) return await showTrace(Number(values.trace), changed)
  if (values.planted === undefined) return await runAll({ first, last, changed })
  const names = Object.keys(plantedBugs).filter(name => [name, 'all'].includes(String(values.planted)))
  for (const name of names) await search(name, { first, last, changed })
}

async function showTrace (seed: number, changed: object): Promise<void> {
  const { trace, options, violation = 'none', digest, events, commits } = await simulate(seed, changed, true)
  console.log(trace.join('\n'))
  console.log(JSON.stringify({ seed, violation, digest, events, commits, options }, null, 2))
  if (violation !== 'none') process.exitCode = 1
}

async function runAll ({ first, last, changed }: Part): Promise<void> {
  const began = process.cpuUsage()
  let events = 0
  const failures: Report[] = []
  for (let next = first; next <= last; next += partSize) {
    const part: Part = { first: next, last: Math.min(last, next + partSize - 1), changed }
    const worker = new Worker(new URL(import.meta.url), { workerData: part })
    worker.on('message', (report: Report | number) => {
      if (typeof report === 'number') {
        events += report
        return
      }
      failures.push(report)
      console.log(`seed ${report.seed}: ${report.violation ?? ''}`)
    })
    await once(worker, 'exit')
    if (last - first >= partSize) console.log(`${part.last - first + 1} histories, ${failures.length} failed`)
  }
  const { user, system } = process.cpuUsage(began)
  const count = last - first + 1
  console.log(`${count} histories, ${failures.length} of them failed; ${(count / (user + system) * 1e6).toFixed(0)} ` +
    `a second of CPU time, ${(events / count).toFixed(0)} events each`)
  const [failure] = failures
  if (failure === undefined) return
  process.exitCode = 1
  const { seed, options, violation = '' } = await shrink(failure)
  console.log(`seed ${seed} fails with ${JSON.stringify(options)}: ${violation}`)
}

/** In a thread: sends each report of a failure, and the number of events. */
async function runPart ({ first, last, changed }: Part): Promise<void> {
  // Stacks of refusals, which are many, take a tenth of the time.
  Error.stackTraceLimit = 0
  let events = 0
  for (let seed = first; seed <= last; seed++) {
    const report = await simulate(seed, changed)
    events += report.events
    if (report.violation !== undefined) parentPort?.postMessage(report)
  }
  parentPort?.postMessage(events)
}

/** Looks for the first seed that finds a bug. */
async function search (name: string, { first, last, changed }: Part): Promise<void> {
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
