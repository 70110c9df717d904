// Platformatic's REST over the tables of a SQLite file, with its defaults. It has no operations: the price is changed
// by its update, without a rule and without a row in a log.
import mapper from '@platformatic/sql-mapper'
import openapi from '@platformatic/sql-openapi'
import Fastify from 'fastify'
import { openDatabase } from './expert-sqlite.js'
import { anywhere, given, serve } from './serve.js'

const { db, ids } = openDatabase()
db.close()
const app = Fastify()
await app.register(mapper, {
  connectionString: `sqlite://${given.file}`,
  // Its driver does not wait for the disk in WAL mode by default.
  onDatabaseLoad: (db, sql) => db.query(sql`PRAGMA synchronous = FULL`)
})
await app.register(openapi)
await serve(await app.listen(anywhere), { ids }, () => 0)
