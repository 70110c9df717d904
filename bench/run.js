// npm run bench: the contenders of contenders.js, each in a bare host and its own process, in turns.
import { runContest } from './contest.js'
import { describeRun, keepPlot, keepText } from './keep.js'
import { readOptions } from './options.js'
import { plotBars } from './plot.js'
import { makeSummary, makeTables } from './report.js'
import { scenarios } from './scenarios.js'

const args = process.argv.slice(2)
const options = readOptions(args)
const rows = await runContest(options)
const [first] = options.connections
const how = describeRun(['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '))
const busiest = rows.reduce((most, row) => row.busy > most.busy ? row : most)
const report = [
  makeTables(rows, options.connections),
  `The load was busy ${(busiest.busy * 100).toFixed(0)} % of the time at most (${busiest.server.title}).`,
  how
].join('\n\n')
console.log(report)
if (options.write) {
  const plot = 'CPU time of the server per request, for each contender and scenario'
  keepPlot('bench', plotRun())
  keepText('bench/README.md', 'tables', `![${plot}](../docs/bench.svg)\n\n${report}`)
  keepText('README.md', 'bench', `${makeSummary(rows, options.connections)}\n\nOne run: ${how}.`)
}

function plotRun () {
  const panels = options.scenarios.map(name => ({
    title: scenarios[name].title,
    bars: rows.filter(({ scenario, connections }) => scenario === name && connections === first)
      .map(({ server, cpu }) => ({
        label: server.title,
        value: cpu,
        text: cpu.toFixed(0),
        isOurs: server.file === 'ours.js'
      }))
  }))
  const limit = 600
  const note = `${first} connections, 100,000 customers; shorter is better; what is longer than ${limit} is cut`
  return plotBars({ title: 'CPU time of the server per request, in microseconds', note, panels, limit })
}
