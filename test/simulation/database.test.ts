import t from 'tap'
import { storageConformance } from '../../lib/conformance/storage-conformance.js'
import { allParts, connect, noFaults } from './connection.js'
import { Database } from './database.js'
import { Random } from './random.js'

storageConformance(t.test, () => {
  const database = new Database(true)
  const open = () => connect(database, {
    faults: noFaults,
    parts: allParts,
    random: new Random(1),
    send: (_time, run) => { setImmediate(run) },
    answer: (_time, run) => { setImmediate(run) },
    note: () => {}
  })
  return { storage: open(), reopen: async () => open() }
})
