// The cluster under load, and one fault after the other: started by enclose, in a machine of its own. Each line that it
// writes is a result.
import { setTimeout as delay } from 'node:timers/promises'
import { Ledger, type Result } from './check.js'
import { type Fault, faults } from './faults.js'
import { Load } from './load.js'
import { Cluster, entries } from './nodes.js'

// Milliseconds.
const underLoad = 2000
const untilResumed = 45_000

process.stdin.resume().on('end', () => { process.exit(1) })
const [, , chosenFaults = '', chosenEntries = ''] = process.argv

const cluster = new Cluster()
await cluster.start()
const ledgers = await Promise.all(chosenEntries.split(',').map(async (name, index) => {
  const load = new Load(name, entries[name] as string, 3000 + 10 * index)
  await load.start()
  return new Ledger(load)
}))
const loads = ledgers.map(({ load }) => load)

for (const name of chosenFaults.split(',')) {
  for (const result of await run(name, faults[name] as Fault)) process.stdout.write(`${JSON.stringify(result)}\n`)
}
process.exit(0)

async function run (name: string, fault: Fault): Promise<Result[]> {
  await cluster.untilWhole()
  for (const load of loads) load.begin()
  await delay(underLoad)
  const primary = await cluster.findPrimary()
  for (const load of loads) load.measure()
  const began = performance.now()
  const end = await fault.begin(cluster, primary)
  const closing = fault.closes === true ? await Promise.all(loads.map(closeFirst)) : []
  await delay(fault.hold * 1000)
  if (fault.stopsWrites !== true) await resumed(began)
  await end()
  await cluster.untilWhole()
  await resumed(performance.now())
  await Promise.all(loads.map(load => load.finish()))
  return await Promise.all(ledgers.map((ledger, index) => ledger.check(name, closing[index])))
}

/** Until there are commands and events everywhere, of after this moment. */
async function resumed (began: number): Promise<void> {
  const isBeating = (): boolean => loads.every(({ pulses }) =>
    pulses.every(({ since, last }) => since < 3000 && last > began))
  for (const deadline = performance.now() + untilResumed; performance.now() < deadline && !isBeating();) await delay(50)
}

/** Returns the milliseconds that it took. */
async function closeFirst ({ processes: [first] }: Load): Promise<number> {
  const { took, code } = await first.stop()
  if (code !== 0) throw new Error(`A process ended with ${code}`)
  await first.restart()
  return took
}
