import t from 'tap'
import { storageConformance } from '../../lib/conformance/storage-conformance.js'
import { connect, Database, noFaults } from './database.js'
import { Random } from './random.js'

storageConformance(t.test, () => {
  const database = new Database(true)
  const open = () => connect(database, {
    faults: noFaults,
    random: new Random(1),
    send: (_time, run) => { setImmediate(run) },
    answer: (_time, run) => { setImmediate(run) },
    note: () => {}
  })
  return { storage: open(), reopen: async () => open() }
})
