// The PostgreSQL of the run: the one that TEST_PG_URL names, or one that is started for it.
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { ask, cores, endProcess, startProcess } from './processes.js'

const pg = createRequire(import.meta.resolve('fastify-dealbook'))('pg')

export async function openPostgres (scratch) {
  const connectionString = process.env.TEST_PG_URL ?? await startOne(scratch)
  return {
    async newSchema () {
      const schema = `bench_${randomUUID().replaceAll('-', '')}`
      scratch.atEnd(() => query(connectionString, `DROP SCHEMA IF EXISTS ${schema} CASCADE`))
      await query(connectionString, `CREATE SCHEMA ${schema}`)
      return { connectionString, schema }
    },
    /** The maintenance that a database does by itself some time after a large load. */
    async analyze ({ schema }) {
      const { rows } = await query(connectionString, `SELECT tablename FROM pg_tables WHERE schemaname = '${schema}'`)
      for (const { tablename } of rows) await query(connectionString, `VACUUM ANALYZE ${schema}."${tablename}"`)
    }
  }
}

async function startOne (scratch) {
  const { child, ready: url } = await startProcess('servers/postgres.js', [], { core: cores.database })
  scratch.atEnd(async () => {
    await ask(child, 'end')
    await endProcess(child)
  })
  return url
}

async function query (connectionString, text) {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return await client.query(text)
  } finally {
    await client.end()
  }
}
