import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Test } from 'tap'
import t from 'tap'
import { ids, insert, query, shape, thing, things, where } from '../../lib/conformance/fixture.js'
import type { Storage } from '../../lib/core/storage/storage.js'
import type { Run } from '../../lib/storage/postgres/connections.js'
import { postgresDialect } from '../../lib/storage/postgres/dialect.js'
import type { PostgresOptions } from '../../lib/storage/postgres/postgres-storage.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { readIndexed, readTableColumns } from '../../lib/storage/postgres/tables.js'
import type { Layout } from '../../lib/storage/sql/layout.js'
import { layOutMappedTable, layOutOwnTable } from '../../lib/storage/sql/layout.js'
import { needsPgbouncer, startPgbouncer } from '../postgres/pgbouncer.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { startProcesses } from './processes.js'
import { recordPostgres } from './recorded-statements.js'

const connectionString = await postgresUrl()

const people = shape('people', 'integer', [
  { name: 'age', kind: 'integer', optional: true },
  { name: 'name', kind: 'string', optional: true },
  { name: 'code', kind: 'string', optional: true, maxLength: 200 }
], [['age'], ['name'], ['code']])
const wanted = { people_age_idx: true, people_code_idx: true, people_name_left_200_idx: true }

type Open = (options?: Partial<PostgresOptions> | { pool: pg.Pool }) => Storage

/** A table with rows and without indexes. */
async function makePeople (t: Test): Promise<{ schema: string, open: Open }> {
  const schema = newSchema()
  const opened: Storage[] = []
  t.teardown(async () => {
    for (const storage of opened) await storage.close()
    await dropSchema(schema)
  })
  const open: Open = options => {
    const storage = postgresStorage({ connectionString, schema, poolSize: 4, ...options })
    opened.push(storage)
    return storage
  }
  const storage = open()
  await storage.prepare({ ...people, indexes: [] })
  t.strictSame(await readIndexes(schema), {})
  await storage.commit(insert('people', ...[1, 2, 3].map(id => thing(id, { age: id, name: `n${id}` }))))
  return { schema, open }
}

/** The indexes of the table, and whether each is whole. */
async function readIndexes (schema: string): Promise<Record<string, boolean>> {
  const { rows } = await withClient(client => client.query(`SELECT c.relname, i.indisvalid FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = to_regclass('"${schema}".people') AND NOT i.indisprimary
    ORDER BY 1`))
  return Object.fromEntries((rows as { relname: string, indisvalid: boolean }[]).map(row =>
    [row.relname, row.indisvalid]))
}

/** Does something while an index is being built: that waits for a transaction which has written to the table. */
async function duringBuild (schema: string, build: () => Promise<void>, work: (pid: number) => Promise<void>) {
  await withClient(async client => {
    await client.query(`BEGIN; UPDATE "${schema}".people SET age = age WHERE id = 1`)
    const building = build()
    building.catch(() => {})
    try {
      for (;;) {
        const { rows: [row] } = await withClient(other => other.query(`SELECT pid FROM pg_stat_activity
          WHERE query LIKE 'CREATE INDEX%${schema}%' AND wait_event_type = 'Lock'`))
        if (row !== undefined) {
          await work((row as { pid: number }).pid)
          break
        }
        await delay(10)
      }
    } finally {
      await client.query('COMMIT')
    }
    await building
  })
}

async function prepareAll (storages: readonly Storage[]): Promise<void> {
  await Promise.all(storages.map(storage => storage.prepare(people)))
}

t.test('an index is built while others write', async t => {
  const { schema, open } = await makePeople(t)
  const writer = open({ migrate: 'off', statementTimeout: 3000 })
  await writer.prepare(people)
  await duringBuild(schema, () => open().prepare(people), async () => {
    await writer.commit(insert('people', thing(4, { age: 4 })))
    t.match(Object.values(await readIndexes(schema)), [false], 'it is not there yet')
    t.same(await ids(writer, query({ where: [where('age', 'gte', 2)], sort: ['-age'] }), 'people'), [4, 3, 2])
  })
  t.strictSame(await readIndexes(schema), wanted)
})

