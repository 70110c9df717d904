// Runs beside the tests: starts PostgreSQL, says where it is, and ends it when told to.
import { rename, writeFile } from 'node:fs/promises'
import { startServer, stateFile } from './server.js'

const server = await startServer()
await writeFile(`${stateFile}.new`, JSON.stringify({ url: server.url, pid: process.pid }))
await rename(`${stateFile}.new`, stateFile)
const alive = setInterval(() => {}, 60_000)
// Should the run be broken off, nothing stays behind for long.
const late = setTimeout(() => process.emit('SIGTERM'), 15 * 60_000)
process.once('SIGTERM', () => {
  clearInterval(alive)
  clearTimeout(late)
  server.dispose().catch(() => { process.exitCode = 1 })
})
