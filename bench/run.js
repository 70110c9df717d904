// Each server in a process of its own, all scenarios in turns, round after round: what differs between servers is then
// not the hour of the day. CPU time per request is what counts; requests per second depend on the client too.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { scenarios } from './scenarios.js'

const rounds = Number(process.env.ROUNDS ?? 5)
const seconds = Number(process.env.SECONDS ?? 2)
const connections = 20
const postgres = process.env.TEST_PG_URL
const folder = mkdtempSync(join(tmpdir(), 'dealbook-bench-'))

const start = async (name, ...args) => {
  const [file, ...rest] = args
  const child = fork(fileURLToPath(new URL(`servers/${file}`, import.meta.url)), rest)
  child.once('exit', code => { if (code !== null) throw new Error(`${name} ended with ${code}`) })
  const { url, ids } = await answerOf(child)
  return { name, child, url, ids, results: scenarios.map(() => []) }
}

async function answerOf (child) {
  const [answer] = await once(child, 'message')
  return answer
}

const expert = await start('expert by hand, SQLite', 'expert.js', join(folder, 'expert.db'))
const ours = [
  await start('ours, SQLite', 'ours.js', 'sqlite', join(folder, 'ours.db')),
  await start('ours, memory', 'ours.js', 'memory'),
  ...(postgres === undefined ? [] : [await start('ours, PostgreSQL', 'ours.js', 'postgres', postgres)])
]
writeFileSync(join(folder, 'bytes.json'), JSON.stringify(await bytesOf(ours[0])))
const floor = await start('floor', 'floor.js', join(folder, 'bytes.json'))
const servers = [floor, expert, ...ours]

// The first round warms up and does not count.
for (let round = 0; round <= rounds; round++) {
  for (const [index, scenario] of scenarios.entries()) {
    for (const server of servers) {
      const result = await measure(server, scenario, round)
      if (round > 0) server.results[index].push(result)
    }
  }
  console.error(`round ${round} of ${rounds}`)
}
report()
for (const { child } of servers) child.kill()
rmSync(folder, { recursive: true })

async function bytesOf ({ url, ids }) {
  const [page, numbered, one, changed] = await Promise.all(scenarios.map(async ({ request }) => {
    const { path, ...options } = request(1, ids)
    return await (await fetch(url + path, options)).text()
  }))
  return { page, numbered, one, changed }
}

async function measure ({ child, url, ids }, { request }, round) {
  let n = round * 1_000_003
  const before = await costOf(child)
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: [{ setupRequest: base => ({ ...base, ...request(n++, ids) }) }]
  })
  const after = await costOf(child)
  const done = result['2xx']
  if (done === 0 || result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${url}: ${result.non2xx} refused, ${result.errors} errors`)
  }
  const cpu = after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system
  return { cpu: cpu / done, rate: done / result.duration }
}

async function costOf (child) {
  const answer = answerOf(child)
  child.send('cost')
  return await answer
}

function report () {
  scenarios.forEach(({ name }, index) => {
    const of = server => ({
      cpu: median(server.results[index].map(({ cpu }) => cpu)),
      rate: median(server.results[index].map(({ rate }) => rate))
    })
    const low = of(floor)
    const hand = of(expert)
    console.log(`\n${name}`)
    console.table(Object.fromEntries(servers.map(server => {
      const { cpu, rate } = of(server)
      return [server.name, {
        'CPU µs/request': Number(cpu.toFixed(1)),
        '× floor': Number((cpu / low.cpu).toFixed(2)),
        '× expert': Number((cpu / hand.cpu).toFixed(2)),
        'requests/s': Math.round(rate)
      }]
    })))
  })
}

function median (values) {
  return values.sort((a, b) => a - b)[values.length >> 1]
}
