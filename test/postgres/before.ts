// Starts one PostgreSQL for the whole run, unless TEST_PG_URL names one.
import { spawn } from 'node:child_process'
import { access, rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stateFile } from './server.js'

if (process.env['TEST_PG_URL'] === undefined) {
  await rm(stateFile, { force: true })
  const child = spawn(process.execPath, [fileURLToPath(new URL('keep.js', import.meta.url))], { detached: true, stdio: 'ignore' })
  child.unref()
  let ended = false
  child.once('exit', () => { ended = true })
  const began = Date.now()
  while (!await access(stateFile).then(() => true, () => false)) {
    if (ended || Date.now() - began > 30_000) throw new Error('PostgreSQL for the tests did not start')
    await delay(50)
  }
}
