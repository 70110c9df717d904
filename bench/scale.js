// npm run bench:scale: what does a request cost among a thousand, and among a million? The scenarios of the bench at
// three sizes, and the log of a deal at three lengths, on every storage; the smallest of each is 1.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { contenders } from './contenders.js'
import { checkout, startLoad, startServer } from './contest.js'
import { describeRun, keepPlot, keepText } from './keep.js'
import { measureAll } from './measure.js'
import { plotBars } from './plot.js'
import { openPostgres } from './postgres.js'
import { table } from './report.js'
import { logScenarios, orderScenarios, scenarios } from './scenarios.js'
import { inScratch } from './scratch.js'

const titles = {
  ...Object.fromEntries(Object.entries({ ...scenarios, ...orderScenarios, ...logScenarios })
    .map(([name, { title }]) => [name, title])),
  numbered: 'page by number, in the middle'
}
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'memory,sqlite,postgres' },
    sizes: { type: 'string', default: '1000,100000,1000000' },
    logs: { type: 'string', default: '10,1000,100000' },
    rounds: { type: 'string', default: '15' },
    seconds: { type: 'string', default: '0.3' },
    warm: { type: 'string', default: '2' },
    write: { type: 'boolean', default: false }
  }
})
const storages = values.only.split(',')
const sizes = values.sizes.split(',').map(Number)
const logs = values.logs.split(',').map(Number)
const how = { rounds: +values.rounds, seconds: +values.seconds, warm: +values.warm }

const measured = []
for (const storage of storages) measured.push(...await inScratch(scratch => measureStorage(storage, scratch)))
const report = [
  `### By rows\n\n${compare(Object.keys({ ...scenarios, ...orderScenarios }), sizes)}`,
  `### By entries in the log\n\n${compare(Object.keys(logScenarios), logs)}`,
  `### Memory of the process\n\n${compareMemory()}`,
  describeRun(['npm run bench:scale', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' '))
].join('\n\n')
console.log(report)
if (values.write) {
  keepText('bench/README.md', 'scale', `![the same as a plot](../docs/scale.svg)\n\n${report}`)
  keepPlot('scale', plotScale())
}

/** All sizes of one storage at once, so that they are measured in turns. */
async function measureStorage (storage, scratch) {
  const postgres = storage === 'postgres' ? await openPostgres(scratch) : undefined
  const start = async (name, amounts) => {
    const file = join(scratch.folder, `${name}.db`)
    const place = postgres === undefined ? { file } : { postgres: await postgres.newSchema() }
    console.error(`${storage}: loading ${name}`)
    const began = performance.now()
    const told = { checkout, storage, ...place, ...amounts }
    const server = await startServer(scratch, contenders[`ours-${storage}`], told)
    if (postgres !== undefined) await postgres.analyze(place.postgres)
    console.error(`${storage}: loaded ${name} in ${((performance.now() - began) / 1000).toFixed(1)} s`)
    return { name: storage, storage, ...server }
  }
  const servers = []
  for (const size of sizes) {
    const server = await start(size, { customers: size, deals: size })
    const middle = size / 100
    const newest = await findNext(server, `/rest/v1/deals?page=${middle}`)
    const sorted = await findNext(server, `/customers?sort=-age&page=${middle}`)
    servers.push({ ...server, size, newest, sorted })
  }
  const { logs: made, ...server } = await start('logs', { customers: 1000, deals: 2000, logs })
  const logServers = made.map(log => ({ ...server, size: log.entries, log, ids: log.ids }))
  const load = await startLoad(scratch)
  const doing = (servers, names) => servers.map(server => ({ ...server, scenarios: names }))
  return [
    ...await measureAll(doing(servers, ['page', 'one', 'operation', ...Object.keys(orderScenarios)]), load, {
      ...how, connections: [32]
    }),
    // One at a time for slow requests, and for those to the one deal with the longest log: waiting for each other is
    // not what is measured.
    ...await measureAll([
      ...doing(servers, ['numbered']),
      ...doing(logServers, Object.keys(logScenarios))
    ], load, { ...how, connections: [1] })
  ]
}

/** The next page. */
async function findNext ({ url }, path) {
  const { links } = await (await fetch(url + path)).json()
  return links.next
}

/**
 * The rows of a scenario on a storage, each with its cost in microseconds and the ratio to the smallest. PostgreSQL is
 * another process, so there the time that an answer takes is what counts, not the CPU time of this one.
 */
function costsOf (storage, scenario) {
  const rows = measured.filter(row => row.server.storage === storage && row.scenario === scenario)
    .map(row => ({ ...row, cost: storage === 'postgres' ? row.p50 * 1000 : row.cpu }))
  return rows.map(row => ({ ...row, ratio: row.cost / rows[0].cost }))
}

function compare (names, amounts) {
  const lines = storages.flatMap(storage => names.map((scenario, index) => [
    index === 0 ? `${storage}, ${storage === 'postgres' ? 'p50' : 'CPU'} µs` : '',
    titles[scenario],
    ...costsOf(storage, scenario).map(({ cost, ratio }) => `${cost.toFixed(0)} (${ratio.toFixed(2)})`)
  ]))
  return table(['', '', ...amounts.map(amount => amount.toLocaleString('en'))], lines)
}

function compareMemory () {
  const lines = storages.map(storage => [
    `${storage}, MB`,
    '',
    ...costsOf(storage, 'operation')
      .map(({ rss }, _index, [first]) => `${(rss / 2 ** 20).toFixed(0)} (${(rss / first.rss).toFixed(2)})`)
  ])
  return table(['', 'customers, and as many deals', ...sizes.map(size => size.toLocaleString('en'))], lines)
}

function plotScale () {
  const all = Object.keys({ ...scenarios, ...orderScenarios, ...logScenarios })
  const panels = all.map(scenario => ({
    title: titles[scenario],
    bars: storages.flatMap(storage => costsOf(storage, scenario).slice(1).map(({ server, ratio }) => ({
      label: `${storage}, ${server.size.toLocaleString('en')}`,
      value: ratio,
      text: ratio.toFixed(2),
      isOurs: true
    })))
  }))
  const title = 'What a request costs, as a multiple of what it costs with few'
  const note = `few: ${logs[0]} entries in a log, else ${sizes[0].toLocaleString('en')} customers or deals`
  return plotBars({ title, note, panels, limit: 3, mark: 1 })
}
