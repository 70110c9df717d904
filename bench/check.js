// npm run bench:check: has a request become more expensive? Compares our cost, as a multiple of the floor in the
// same run, with the multiples that ratios.json keeps for this kind of processor; --keep writes them anew.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { runContest } from './contest.js'
import { describeRun, processor } from './keep.js'
import { table } from './report.js'
import { scenarios } from './scenarios.js'

const file = new URL('ratios.json', import.meta.url)
const allowed = 1.15
const { values } = parseArgs({
  options: {
    keep: { type: 'boolean', default: false },
    only: { type: 'string', default: 'ours-memory,ours-sqlite,ours-postgres' },
    rounds: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '0.8' },
    warm: { type: 'string', default: '4' }
  }
})

const all = JSON.parse(readFileSync(file, 'utf8'))
const { ratios: kept = {}, how } = all[processor] ?? {}
if (how === undefined && !values.keep) {
  throw new Error(`No ratios are kept for a processor of this kind (${processor}): npm run bench:check -- --keep`)
}
const ratios = await measureRatios(values.only.split(','), Object.keys(scenarios))
if (values.keep) {
  const next = { how: describeRun('npm run bench:check -- --keep'), ratios: { ...kept, ...ratios } }
  writeFileSync(file, `${JSON.stringify({ ...all, [processor]: next }, null, 2)}\n`)
  console.log(show(ratios, kept))
} else {
  // Measures expensive ones again: a machine may be busy for a minute.
  const expensive = listExpensive(ratios, kept)
  if (expensive.length > 0) {
    const [names, chosen] = ['name', 'scenario'].map(key => [...new Set(expensive.map(each => each[key]))])
    const again = await measureRatios(names, chosen)
    for (const { name, scenario } of expensive) {
      ratios[name][scenario] = Math.min(ratios[name][scenario], again[name][scenario])
    }
  }
  console.log(`${show(ratios, kept)}\n\nkept: ${how}`)
  for (const { name, scenario } of listExpensive(ratios, kept)) {
    console.log(`${name}: ${scenarios[scenario].title} costs more than ${allowed} × what was kept`)
    process.exitCode = 1
  }
}

async function measureRatios (names, chosen) {
  const [rounds, seconds, warm] = [values.rounds, values.seconds, values.warm].map(Number)
  const how = { connections: [32], rounds, seconds, warm }
  const rows = await runContest({ names: ['floor', ...names], checkouts: [], scenarios: chosen, ...how })
  const costOf = (name, scenario) => rows.find(row => row.server.name === name && row.scenario === scenario).cpu
  return Object.fromEntries(names.map(name => [name, Object.fromEntries(chosen.map(scenario => {
    return [scenario, Number((costOf(name, scenario) / costOf('floor', scenario)).toFixed(3))]
  }))]))
}

/** Scenarios that cost too much; those without a kept value are ignored. */
function listExpensive (ratios, kept) {
  return list(ratios).filter(({ name, scenario, ratio }) => ratio > allowed * (kept[name]?.[scenario] ?? Infinity))
}

function list (ratios) {
  return Object.entries(ratios).flatMap(([name, costs]) => {
    return Object.entries(costs).map(([scenario, ratio]) => ({ name, scenario, ratio }))
  })
}

function show (ratios, kept) {
  return table(['', '', '× floor', 'kept', 'change'], list(ratios).map(({ name, scenario, ratio }) => {
    const before = kept[name]?.[scenario]
    const change = before === undefined ? '–' : `${((ratio / before - 1) * 100).toFixed(0)} %`
    return [name, scenarios[scenario].title, ratio.toFixed(2), before?.toFixed(2) ?? '–', change]
  }))
}
