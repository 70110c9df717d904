// The worker thread of HeavyReads.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { getMembers } from '../sql/layout.js'
import { openReadOnly } from './driver.js'
import { exitMessage, type HeavyRequest, type HeavyResult, isLogLong, type WorkerSettings } from './heavy-reads.js'
import { addFunctions, running, TableStatements } from './statements.js'

const port = parentPort as MessagePort
const { file, isEnded } = workerData as WorkerSettings
const database = await openReadOnly(file)
addFunctions(database)
running.isEnded = () => Atomics.load(isEnded, 0) !== 0
// By the serial number of the layout.
const tables = new Map<number, TableStatements>()

port.on('message', (message: HeavyRequest | typeof exitMessage) => {
  if (message !== exitMessage) return port.postMessage(readHeavy(message))
  database.close()
  port.close()
})

function readHeavy ({ layout, query, members, names }: HeavyRequest): HeavyResult {
  const statements = tables.get(layout.serial) ?? new TableStatements(database, layout)
  tables.set(layout.serial, statements)
  // The page and the total must be of one state.
  database.exec('BEGIN')
  try {
    return { page: statements.readAll(query, getMembers(statements.layout, members, names)) }
  } catch (error) {
    return { error }
  } finally {
    database.exec('COMMIT')
    // Otherwise the next commit does it, in the main thread.
    if (isLogLong(file)) database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  }
}
