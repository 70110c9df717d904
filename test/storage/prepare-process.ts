// One of several processes that start at once: prepares, commits one item, says so.
import { insert, thing, things } from '../../lib/conformance/fixture.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'

const [where, schema, id] = process.argv.slice(2) as [string, string, string]
const storage = where.startsWith('postgres')
  ? postgresStorage({ connectionString: where, schema })
  : sqliteStorage({ file: where })
await storage.prepare(things)
await storage.commit(insert('things', thing(Number(id))))
await storage.close()
