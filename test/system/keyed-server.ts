import Fastify from 'fastify'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { bills, people } from '../family/keyed.js'

// A host whose families have rules; one of several processes on one database.
const [, , where = ''] = process.argv
const storage = where.startsWith('sqlite:')
  ? sqliteStorage({ file: where.slice('sqlite:'.length) })
  : postgresStorage({ connectionString: where })
const app = Fastify()
app.register(people, { storage })
app.register(bills, { storage })
app.addHook('onClose', () => storage.close())
process.once('SIGTERM', () => { app.close().finally(() => process.exit()) })
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
