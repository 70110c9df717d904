import t from 'tap'
import { memoryStorage } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'

const file = { file: ':memory:' }
const connectionString = 'postgres://localhost/crm'

// As a host in JavaScript may call them.
const wrong: [string, (options: never) => unknown, unknown, string, RegExp][] = [
  ['memory', memoryStorage, { maxHeavyRead: 1 }, 'maxHeavyRead', /unknown option .* Did you mean "maxHeavyReads"\?/],
  ['memory', memoryStorage, { maxHeavyReads: 0 }, 'maxHeavyReads', /a positive integer/],
  ['memory', memoryStorage, { maxWaitingReads: -1 }, 'maxWaitingReads', /an integer, 0 or more/],
  ['sqlite', sqliteStorage, undefined, 'file', /is missing; .* "database"/],
  ['sqlite', sqliteStorage, null, 'file', /is missing/],
  ['sqlite', sqliteStorage, 'dealbook.db', 'file', /is missing/],
  ['sqlite', sqliteStorage, { file: undefined }, 'file', /is missing/],
  ['sqlite', sqliteStorage, { ...file, database: {} }, 'file', /together with "database"/],
  ['sqlite', sqliteStorage, { file: '' }, 'file', /non-empty/],
  ['sqlite', sqliteStorage, { database: {} }, 'database', /an open database/],
  ['sqlite', sqliteStorage, { database: null }, 'database', /an open database/],
  ['sqlite', sqliteStorage, { ...file, tabels: {} }, 'tabels', /Did you mean "tables"/],
  ['sqlite', sqliteStorage, { ...file, tables: 'deals' }, 'tables', /an object/],
  ['sqlite', sqliteStorage, { ...file, tables: { deals: { name: 'sales' } } }, 'tables', /"deals": unknown .* "name"/],
  ['sqlite', sqliteStorage, { ...file, tables: { deals: { columns: {} } } }, 'tables', /"deals": "table" is missing/],
  ['sqlite', sqliteStorage, { ...file, tables: { deals: 'sales' } }, 'tables', /"deals": must be an object with table/],
  ['sqlite', sqliteStorage, { ...file, busyTimeout: '5s' }, 'busyTimeout', /an integer, 0 or more/],
  ['sqlite', sqliteStorage, { ...file, migrate: 'yes' }, 'migrate', /must be "auto", "check" or "off"/],
  ['postgres', postgresStorage, connectionString, 'connectionString', /is missing; .* "pool"/],
  ['postgres', postgresStorage, { connectionString: undefined }, 'connectionString', /is missing/],
  ['postgres', postgresStorage, { connectionString: '' }, 'connectionString', /non-empty/],
  ['postgres', postgresStorage, { pool: connectionString }, 'pool', /a pool of pg/],
  ['postgres', postgresStorage, { connectionString, poolsize: 5 }, 'poolsize', /Did you mean "poolSize"/],
  ['postgres', postgresStorage, { connectionString, tables: { deals: { table: '' } } }, 'tables', /non-empty/],
  ['postgres', postgresStorage, { connectionString, poolSize: 0 }, 'poolSize', /a positive integer/],
  ['postgres', postgresStorage, { connectionString, statementTimeout: 1e12 }, 'statementTimeout', /milliseconds/],
  ['postgres', postgresStorage, { connectionString, preparedStatements: 'no' }, 'preparedStatements', /true or false/]
]

for (const [storage, make, options, name, flaw] of wrong) {
  t.test(`${storage}: ${JSON.stringify(options)}`, async t => {
    const code = 'FST_DEALBOOK_INVALID_STORAGE_OPTION'
    t.throws(() => make(options as never), { code, message: `option "${name}"` })
    t.throws(() => make(options as never), { message: flaw })
  })
}

t.test('what is undefined is as if it were not given', async () => {
  await memoryStorage({ maxHeavyReads: undefined } as never).close()
  await sqliteStorage({ ...file, database: undefined, busyTimeout: 0 } as never).close()
  await postgresStorage({ connectionString, pool: undefined } as never).close()
})
