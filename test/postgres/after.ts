// Ends the PostgreSQL of the run.
import { readFile, rm } from 'node:fs/promises'
import { stateFile } from './server.js'

const state = await readFile(stateFile, 'utf8').catch(() => undefined)
if (state !== undefined && process.env['TEST_PG_URL'] === undefined) {
  await rm(stateFile, { force: true })
  process.kill((JSON.parse(state) as { pid: number }).pid, 'SIGTERM')
}
