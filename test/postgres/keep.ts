// Runs beside the tests: starts PostgreSQL, says where it is, and ends it when told to, or when the process whose id it
// is given has ended: where a run of the tests is broken off, nothing stays behind.
import { rename, writeFile } from 'node:fs/promises'
import { isAlive } from '../is-alive.js'
import { startServer, stateFile } from './server.js'

const server = await startServer()
await writeFile(`${stateFile}.new`, JSON.stringify({ url: server.url, pid: process.pid }))
await rename(`${stateFile}.new`, stateFile)
const runner = Number(process.argv[2])
const watch = setInterval(() => { if (!isAlive(runner)) process.emit('SIGTERM') }, 5000)
process.once('SIGTERM', () => {
  clearInterval(watch)
  server.dispose().catch(() => { process.exitCode = 1 })
})
