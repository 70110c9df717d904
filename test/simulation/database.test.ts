import t from 'tap'
import { storageConformance } from '../../lib/conformance/storage-conformance.js'
import { connect, Database, noFaults } from './database.js'
import { Random } from './random.js'

for (const isNumberedLate of [false, true]) {
  t.test(`a database without faults ${isNumberedLate ? 'that numbers late ' : ''}keeps the contract`, async t => {
    storageConformance(t.test, () => {
      const database = new Database(isNumberedLate)
      const open = () => connect(database, {
        faults: noFaults,
        random: new Random(1),
        send: (_time, run) => { setImmediate(run) },
        answer: (_time, run) => { setImmediate(run) },
        note: () => {}
      })
      return { storage: open(), reopen: async () => open() }
    })
  })
}
