// Starts one PostgreSQL for the whole run, unless TEST_PG_URL names one.
import { spawn } from 'node:child_process'
import { access, rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stateFile } from './server.js'

if (process.env['TEST_PG_URL'] === undefined) {
  await rm(stateFile, { force: true })
  const keeper = fileURLToPath(new URL('keep.js', import.meta.url))
  const child = spawn(process.execPath, [keeper, String(process.ppid)], { detached: true, stdio: 'ignore' })
  child.unref()
  let ended = false
  child.once('exit', () => { ended = true })
  while (!await access(stateFile).then(() => true, () => false)) {
    if (ended) throw new Error('PostgreSQL for the tests did not start')
    await delay(50)
  }
}
