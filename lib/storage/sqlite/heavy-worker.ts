// The thread that HeavyWorkers starts: answers one question after the other.
import type { MessagePort } from 'node:worker_threads'
import { parentPort, workerData } from 'node:worker_threads'
import { openReader } from './driver.js'
import type { HeavyAnswer, HeavyQuestion } from './heavy-workers.js'
import { endMessage, leaveMessage, makeClosed } from './heavy-workers.js'
import { SlicedReader, sliceLimits } from './sliced-reader.js'
import { SnapshotTurn } from './snapshot.js'
import { ReadStatements } from './statements.js'

// Nobody waits for this thread but those who asked it, so a slice only has to end soon when it is told to end.
const limits = { ...sliceLimits, sliceRows: 20_000, sliceMs: 50 }

const port = parentPort as MessagePort
const file = workerData as string
const database = await openReader(file)
// By the serial number of the layout; a family that is prepared anew has another.
const readers = new Map<number, SlicedReader>()
let current: AbortController | undefined
let answering = Promise.resolve()

port.on('message', (message: HeavyQuestion | typeof endMessage | typeof leaveMessage) => {
  if (message === endMessage) current?.abort(new Error('nobody waits for it any more'))
  else if (message === leaveMessage) {
    current?.abort(makeClosed())
    answering.then(leave, leave)
  } else answering = answer(message).then(outcome => { port.postMessage(outcome) }, fail)
})

function leave (): void {
  database.close()
  port.close()
}

async function answer ({ layout, query }: HeavyQuestion): Promise<HeavyAnswer> {
  current = new AbortController()
  try {
    let reader = readers.get(layout.serial)
    if (reader === undefined) {
      reader = new SlicedReader(new ReadStatements(database, layout), limits)
      readers.set(layout.serial, reader)
    }
    const turn = new SnapshotTurn(database, file, current.signal)
    try {
      return { type: 'found', found: await reader.find(query, turn) }
    } finally {
      turn.end()
    }
  } catch (error) {
    return { type: 'failed', error }
  }
}

// What cannot be sent, or said, ends this thread; who asked is told so.
function fail (error: unknown): never {
  throw error
}
