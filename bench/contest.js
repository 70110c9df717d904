// Starts the contenders, each with its own database, measures them, and deletes everything at the end.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkAnswers, send } from './check-answers.js'
import { chooseContenders, contenders } from './contenders.js'
import { measureAll } from './measure.js'
import { openPostgres } from './postgres.js'
import { cores, endProcess, startProcess } from './processes.js'
import { inScratch } from './scratch.js'

const amounts = { customers: 100_000, deals: 1000 }

/** This checkout. */
export const checkout = fileURLToPath(new URL('..', import.meta.url))

/** One row for each contender, scenario and number of connections. */
export async function runContest (options) {
  return await inScratch(async scratch => {
    const servers = await startAll(options, scratch)
    return await measureAll(servers, await startLoad(scratch), options)
  })
}

export async function startLoad (scratch) {
  const { child } = await startProcess('load.js', [], { core: cores.load })
  scratch.atEnd(() => endProcess(child))
  return child
}

async function startAll ({ names, checkouts, scenarios }, scratch) {
  const postgres = names.some(name => name.endsWith('-postgres')) ? await openPostgres(scratch) : undefined
  const bytes = join(scratch.folder, 'bytes.json')
  const start = async contender => {
    const { name, args, scenarios: can } = contender
    const place = name.includes('-postgres') ? { postgres: await postgres.newSchema() } : {}
    const told = { ...amounts, checkout, bytes, file: join(scratch.folder, `${name}.db`), ...place, ...args }
    console.error(`starting ${name}`)
    const server = await startServer(scratch, contender, told)
    if (told.postgres !== undefined) await postgres.analyze(told.postgres)
    return { ...contender, ...server, scenarios: can.filter(scenario => scenarios.includes(scenario)) }
  }
  const servers = []
  for (const contender of chooseContenders(names, checkouts)) {
    if (contender.file === 'floor.js') await writeBytes(start, bytes)
    const server = await start(contender)
    if (contender.file !== 'floor.js') await checkAnswers(server)
    servers.push(server)
  }
  return servers
}

/** Starts a file of servers/, and returns its first message. */
export async function startServer (scratch, { file, needsNode }, told) {
  const where = { core: cores.server, needsNode }
  const { child, ready } = await startProcess(`servers/${file}`, [JSON.stringify(told)], where)
  scratch.atEnd(() => endProcess(child))
  return { child, ...ready }
}

/** Our responses, for the floor to send: the same on every storage, so the fastest to start is used. */
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
