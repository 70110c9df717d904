import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { journalStorage } from '../../examples/own-storage.js'
import { insert, query, thing, things } from '../../lib/conformance/fixture.js'
import { storageConformance } from '../../lib/conformance/storage-conformance.js'

const folder = await mkdtemp(join(tmpdir(), 'dealbook-journal-'))
t.teardown(() => rm(folder, { recursive: true }))
let files = 0

storageConformance(t.test, () => {
  const file = join(folder, `${++files}.jsonl`)
  let storage = journalStorage(file)
  return {
    storage,
    async reopen () {
      await storage.close()
      storage = journalStorage(file)
      return storage
    },
    dispose: () => storage.close()
  }
})

t.test('a line that was not finished is forgotten', async t => {
  const file = join(folder, 'torn.jsonl')
  const before = journalStorage(file)
  await before.prepare(things)
  await before.commit(insert('things', thing(1)))
  await before.close()
  await appendFile(file, '[{"type":"ins')
  const after = journalStorage(file)
  t.teardown(() => after.close())
  await after.prepare(things)
  await after.commit(insert('things', thing(2)))
  t.same((await after.find('things', query())).items.map(item => item.id), [1, 2])
})