t.test('a build that was broken off is found and done anew', async t => {
  const { schema, open } = await makePeople(t)
  await t.rejects(duringBuild(schema, () => open().prepare(people), async pid => {
    await withClient(client => client.query(`SELECT pg_cancel_backend(${pid})`))
    while (Object.values(await readIndexes(schema)).length === 0) await delay(10)
    await withClient(async client => {
      while ((await client.query(`SELECT 1 FROM pg_stat_activity WHERE pid = ${pid} AND state = 'active'`)).rowCount) {
        await delay(10)
      }
    })
  }), { code: '57014' })
  t.strictSame(await readIndexes(schema), { people_age_idx: false })
  await t.rejects(open({ migrate: 'check' }).prepare(people), {
    message: /\n\nDROP INDEX CONCURRENTLY IF EXISTS \S+_age_idx";\nCREATE INDEX CONCURRENTLY [^;]+\("age"[^]+;\n$/
  })
  const unused = open({ migrate: 'off' })
  await unused.prepare(people)
  t.same(await ids(unused, query({ where: [where('age', 'eq', 2)] }), 'people'), [2])
  await open().prepare(people)
  t.strictSame(await readIndexes(schema), wanted)
})

t.test('several that start together: one builds, the others wait for it', async t => {
  const { schema, open } = await makePeople(t)
  const all = Array.from({ length: 6 }, () => open({ poolSize: 3 }))
  await duringBuild(schema, () => prepareAll(all), async () => { await delay(300) })
  t.strictSame(await readIndexes(schema), wanted)
  for (const storage of all) t.same(await ids(storage, query({ where: [where('name', 'eq', 'n2')] }), 'people'), [2])
})

t.test('processes that start at once, at a table with rows', async t => {
  const { schema, open } = await makePeople(t)
  const storage = open()
  await storage.prepare({ ...things, indexes: [] })
  await storage.commit(insert('things', thing(100)))
  await startProcesses(3, connectionString, schema)
  t.equal((await ids(storage, query())).length, 4)
  await open({ migrate: 'check' }).prepare(things).then(() => t.pass('all is there'))
})

t.test('through pgbouncer, several that start together', needsPgbouncer, async t => {
  const { schema, open } = await makePeople(t)
  const url = await startPgbouncer(t, connectionString, 3)
  const all = Array.from({ length: 6 }, () => postgresStorage({ connectionString: url, schema, poolSize: 3 }))
  t.teardown(() => Promise.all(all.map(storage => storage.close())))
  await duringBuild(schema, () => prepareAll(all), async () => {
    const writer = open({ migrate: 'off', statementTimeout: 3000 })
    await writer.prepare(people)
    await writer.commit(insert('people', thing(4, { age: 4 })))
  })
  t.strictSame(await readIndexes(schema), wanted)
})

t.test('an index that is being built by hand is waited for', async t => {
  const { schema, open } = await makePeople(t)
  const client = new pg.Client({ connectionString })
  await client.connect()
  t.teardown(() => client.end())
  const build = `CREATE INDEX CONCURRENTLY people_age_idx ON "${schema}".people (age NULLS FIRST, id)`
  let preparing: Promise<void> | undefined
  await duringBuild(schema, async () => { await client.query(build) }, async () => {
    preparing = open().prepare(people)
    preparing.catch(() => {})
    await delay(500)
  })
  await preparing
  t.strictSame(await readIndexes(schema), wanted)
})

t.test('a connection that limits its statements has more time for an index', async t => {
  const { schema, open } = await makePeople(t)
  const pool = new pg.Pool({ connectionString, max: 2, statement_timeout: 500 })
  t.teardown(() => pool.end())
  const storage = open({ pool, connectionString: undefined } as never)
  await duringBuild(schema, () => storage.prepare(people), async () => { await delay(1000) })
  t.strictSame(await readIndexes(schema), wanted)
  t.match((await pool.query('SHOW statement_timeout')).rows, [{ statement_timeout: '500ms' }])
})

t.test('a pool of one connection builds indexes too', async t => {
  const { schema, open } = await makePeople(t)
  await open({ poolSize: 1 }).prepare(people)
  t.strictSame(await readIndexes(schema), wanted)
})

