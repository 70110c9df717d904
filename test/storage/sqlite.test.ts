import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { storageConformance } from '../../lib/storage/conformance.js'
import { sqliteStorage } from '../../lib/storage/sqlite.js'

const folder = await mkdtemp(join(tmpdir(), 'dealbook-sqlite-'))
t.teardown(() => rm(folder, { recursive: true }))
let files = 0
const newFile = (): string => join(folder, `${++files}.db`)

storageConformance(t.test, () => {
  const file = newFile()
  let storage = sqliteStorage({ file })
  return {
    storage,
    async reopen () {
      await storage.close()
      storage = sqliteStorage({ file })
      return storage
    },
    dispose: () => storage.close()
  }
})
