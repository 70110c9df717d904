// Measures servers in turns, round after round, so that the time of day does not matter. CPU time per request is the
// result; requests per second and response times also depend on the load and its core.
import { ask } from './processes.js'

// While a server waits, V8 collects its garbage and optimized code: the seconds after that do not count.
const leadIn = 0.2

/** The medians of all rounds: one row for each server, scenario and number of connections. */
export async function measureAll (servers, load, { connections, rounds, seconds, warm }) {
  const rows = []
  const names = [...new Set(servers.flatMap(server => server.scenarios))].sort()
  let measured = 0
  for (const [index, many] of connections.entries()) {
    const count = index === 0 ? rounds : Math.ceil(rounds / 2)
    // One scenario after the other, so that no server waits long for its turn.
    for (const scenario of names) {
      console.error(`connections: ${many}, ${scenario}: ${count} rounds`)
      const cells = servers.filter(server => server.scenarios.includes(scenario))
        .map(server => ({ server, scenario, results: [] }))
      // Round 0 warms up and does not count: the code of a server is slow in its first seconds.
      for (let round = 0; round <= count; round++) {
        for (const cell of inTurn(cells, round)) {
          const task = seconds => ({ connections: many, seconds, first: ++measured * 1_000_003 })
          await measure(cell, load, task(round > 0 ? leadIn : warm))
          if (round > 0) cell.results.push(await measure(cell, load, task(seconds)))
        }
      }
      rows.push(...cells.map(({ results, ...cell }) => ({ ...cell, connections: many, ...summarize(results) })))
    }
  }
  return rows
}

/** A different one begins each round, so that none always runs after the same one. */
function inTurn (cells, round) {
  const start = round % cells.length
  return [...cells.slice(start), ...cells.slice(0, start)]
}

async function measure ({ server, scenario }, load, task) {
  const { child, ...known } = server
  const before = await ask(child, 'cost')
  const result = await ask(load, { ...task, server: known, scenario })
  if (result.failed !== undefined) throw new Error(`${server.name}: ${result.failed}`)
  const after = await ask(child, 'cost')
  const cpu = after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system
  return { ...result, cpu: cpu / result.count, rss: after.rss }
}

function summarize (results) {
  const cpus = results.map(({ cpu }) => cpu)
  const medians = Object.keys(results[0]).map(name => [name, median(results.map(result => result[name]))])
  return { ...Object.fromEntries(medians), spread: (Math.max(...cpus) - Math.min(...cpus)) / median(cpus) }
}

function median (values) {
  const sorted = values.toSorted((a, b) => a - b)
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2
}