t.test('who has waited for another process for too long says so', async t => {
  const { schema, open } = await makePeople(t)
  await withClient(async client => {
    await client.query(`SELECT pg_advisory_lock(hashtext('fastify-dealbook ${schema}'))`)
    await t.rejects(open({ migrationTimeout: 300 }).prepare(people), { name: 'BusyError', message: /people/ })
    await client.query('SELECT pg_advisory_unlock_all()')
  })
  t.strictSame(await readIndexes(schema), {})
})

t.test('the index of a text that may be long has its beginning, and replaces the one from before', async t => {
  const { schema, open } = await makePeople(t)
  await withClient(client => client.query(`CREATE INDEX people_name_idx ON "${schema}".people (name NULLS FIRST, id);
    CREATE INDEX people_code_left_200_idx ON "${schema}".people (left(code, 200) NULLS FIRST, id)`))
  const storage = open()
  await storage.prepare(people)
  t.strictSame(await readIndexes(schema), {
    people_age_idx: true,
    // From when it was not short: it serves as well.
    people_code_left_200_idx: true,
    people_name_left_200_idx: true
  })
  await storage.commit(insert('people', thing(4, { code: 'c'.repeat(200), name: 'n'.repeat(50_000) })))
  t.same(await ids(storage, query({ where: [where('code', 'gte', 'c')], sort: ['-code'] }), 'people'), [4])
})

t.test('reads use the index that a text has, whole or of its beginning', async t => {
  const { schema } = await makePeople(t)
  const pool = new pg.Pool({ connectionString })
  t.teardown(() => pool.end())
  await withClient(client => client.query(`CREATE INDEX people_name_idx ON "${schema}".people (name NULLS FIRST, id);
    CREATE INDEX people_code_left_200_idx ON "${schema}".people (left(code, 200) NULLS FIRST, id)`))
  const listOrders = async (options: Partial<PostgresOptions>) => {
    const { recording, asked } = recordPostgres(pool)
    const storage = postgresStorage({ pool: recording, schema, ...options })
    t.teardown(() => storage.close())
    await storage.prepare(people)
    for (const sort of ['name', 'code']) await storage.find('people', query({ sort: [sort] }))
    const texts = [...asked.keys()]
    return ['name', 'code'].map(field => texts.some(text => text.includes(`ORDER BY left("${field}", 200)`)))
  }
  t.strictSame(await listOrders({ migrate: 'off' }), [false, true])
  t.strictSame(await listOrders({}), [true, true], 'the index of the name was replaced')
})

// As our connections read.
const asText = { getTypeParser: () => (value: unknown) => value } as unknown as pg.CustomTypesConfig

const sizes = shape('sizes', 'integer', [
  { name: 'label', kind: 'integer', optional: false },
  { name: 'size', kind: 'integer', optional: false, default: 5 }
])

t.test('an index of a field with a default is used, except in an existing table, where NULL may mean it', async t => {
  const schema = newSchema()
  const storage = postgresStorage({ connectionString, schema })
  t.teardown(async () => {
    await storage.close()
    await dropSchema(schema)
  })
  await storage.prepare(sizes)
  const readFields = async (isNullable: boolean) => await withClient(async client => {
    const run: Run = async (text, values) =>
      (await client.query({ text, values: [...values ?? []], rowMode: 'array', types: asText })).rows as unknown[][]
    const own = layOutOwnTable(sizes, postgresDialect, schema)
    await client.query(`ALTER TABLE ${own.table} ALTER size ${isNullable ? 'DROP' : 'SET'} NOT NULL`)
    const present = await readTableColumns(run, own.table)
    const mapped = layOutMappedTable(sizes, { table: 'sizes', schema }, present, postgresDialect)
    const listFields = async (layout: Layout) =>
      // In any order.
      (await readIndexed(run, layout)).indexes.filter(([first]) => first !== 'id').toSorted()
    return [await listFields(own), await listFields(mapped)]
  })
  await withClient(client => client.query(`CREATE INDEX ON "${schema}".sizes (size, id);
    CREATE INDEX ON "${schema}".sizes (label, size, id)`))
  const whole = [['label', 'size', 'id'], ['size', 'id']]
  t.strictSame(await readFields(true), [whole, [[], ['label']]])
  t.strictSame(await readFields(false), [whole, whole])
})
