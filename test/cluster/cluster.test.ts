// Three nodes of PostgreSQL under Patroni, in synchronous mode, and what becomes of commands when something happens.
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import type { Result } from './check.js'
import { faults } from './faults.js'
import { enclose, needsCluster } from './machine.js'
import { entries } from './nodes.js'

function choose (variable: string, all: object): string[] {
  const chosen = process.env[variable]?.split(',') ?? Object.keys(all)
  const unknown = chosen.filter(name => !(name in all))
  if (unknown.length > 0) throw new Error(`${variable} has ${unknown.join()}, not of ${Object.keys(all).join()}`)
  return chosen
}

const columns: Readonly<Record<string, (result: Result) => string | number>> = {
  fault: ({ fault }) => fault,
  entry: ({ entry }) => entry,
  acknowledged: ({ acknowledged }) => acknowledged,
  'of them replayed': ({ replayed }) => replayed,
  lost: ({ lost }) => lost.length,
  'done twice': ({ twice }) => twice.length,
  'got 503': ({ unavailable }) => unavailable,
  wrong: ({ wrong }) => wrong.length,
  'longest request': ({ longestRequest }) => inSeconds(longestRequest),
  'writes paused': ({ writesPaused }) => inSeconds(writesPaused),
  'feed paused': ({ feedPaused }) => inSeconds(feedPaused),
  'consumer paused': ({ consumerPaused }) => inSeconds(consumerPaused),
  'webhook paused': ({ webhookPaused }) => inSeconds(webhookPaused),
  'process closed': ({ closing }) => closing === undefined ? '' : inSeconds(closing)
}

function inSeconds (milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`
}

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`

t.test('a cluster that loses parts under load: nothing acknowledged is lost or done twice', needsCluster, async t => {
  const chosen = [choose('CLUSTER_FAULTS', faults), choose('CLUSTER_ENTRIES', entries)] as const
  const child = enclose(join(import.meta.dirname, 'run.js'), chosen.map(names => names.join()))
  t.teardown(() => { child.kill('SIGKILL') })
  const ended = once(child, 'exit')
  t.comment(row(Object.keys(columns)))
  t.comment(row(Object.keys(columns).map(() => '---')))
  let count = 0
  for await (const line of createInterface(child.stdout as NodeJS.ReadableStream)) {
    const result = JSON.parse(line) as Result
    const { fault, entry, acknowledged, lost, twice, wrong } = result
    t.comment(row(Object.values(columns).map(show => show(result))))
    t.strictSame({ lost, twice, wrong }, { lost: [], twice: [], wrong: [] }, `${fault}, ${entry}`)
    t.ok(acknowledged > 0, 'there was a load')
    count++
  }
  t.strictSame(await ended, [0, null])
  t.equal(count, chosen[0].length * chosen[1].length)
})
