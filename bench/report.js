// The tables of a run, as Markdown: for reads and for writes, with the ratios to the floor and to the expert.
import { scenarios } from './scenarios.js'

/** All tables of these rows, the first number of connections in full. */
export function makeTables (rows, [first, ...others]) {
  const main = rows.filter(({ connections }) => connections === first)
  const parts = [[false, 'Reads'], [true, 'Writes']].flatMap(([writes, title]) => {
    const chosen = main.filter(({ scenario }) => Boolean(scenarios[scenario].writes) === writes)
    return chosen.length === 0 ? [] : [`### ${title}, ${count(first)}\n\n${compare(chosen)}`]
  })
  if (others.length > 0) parts.push(`### Other numbers of connections\n\n${compareConnections(rows, others)}`)
  return parts.join('\n\n')
}

/** The summary: ours on SQLite beside the expert, with the first two numbers of connections. */
export function makeSummary (rows, numbers) {
  const cpuOf = (name, scenario, number) =>
    rows.find(row => row.server.name === name && row.scenario === scenario && row.connections === number)?.cpu
  const shown = numbers.slice(0, 2)
  const lines = ['page', 'one', 'operation'].map(scenario => {
    const ratios = shown.map(number =>
      ratio(cpuOf('ours-sqlite', scenario, number), cpuOf('expert', scenario, number)))
    return `| ${[scenarios[scenario].title, ...ratios].join(' | ')} |`
  })
  return [
    'CPU time of the server per request, on SQLite with 100,000 customers, as a multiple of that of routes which ' +
      'were written by hand for just these requests:',
    '',
    `| | ${shown.map(count).join(' | ')} |`,
    `|---|${shown.map(() => '--:|').join('')}`,
    ...lines
  ].join('\n')
}

function compare (rows) {
  const lines = byScenario(rows).flatMap(([scenario, group]) => group.map((row, index) => {
    const cpuOf = name => group.find(({ server }) => server.name === name)?.cpu
    return [
      index === 0 ? scenarios[scenario].title : '',
      row.server.title,
      `${row.cpu.toFixed(0)} ± ${(row.spread * 50).toFixed(0)} %`,
      ratio(row.cpu, cpuOf('floor')),
      ratio(row.cpu, cpuOf(row.server.expert)),
      ...figures(row)
    ]
  }))
  return table(['', '', 'CPU µs', '× floor', '× expert', 'requests/s', 'p50 ms', 'p99 ms'], lines)
}

function compareConnections (rows, numbers) {
  const lines = byScenario(rows.filter(({ connections }) => connections === numbers[0]))
    .flatMap(([scenario, group]) => group.map(({ server }, index) => [
      index === 0 ? scenarios[scenario].title : '',
      server.title,
      ...numbers.flatMap(number => {
        const row = rows.find(row => row.connections === number && row.scenario === scenario && row.server === server)
        return [row.cpu.toFixed(0), ...figures(row)]
      })
    ]))
  const heads = numbers.flatMap(number => [`${count(number)}: CPU µs`, 'requests/s', 'p50 ms', 'p99 ms'])
  return table(['', '', ...heads], lines)
}

const figures = ({ rate, p50, p99 }) => [Math.round(rate).toLocaleString('en'), p50.toFixed(2), p99.toFixed(2)]

const count = connections => connections === 1 ? '1 connection' : `${connections} connections`

function byScenario (rows) {
  return Object.keys(scenarios)
    .map(scenario => [scenario, rows.filter(row => row.scenario === scenario)])
    .filter(([, group]) => group.length > 0)
}

function ratio (value, base) {
  return value === undefined || base === undefined ? '–' : (value / base).toFixed(2)
}

/** Two columns of words, then figures; padded, so that the source is readable. */
export function table (heads, lines) {
  const widths = heads.map((head, column) => Math.max(3, ...[heads, ...lines].map(line => line[column].length)))
  const show = cells => `| ${cells.map((cell, column) => pad(cell, widths[column], column)).join(' | ')} |`
  const rule = widths.map((width, column) => column < 2 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)
  return [show(heads), `|${rule.join('|')}|`, ...lines.map(show)].join('\n')
}

const pad = (cell, width, column) => column < 2 ? cell.padEnd(width) : cell.padStart(width)
