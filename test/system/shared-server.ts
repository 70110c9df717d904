import Fastify from 'fastify'
import { accounts } from '../../examples/accounts.js'
import { authorize, bookings, invoices, machines } from '../../examples/rental.js'
import { deals } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { bills, people } from '../family/keyed.js'

// A host with deals, accounts and families that have rules: one of several processes on one database. However busy the
// machine is, nothing takes too long.
const timeout = 3_600_000
const place = process.env['STORAGE'] as string
const storage = place.startsWith('sqlite:')
  ? sqliteStorage({ file: place.slice('sqlite:'.length), busyTimeout: timeout })
  : postgresStorage({ connectionString: place, statementTimeout: timeout, connectionTimeout: timeout })
const app = Fastify()
app.register(deals, { storage, version: 'v1', timeout })
app.register(accounts, { storage, timeout })
app.register(people, { storage, timeout })
app.register(bills, { storage, timeout })
for (const family of [machines, invoices, bookings]) app.register(family, { storage, timeout, authorize })
console.log(`at ${await app.listen({ port: 0, host: '127.0.0.1' })}`)
