import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { memoryStorage, Problem } from '../../lib/index.js'
import { copyStorage, erase, prune, verifyLog } from '../../lib/tools/index.js'
import { makeHistory, persons, steps } from '../erase/histories.js'
import { buyers, families } from '../erase/people.js'
import { runs } from '../size.js'
import { storages } from '../storages.js'
import { makeChained, readLog } from './chained.js'
import { edits, listBroken } from './edits.js'

/** Everything that changes a log, on any of these people. */
const actions = fc.array(fc.tuple(fc.nat(4), fc.nat(persons - 1), fc.nat(100)), { maxLength: 6 })

for (const { name, make } of storages) {
  t.test(`${name}: a log stays valid, whatever happens, and each change of it is found`, async t => {
    let [valid, erasedOnes, found] = [0, 0, 0]
    await fc.assert(fc.asyncProperty(steps, actions, fc.nat(), fc.nat(), async (history, more, at, how) => {
      const { storage, tamper, fixture } = makeChained(name, await make({ chain: true }))
      try {
        const ids = await makeHistory(storage, history)
        const book = buyers.service({ storage })
        for (const [what, person, value] of more) {
          const id = ids[person] as number
          const done = {
            0: () => erase(storage, families, { family: 'people', id, batch: 1 + value % 4 }),
            1: () => erase(storage, families, { principal: value % 2 === 0 ? 'ann' : 'bob', batch: 1 + value % 4 }),
            2: () => book.remove(id),
            3: () => book.restore(id),
            4: async () => {
              const log = await readLog(storage)
              const { createdAt = '' } = log[value % log.length] ?? {}
              if (createdAt !== '') await prune(storage, { before: createdAt, batch: 1 + value % 4 })
            }
          }[what]
          await done?.().catch((error: unknown) => {
            // Its log may have been pruned.
            const { code } = error as { code?: string }
            if (!(error instanceof Problem) && code !== 'FST_DEALBOOK_INVALID_ERASURE') throw error
          })
        }
        const log = await readLog(storage)
        const result = await verifyLog(storage, { batch: 1 + at % 7 })
        assert.equal(result.broken, undefined)
        assert.equal(result.checked, log.length)
        valid++
        erasedOnes += result.erased
        const copy = memoryStorage({ chain: true })
        await copyStorage(storage, copy, { families })
        assert.deepEqual(await verifyLog(copy), result)
        const entry = log[at % Math.max(1, log.length)]
        if (entry === undefined) return
        const all = Object.entries(edits)
        const [what, edit] = all[how % all.length] as typeof all[number]
        const edited = edit(entry, log)
        const positions = listBroken(entry, edited, log)
        if (positions.length === 0) return
        await tamper(new Map([[String(entry.id), edited]]))
        const { broken } = await verifyLog(storage)
        assert(positions.includes(broken?.position ?? 0), `${what}: ${broken?.position} of ${positions.join()}`)
        found++
      } finally {
        await fixture.dispose()
      }
    }), { numRuns: runs(name === 'memory' ? 300 : 25) })
    const isWhole = valid >= runs(25) && found > valid / 2 && erasedOnes > 0
    t.ok(isWhole, `${valid} logs, ${erasedOnes} erased, ${found} found`)
  })
}
