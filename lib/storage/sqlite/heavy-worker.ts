// The thread that HeavyWorkers starts: answers one question after the other.
import type { MessagePort } from 'node:worker_threads'
import { parentPort, workerData } from 'node:worker_threads'
import { getColumn } from '../sql/layout.js'
import { openReader } from './driver.js'
import type { PageText } from './paths.js'
import type { HeavyAnswer, HeavyQuestion, WorkerSettings } from './reader.js'
import { isLogLong, leaveMessage } from './reader.js'
import { SqlFunctions, TableStatements } from './statements.js'

const port = parentPort as MessagePort
const { file, isEnded } = workerData as WorkerSettings
const database = await openReader(file)
const functions = new SqlFunctions(database)
functions.isEnded = () => Atomics.load(isEnded, 0) !== 0
// By the serial number of the layout; a family that is prepared anew has another.
const tables = new Map<number, TableStatements>()

port.on('message', (message: HeavyQuestion | typeof leaveMessage) => {
  if (message !== leaveMessage) return port.postMessage(answer(message))
  database.close()
  port.close()
})

function answer (question: HeavyQuestion): HeavyAnswer {
  const { serial, layout } = question
  if (layout !== undefined) tables.set(serial, new TableStatements(database, layout, functions))
  try {
    return { type: 'found', page: read(tables.get(serial) as TableStatements, question) }
  } catch (error) {
    return { type: 'failed', error }
  }
}

/** Reads the page and the total as they were at one moment. */
function read (statements: TableStatements, { query, members }: HeavyQuestion): PageText {
  database.exec('BEGIN')
  try {
    const columns = members.map(member => getColumn(statements.layout, member))
    return statements.readAll(query, { ...query, members: columns })
  } finally {
    database.exec('COMMIT')
    // In this thread, and not at the next commit, where others would wait for it.
    if (isLogLong(file)) database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  }
}
