// The server in several processes at one port: `WORKERS=2 node build/examples/cluster.js`. They need a storage that
// processes can share. SIGHUP replaces them one by one, without a failed request; SIGTERM ends all of them.
import type { Worker } from 'node:cluster'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

const count = Number(process.env.WORKERS) || availableParallelism()
const serving = new Set<Worker>()
let isStopping = false
let work = Promise.resolve()

if (cluster.isPrimary) {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
  process.on('SIGHUP', () => enqueue(replaceAll))
  if (await start()) enqueue(fill)
  else process.exitCode = isStopping ? 0 : 1
} else {
  // Resolves when the server has stopped.
  await import('./server.js')
  cluster.worker?.disconnect()
}

/** One at a time, so that no two of them start a worker for the same gap. */
function enqueue (task: () => Promise<void>): void {
  work = work.then(task)
}

/** Starts a worker; false if it ends before it listens. */
async function start (): Promise<boolean> {
  if (isStopping) return false
  const worker = cluster.fork()
  const isListening = await Promise.race([
    once(worker, 'listening').then(() => true),
    once(worker, 'exit').then(() => false)
  ])
  if (!isListening) return false
  serving.add(worker)
  console.log(`Worker ${worker.process.pid} is ready`)
  worker.once('exit', (code, signal) => {
    if (!serving.delete(worker) || isStopping) return
    console.error(`Worker ${worker.process.pid} ended with ${signal ?? code}: starting another one`)
    enqueue(fill)
  })
  return true
}

async function fill (): Promise<void> {
  while (serving.size < count) {
    if (await start()) continue
    if (isStopping) return
    await delay(1000)
  }
}

/** Starts a new worker for each, and only then lets the old one finish. */
async function replaceAll (): Promise<void> {
  for (const old of [...serving]) {
    if (!await start()) return console.error('The new worker did not start: the old ones continue')
    if (!serving.delete(old)) continue
    const ended = once(old, 'exit')
    old.process.kill('SIGHUP')
    await ended
  }
  console.log('All workers are replaced')
}

function stop (): void {
  isStopping = true
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM')
}
