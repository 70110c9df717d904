// The thread that HeavyWorkers starts: answers one question after the other.
import type { MessagePort } from 'node:worker_threads'
import { parentPort, workerData } from 'node:worker_threads'
import type { Found } from '../../core/storage/storage.js'
import type { SqliteDatabase } from './driver.js'
import { openReader } from './driver.js'
import type { HeavyAnswer, HeavyQuestion, WorkerSettings } from './heavy-workers.js'
import { leaveMessage } from './heavy-workers.js'
import { isLogLong } from './log.js'
import { ReadStatements } from './statements.js'

const port = parentPort as MessagePort
const { file, isEnded } = workerData as WorkerSettings
const database = await openReader(file) as Required<SqliteDatabase>
// By the serial number of the layout; a family that is prepared anew has another.
const tables = new Map<number, ReadStatements>()

// A statement of SQLite ends before its time only where something in it fails.
database.function('dealbook_go_on', { deterministic: false }, () => {
  if (Atomics.load(isEnded, 0) !== 0) throw new Error('nobody waits for it any more')
  return 1
})
// Not asked at every row: a call takes longer than a row.
const watch = '(random() & 4095 OR dealbook_go_on())'

port.on('message', (message: HeavyQuestion | typeof leaveMessage) => {
  if (message !== leaveMessage) return port.postMessage(answer(message))
  database.close()
  port.close()
})

function answer ({ layout, query }: HeavyQuestion): HeavyAnswer {
  try {
    let statements = tables.get(layout.serial)
    if (statements === undefined) tables.set(layout.serial, statements = new ReadStatements(database, layout, watch))
    return { type: 'found', found: read(statements, query) }
  } catch (error) {
    return { type: 'failed', error }
  }
}

/** Reads whatever is asked, all of it as it was at one moment. */
function read (statements: ReadStatements, { where, order, offset, limit, count }: HeavyQuestion['query']): Found {
  database.exec('BEGIN')
  try {
    const items = statements.readItems({ where, order, offset, limit, byKey: true })
    return count ? { items, total: statements.count(where, { byKey: true }) } : { items }
  } finally {
    database.exec('COMMIT')
    // In this thread, and not at the next commit, where others would wait for it.
    if (isLogLong(file)) database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  }
}
