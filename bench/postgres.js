// The PostgreSQL of the run: the one that TEST_PG_URL names, or one that is started for it.
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { ask, cores, endProcess, startProcess } from './processes.js'

const pg = createRequire(import.meta.resolve('fastify-dealbook'))('pg')

/** What it makes is undone by what it adds to `ends`. */
export async function openPostgres (ends) {
  const connectionString = process.env.TEST_PG_URL ?? await startOne(ends)
  return {
    async newSchema () {
      const schema = `bench_${randomUUID().replaceAll('-', '')}`
      ends.push(() => query(connectionString, `DROP SCHEMA IF EXISTS ${schema} CASCADE`))
      await query(connectionString, `CREATE SCHEMA ${schema}`)
      return { connectionString, schema }
    }
  }
}

async function startOne (ends) {
  const { child, ready: url } = await startProcess('servers/postgres.js', [], { core: cores.database })
  ends.push(async () => {
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
