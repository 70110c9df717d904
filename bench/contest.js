// Starts the contenders, each with a database of its own, measures them in turns, and deletes all of it in the end.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkAnswers, send } from './check-answers.js'
import { chooseContenders, contenders } from './contenders.js'
import { openPostgres } from './postgres.js'
import { ask, cores, endProcess, startProcess } from './processes.js'

const checkout = fileURLToPath(new URL('..', import.meta.url))

/** The medians of all rounds: one row for each contender, scenario and number of connections. */
export async function runContest (options) {
  const ends = []
  let undone
  const undoAll = async () => { while (ends.length > 0) await ends.pop()() }
  const undo = async () => {
    undone ??= undoAll()
    await undone
  }
  const stop = () => { undo().finally(() => process.exit(1)) }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    const servers = await startAll(options, ends)
    const { child: load } = await startProcess('load.js', [], { core: cores.load })
    ends.push(() => endProcess(load))
    return await measureAll(servers, load, options)
  } finally {
    await undo()
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

async function startAll ({ names, checkouts, scenarios }, ends) {
  const folder = mkdtempSync(join(tmpdir(), 'dealbook-bench-'))
  ends.push(() => { rmSync(folder, { recursive: true }) })
  const postgres = names.some(name => name.endsWith('-postgres')) ? await openPostgres(ends) : undefined
  const start = async contender => {
    const { name, file, args } = contender
    const place = { file: join(folder, `${name}.db`), bytes: join(folder, 'bytes.json'), checkout }
    const told = { ...place, ...args, ...(name.includes('-postgres') ? { postgres: await postgres.newSchema() } : {}) }
    console.error(`starting ${name}`)
    const { child, ready } = await startProcess(`servers/${file}`, [JSON.stringify(told)], {
      core: cores.server,
      needsNode: contender.needsNode
    })
    ends.push(() => endProcess(child))
    return { ...contender, ...ready, child, scenarios: contender.scenarios.filter(each => scenarios.includes(each)) }
  }
  const servers = []
  for (const contender of chooseContenders(names, checkouts)) {
    if (contender.file === 'floor.js') await writeBytes(start, join(folder, 'bytes.json'))
    const server = await start(contender)
    if (contender.file !== 'floor.js') await checkAnswers(server)
    servers.push(server)
  }
  return servers
}

/** What ours answers, for the floor to send: the same on every storage, so the one that starts soonest is asked. */
async function writeBytes (start, file) {
  const ours = await start({ name: 'bytes', ...contenders['ours-memory'] })
  const bytes = {}
  for (const scenario of contenders.floor.scenarios) {
    const { headers, text } = await send(ours, scenario, 1)
    const { connection, date, 'content-length': length, 'keep-alive': keepAlive, ...rest } = Object.fromEntries(headers)
    bytes[scenario] = { headers: rest, body: text }
  }
  writeFileSync(file, JSON.stringify(bytes))
  await endProcess(ours.child)
}

async function measureAll (servers, load, { connections, rounds, seconds, warm, scenarios }) {
  const rows = []
  let measured = 0
  for (const [index, many] of connections.entries()) {
    const cells = scenarios.flatMap(scenario => servers.filter(server => server.scenarios.includes(scenario))
      .map(server => ({ server, scenario, connections: many, results: [] })))
    const count = index === 0 ? rounds : Math.ceil(rounds / 2)
    // Round 0 warms up and does not count: the code of a server is slow in its first seconds.
    for (let round = 0; round <= count; round++) {
      console.error(`${many} connections, round ${round} of ${count}`)
      for (const cell of inTurn(cells, round)) {
        const duration = round > 0 ? seconds : index === 0 ? warm : 1
        const result = await measure(cell, load, { seconds: duration, first: ++measured * 1_000_003 })
        if (round > 0) cell.results.push(result)
      }
    }
    rows.push(...cells.map(({ results, ...cell }) => ({ ...cell, ...summarize(results) })))
  }
  return rows
}

/** Another one begins in every round, so that nobody always comes after the same. */
function inTurn (cells, round) {
  const start = round * 7 % cells.length
  return [...cells.slice(start), ...cells.slice(0, start)]
}

async function measure ({ server, scenario, connections }, load, { seconds, first }) {
  const { name, child, url, ids } = server
  const before = await ask(child, 'cost')
  const result = await ask(load, { contender: name, scenario, url, ids, connections, seconds, first })
  if (result.failed !== undefined) throw new Error(`${name}: ${result.failed}`)
  const after = await ask(child, 'cost')
  const cpu = after.user + after.system - before.user - before.system
  return { ...result, cpu: cpu / result.count }
}

function summarize (results) {
  const medianOf = member => median(results.map(result => result[member]))
  const [least, most] = [Math.min, Math.max].map(choose => choose(...results.map(({ cpu }) => cpu)))
  return {
    cpu: medianOf('cpu'),
    rate: medianOf('rate'),
    p50: medianOf('p50'),
    p99: medianOf('p99'),
    busy: medianOf('busy'),
    spread: (most - least) / medianOf('cpu')
  }
}

function median (values) {
  const sorted = values.toSorted((a, b) => a - b)
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2
}
