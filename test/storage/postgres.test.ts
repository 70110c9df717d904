import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Test } from 'tap'
import t from 'tap'
import {
  ids, insert, note, notes, query, replace, settle, shape, thing, things, where
} from '../../lib/conformance/fixture.js'
import { storageConformance } from '../../lib/conformance/storage-conformance.js'
import type { Storage, Stored } from '../../lib/core/storage/storage.js'
import { ConflictError, ReadOnlyError } from '../../lib/core/storage/storage.js'
import type { PostgresOptions } from '../../lib/storage/postgres/postgres-storage.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { startServer } from '../postgres/server.js'
import { postgresUrl } from '../postgres/url.js'
import { isLong } from '../size.js'
import { assertFilled, defaulted } from './mapped-defaults.js'
import { starting, startProcesses } from './processes.js'

const connectionString = await postgresUrl()

// One pool for all cases: to connect anew for each would take longer than the cases themselves.
const pool = new pg.Pool({ connectionString, max: 8, allowExitOnIdle: true })
pool.on('error', () => {})

storageConformance(t.test, () => {
  const schema = newSchema()
  let storage = postgresStorage({ pool, schema })
  return {
    storage,
    async reopen () {
      await storage.close()
      storage = postgresStorage({ pool, schema })
      return storage
    },
    async dispose () {
      await storage.close()
      await dropSchema(schema)
    }
  }
})

/** A storage in a schema of its own, cleared away with the test. */
function fresh (
  t: Test,
  options: Partial<PostgresOptions> = {}
): { schema: string, open: (more?: Partial<PostgresOptions>) => Storage } {
  const schema = newSchema()
  const opened: Storage[] = []
  t.teardown(async () => {
    for (const storage of opened) await storage.close()
    await dropSchema(schema)
  })
  return {
    schema,
    open (more = {}) {
      const storage = postgresStorage({ connectionString, schema, poolSize: 4, ...options, ...more })
      opened.push(storage)
      return storage
    }
  }
}

async function sql (text: string): Promise<unknown[]> {
  return await withClient(async client => (await client.query(text)).rows as unknown[])
}

const people = shape('people', 'integer', [
  { name: 'fullName', kind: 'string', optional: false },
  { name: 'active', kind: 'boolean', optional: true }
])

t.test('a table has a typed column per field, in snake case', async t => {
  const { schema, open } = fresh(t)
  const storage = open()
  await storage.prepare(things)
  await storage.prepare(notes)
  await storage.commit(
    insert('things', thing(7, { dateTime: '2026-01-01T00:00:00.000Z', boolean: true, json: { a: 1 } }))
  )
  t.same(await sql(`SELECT attname || ' ' || format_type(atttypid, atttypmod) AS c FROM pg_attribute
    WHERE attrelid = '${schema}.things'::regclass AND attnum > 0`), [
    'id bigint', 'revision bigint', 'created_at timestamp(3) with time zone', 'updated_at timestamp(3) with time zone',
    'integer bigint', 'number double precision', 'string text', 'boolean boolean', 'date date',
    'date_time timestamp(3) with time zone', 'mood text', 'json json'
  ].map(c => ({ c })))
  t.same(
    await sql(`SELECT collname FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation
      WHERE attrelid = '${schema}.notes'::regclass AND attname IN ('id', 'text')`),
    [{ collname: 'C' }, { collname: 'C' }]
  )
  t.same(
    await sql(
      `SELECT id, boolean, json->>'a' AS a, extract(epoch FROM date_time)::int AS epoch FROM "${schema}".things`
    ),
    [{ id: '7', boolean: true, a: '1', epoch: 1767225600 }]
  )
})

t.test('processes that start at once', async t => {
  const { schema } = fresh(t)
  await startProcesses(starting, connectionString, schema)
  t.same(await sql(`SELECT count(*)::int AS n FROM "${schema}".things`), [{ n: starting }])
})

for (const isolation of ['repeatable read', 'serializable']) {
  t.test(`a database whose transactions are ${isolation} unless told otherwise`, async t => {
    const database = newSchema()
    await sql(`CREATE DATABASE "${database}"`)
    await sql(`ALTER DATABASE "${database}" SET default_transaction_isolation = '${isolation}'`)
    const url = new URL(connectionString)
    url.pathname = database
    const count = isLong ? 60 : 20
    const storages = Array.from({ length: count }, () =>
      postgresStorage({ connectionString: url.href, schema: 'app', poolSize: 2, connectionTimeout: 60_000 }))
    t.teardown(async () => {
      for (const storage of storages) await storage.close()
      await sql(`DROP DATABASE "${database}"`)
    })
    // Who waited for the other to make the tables must see them.
    await Promise.all(storages.map(async (storage, id) => {
      await storage.prepare(things)
      await storage.commit(insert('things', thing(id)))
    }))
    for (const storage of storages.splice(3)) await storage.close()
    const [one] = storages as [Storage]
    t.equal((await ids(one, query({ limit: 100 }))).length, count)
    await hammer(storages, 10)
    t.match(await one.get('things', 0), { integer: 3 * 2 * 10, revision: 1 + 3 * 2 * 10 })
  })
}

/** Two writers of each storage raise one number so many times each. */
async function hammer (storages: readonly Storage[], times: number): Promise<void> {
  await Promise.all([...storages, ...storages].map(async storage => {
    for (let done = 0; done < times;) {
      const item = await storage.get('things', 0) as Stored
      const next = { ...item, integer: Number(item['integer'] ?? 0) + 1, revision: item.revision + 1 }
      try {
        await storage.commit([replace('things', next)])
        done++
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error
      }
    }
  }))
}

t.test('a column whose type does not fit is refused by name', async t => {
  const { schema, open } = fresh(t)
  await sql(`CREATE SCHEMA "${schema}";
    CREATE TABLE "${schema}".people (id bigint PRIMARY KEY, revision bigint, full_name integer)`)
  await t.rejects(open().prepare(people), {
    message: /people: the column "full_name" .* integer, .* "fullName" \(string, text/
  })
  t.equal(
    (await sql(`SELECT 1 FROM pg_attribute WHERE attrelid = '${schema}.people'::regclass AND attnum > 0`)).length,
    3,
    'nothing was added'
  )
})

t.test('a table from before defaults: rows are filled, and the column has it from then on', async t => {
  const { schema, open } = fresh(t)
  await sql(`CREATE SCHEMA "${schema}";
    CREATE TABLE "${schema}".visits (
      id bigint PRIMARY KEY, revision bigint, created_at timestamptz, updated_at timestamptz, place text COLLATE "C",
      notes json
    );
    CREATE INDEX visits_place_idx ON "${schema}".visits (place NULLS FIRST, id);
    INSERT INTO "${schema}".visits (id, revision, place, notes) VALUES (1, 1, NULL, NULL), (2, 1, 'Rome', '[2]')`)
  const visits = shape('visits', 'integer', [
    { name: 'place', kind: 'string', optional: false, default: 'it\'s \\here' },
    { name: 'notes', kind: 'json', optional: false, default: [] }
  ], [['place']])
  const storage = open()
  await storage.prepare(visits)
  const { items } = await storage.find('visits', query({ sort: ['-place'] }))
  t.strictSame(items, [
    { id: 1, revision: 1, place: 'it\'s \\here', notes: [] }, { id: 2, revision: 1, place: 'Rome', notes: [2] }
  ])
  await sql(`INSERT INTO "${schema}".visits (id, revision) VALUES (3, 1)`)
  t.match(await storage.get('visits', 3), { place: 'it\'s \\here', notes: [] }, 'for every writer')
  await sql(`UPDATE "${schema}".visits SET place = NULL WHERE id = 3`)
  await open().prepare(visits)
  t.match(await storage.get('visits', 3), { place: 'it\'s \\here' }, 'looked for where there is an index')
})

t.test('in a mapped table NULL is the default', async t => {
  const { schema, open } = fresh(t)
  await sql(`CREATE SCHEMA "${schema}";
    CREATE TABLE "${schema}".crm_people (id integer PRIMARY KEY, full_name text, active boolean, age real NOT NULL);
    INSERT INTO "${schema}".crm_people VALUES (1, NULL, NULL, 5), (2, 'bob', false, 6)`)
  const storage = open({ tables: { people: { table: 'crm_people', schema } } })
  await storage.prepare(shape('people', 'integer', defaulted))
  await assertFilled(t, storage)
})

t.test('a mapped table without a revision is read as it is, and only read', async t => {
  const { schema, open } = fresh(t)
  await sql(`CREATE SCHEMA "${schema}";
    CREATE TABLE "${schema}".crm_people (
      person_id integer PRIMARY KEY, full_name varchar(50), active boolean, secret text
    );
    INSERT INTO "${schema}".crm_people VALUES (1, 'ann', true, 'x'), (2, 'Ann', false, 'y'), (3, 'bob', NULL, 'z')`)
  const storage = open({ tables: { people: { table: 'crm_people', schema, columns: { id: 'person_id' } } } })
  await storage.prepare(people)
  const epoch = '1970-01-01T00:00:00.000Z'
  t.equal(
    (await sql(`SELECT 1 FROM pg_attribute WHERE attrelid = '${schema}.crm_people'::regclass AND attnum > 0`)).length,
    4,
    'not altered'
  )
  t.same(await storage.get('people', 1), {
    id: 1,
    revision: 0,
    createdAt: epoch,
    updatedAt: epoch,
    fullName: 'ann',
    active: true
  })
  t.same(
    await ids(storage, query({ where: [where('fullName', 'gt', 'Z')], sort: ['fullName'] }), 'people'),
    [1, 3],
    'by code point'
  )
  t.same(
    await ids(
      storage,
      query({ where: [where('revision', 'eq', 0), where('createdAt', 'lte', epoch)], sort: ['-updatedAt', '-id'] }),
      'people'
    ),
    [3, 2, 1]
  )
  t.same(await ids(storage, query({ where: [where('fullName', 'regex', '^a')], sort: ['createdAt'] }), 'people'), [1])
  t.same(await ids(storage, query({ where: [where('active', 'ne', true)] }), 'people'), [2, 3])
  await t.rejects(storage.commit(insert('people', thing(4, { fullName: 'dan' }))), new ReadOnlyError('people'))
  await t.rejects(open({ tables: { people: { table: 'crm_people', schema } } }).prepare(people), {
    message: /no column "id" for the field "id"; it has person_id/
  })
  await t.rejects(open({ tables: { people: { table: 'nobody', schema } } }).prepare(people), {
    message: /the mapped table "nobody" does not exist/
  })
})

t.test('a mapped table with a revision is written; what it refuses, it refuses to one commit only', async t => {
  const { schema, open } = fresh(t)
  await sql(`CREATE SCHEMA "${schema}";
    CREATE TABLE "${schema}".crm_people (
      id bigint PRIMARY KEY, "Full Name" text UNIQUE, active boolean, version bigint, note text DEFAULT 'new'
    );
    INSERT INTO "${schema}".crm_people VALUES (1, 'ann', true, 4, 'kept')`)
  const storage = open({
    tables: { people: { table: 'crm_people', schema, columns: { fullName: 'Full Name', revision: 'version' } } }
  })
  await storage.prepare(people)
  const attempts = ['bob', 'ann', 'cid'].map((fullName, index) =>
    storage.commit(insert('people', thing(index + 2, { fullName })))
  )
  const { fulfilled, reasons } = await settle(attempts)
  t.equal(fulfilled, 2)
  t.match(reasons, [{ name: 'ConstraintError', id: 3, rule: 'unique', fields: ['fullName'] }])
  await storage.commit([replace('people', thing(1, { fullName: 'Anna' }, 5))])
  t.same(await sql(`SELECT id::int, "Full Name", note, version::int FROM "${schema}".crm_people ORDER BY id`), [
    { id: 1, 'Full Name': 'Anna', note: 'kept', version: 5 },
    { id: 2, 'Full Name': 'bob', note: 'new', version: 1 },
    { id: 4, 'Full Name': 'cid', note: 'new', version: 1 }
  ])
})

t.test('the text of a mapped table, whatever its columns can hold', async t => {
  const { schema, open } = fresh(t)
  await sql(`CREATE SCHEMA "${schema}";
    CREATE TABLE "${schema}".readings (
      id bigint PRIMARY KEY, exact numeric, short real, large bigint, at timestamptz, day date, data jsonb
    );
    INSERT INTO "${schema}".readings VALUES
      (1, 1.10, 1.1, 9007199254740993, '2026-01-31 12:00:00.1234+01', '2026-02-28', '{"b": [1, 2], "a": 1.0}'),
      (2, 'NaN', 'Infinity', -9007199254740993, NULL, NULL, '"x"'),
      (3, 1e400, 1e-20, 7, 'infinity', '0044-03-15 BC', NULL),
      (9007199254740993, 12345678901234567890, 16777217, 0, '12026-01-01', '12026-01-01', 'null'),
      (9007199254740995, NULL, NULL, NULL, NULL, NULL, NULL)`)
  const storage = open({ tables: { readings: { table: 'readings', schema } } })
  await storage.prepare(shape('readings', 'integer', [
    { name: 'exact', kind: 'number', optional: true },
    { name: 'short', kind: 'number', optional: true },
    { name: 'large', kind: 'integer', optional: true },
    { name: 'at', kind: 'date-time', optional: true },
    { name: 'day', kind: 'date', optional: true },
    { name: 'data', kind: 'json', optional: true }
  ]))
  for (const members of [['id', 'exact', 'short', 'large', 'at', 'day', 'revision'], ['large', 'id'], ['data']]) {
    for (const limit of [1, 4, 5]) {
      const { items } = await storage.find('readings', query({ limit }))
      const { text, last, count } = await (storage as Required<Storage>).findText('readings', query({ limit }), members)
      const texts = items.map(item => JSON.stringify(Object.fromEntries(members.map(name => [name, item[name]]))))
      t.equal(text, texts.join())
      t.strictSame([count, last], [limit, { id: items.at(-1)?.id }])
    }
  }
})

t.test('two storages on one database: commits of both are decided as by one', async t => {
  const { open } = fresh(t)
  const [one, two] = [open(), open()]
  await Promise.all([one.prepare(things), two.prepare(things), one.prepare(notes), two.prepare(notes)])
  await one.commit(insert('things', ...Array.from({ length: 5 }, (_, id) => thing(id, { integer: 0 }))))
  let notesWritten = 0
  const raise = async (storage: Storage, times: number): Promise<void> => {
    while (times > 0) {
      const pair = (await storage.find('things', query())).items.slice(times % 4, times % 4 + 2)
      const changes = pair.map(item =>
        replace('things', { ...item, integer: Number(item['integer']) + 1, revision: item.revision + 1 })
      )
      try {
        await storage.commit([
          ...(times % 2 === 0 ? changes : changes.reverse()),
          ...insert('notes', note(`${notesWritten++}`))
        ])
        times--
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error
      }
    }
  }
  await Promise.all([one, two].flatMap(storage => Array.from({ length: 5 }, () => raise(storage, 8))))
  const { items } = await one.find('things', query())
  t.equal(items.reduce((sum, item) => sum + Number(item['integer']), 0), 2 * 5 * 8 * 2)
  t.ok(items.every(item => item.revision === Number(item['integer']) + 1))
  t.equal((await one.find('notes', query({ limit: 0, count: true }))).total, 2 * 5 * 8)
  const inserts = Array.from({ length: 100 }, (_, index) =>
    (index % 2 === 0 ? one : two).commit(insert('notes', note('same'), note(`other ${index}`)))
  )
  t.equal((await settle(inserts)).fulfilled, 1)
  t.equal((await ids(one, query({ where: [where('id', 'regex', '^other')] }), 'notes')).length, 1)
})

t.test('overtaken while it waits, a commit is decided by what is there then', async t => {
  const { schema, open } = fresh(t)
  const storage = open()
  await Promise.all([storage.prepare(things), storage.prepare(notes)])
  await storage.commit(insert('things', thing(1), thing(2)))
  const stamps = 'created_at, updated_at) VALUES (\'a\', \'theirs\', 1, now(), now())'
  await withClient(async client => {
    await client.query(
      `BEGIN; INSERT INTO "${schema}".notes (id, text, revision, ${stamps}; UPDATE "${schema}".things SET revision = 2`
    )
    const duplicate = storage.commit([...insert('things', thing(3)), ...insert('notes', note('b'), note('a'))])
    const fits = storage.commit([replace('things', thing(1, { integer: 1 }, 3))])
    const stale = storage.commit([replace('things', thing(2, { integer: 1 }, 2))])
    for (const attempt of [duplicate, fits, stale]) attempt.catch(() => {})
    await delay(100)
    await client.query('COMMIT')
    await t.rejects(duplicate, { name: 'DuplicateError', family: 'notes', id: 'a' })
    await fits
    await t.rejects(stale, { name: 'ConflictError', family: 'things', id: 2 })
  })
  t.same((await storage.find('things', query())).items.map(({ id, revision }) => [id, revision]), [[1, 3], [2, 2]])
  t.same((await storage.find('notes', query())).items.map(item => item['text']), ['theirs'])
})

t.test('a locked row holds up commits to that row only', async t => {
  const { schema, open } = fresh(t)
  const storage = open({ statementTimeout: 1000 })
  await storage.prepare(things)
  await storage.commit(insert('things', thing(1), thing(2)))
  await withClient(async client => {
    await client.query(`BEGIN; SELECT 1 FROM "${schema}".things WHERE id = 1 FOR UPDATE`)
    const stuck = storage.commit([replace('things', thing(1, {}, 2))])
    stuck.catch(() => {})
    await delay(50)
    await storage.commit([replace('things', thing(2, {}, 2))])
    await t.rejects(stuck, { name: 'BusyError' }, 'it has waited for as long as a statement may take')
    await client.query('ROLLBACK')
  })
  await storage.commit([replace('things', thing(1, {}, 2))])
})

t.test('a pool of the host, with parsers of its own, stays open', async t => {
  const { open, schema } = fresh(t)
  const pool = new pg.Pool({ connectionString, max: 2, types: { getTypeParser: () => () => 'parsed by the host' } })
  t.teardown(() => pool.end())
  await open().prepare(things)
  const storage = postgresStorage({ pool, schema })
  await storage.prepare(things)
  const item = thing(1, { number: 0.5, date: '2026-01-31', boolean: false })
  await storage.commit(insert('things', item))
  t.same(await storage.get('things', 1), item)
  await storage.close()
  t.equal((await pool.query('SELECT 1')).rowCount, 1)
  t.equal(pool.listenerCount('error'), 0)
})

t.test('without prepared statements nothing stays in the session', async t => {
  const { schema } = fresh(t)
  const pool = new pg.Pool({ connectionString, max: 1 })
  t.teardown(() => pool.end())
  const storage = postgresStorage({ pool, schema, preparedStatements: false })
  await storage.prepare(things)
  for (let times = 0; times < 3; times++) await storage.find('things', query())
  t.strictSame((await pool.query('SELECT name FROM pg_prepared_statements')).rows, [])
  await storage.close()
})

t.test('whatever clients ask for, a connection prepares a bounded number of statements', async t => {
  const { schema } = fresh(t)
  const pool = new pg.Pool({ connectionString, max: 1 })
  t.teardown(() => pool.end())
  const storage = postgresStorage({ pool, schema })
  await storage.prepare(things)
  for (let limit = 1; limit <= 300; limit++) {
    await storage.find('things', query({ limit }))
    await storage.find('things', query({ limit, where: [where('integer', 'gt', limit)] }))
  }
  await storage.commit(insert('things', thing(1)))
  t.equal((await storage.get('things', 1))?.id, 1)
  await storage.close()
  const { rows } = await pool.query<{ statement: string }>('SELECT statement FROM pg_prepared_statements')
  t.ok(rows.length > 50 && rows.length <= 200, `${rows.length} prepared`)
  for (const text of ['INSERT INTO', '"id" = $1']) {
    t.ok(rows.some(({ statement }) => statement.includes(text)), `${text}: what a family itself needs is`)
  }
})

t.test('a prepared page is planned with its values each time, others are not', async t => {
  const { schema } = fresh(t)
  const pool = new pg.Pool({ connectionString, max: 1 })
  t.teardown(() => pool.end())
  const storage = postgresStorage({ pool, schema })
  await storage.prepare(things)
  await storage.commit([1, 2, 3].flatMap(id => insert('things', thing(id, { integer: id }))))
  for (let n = 1; n <= 12; n++) {
    const { items } = await storage.find('things', query({ where: [where('integer', 'gte', 2)] }))
    t.equal(items.length, 2)
    await storage.get('things', 1)
  }
  await storage.close()
  const { rows } = await pool.query<{ statement: string, planned: number }>(
    'SELECT statement, custom_plans::int AS planned FROM pg_prepared_statements')
  const find = (text: string): number | undefined => rows.find(({ statement }) => statement.includes(text))?.planned
  t.equal(find('"integer" >='), 12)
  t.equal(find('"id" = $1'), 5)
})

t.test('connections that the server ends are replaced', async t => {
  const { open, schema } = fresh(t)
  const storage = open()
  await storage.prepare(things)
  await storage.commit(insert('things', thing(1)))
  // Its text is the last by which the connection is known.
  await storage.get('things', 1)
  const ended = await sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND state = 'idle' AND query LIKE '%${schema}%'`)
  t.ok(ended.length > 0)
  await delay(50)
  t.equal((await storage.get('things', 1))?.id, 1)
  await storage.commit(insert('things', thing(2)))
})

t.test('the server goes away and comes back', async t => {
  const server = await startServer()
  const storage = postgresStorage({ connectionString: server.url, connectionTimeout: 500, statementTimeout: 1000 })
  t.teardown(async () => {
    await storage.close()
    await server.dispose()
  })
  await storage.prepare(things)
  await storage.commit(insert('things', thing(1)))
  await server.stop()
  // A request that is stuck would run into the time limit of the file.
  await t.rejects(storage.get('things', 1))
  await t.rejects(storage.find('things', query()))
  await t.rejects(storage.commit(insert('things', thing(2))))
  await t.rejects(Promise.all(Array.from({ length: 30 }, (_, id) => storage.commit(insert('things', thing(id + 10))))))
  await server.start()
  t.equal((await storage.get('things', 1))?.id, 1)
  await storage.commit(insert('things', thing(3)))
  t.same(await ids(storage, query()), [1, 3])
})

t.test('a server that cannot be reached, or refuses, is named, and no password', async t => {
  const url = new URL(connectionString)
  const there = `PostgreSQL, ${url.host}`
  const table: [url: string, message: string | RegExp, code: string][] = [
    ['postgres://ann:secret@127.0.0.1:1/crm', /^PostgreSQL, 127\.0\.0\.1:1\/crm: connect ECONNREFUSED/, 'ECONNREFUSED'],
    ['postgres://ann:secret@localhost:1/crm', /^PostgreSQL, localhost:1\/crm: .*ECONNREFUSED/, 'ECONNREFUSED'],
    ['postgres://ann:secret@127.0.0.1:1,127.0.0.1:2/crm', /^PostgreSQL, 127.0.0.1:1,127.0.0.1:2.crm: /, 'ECONNREFUSED'],
    ['postgres:///crm?host=/no/where&user=ann&password=secret', /^PostgreSQL, \/no\/where\/crm: .*ENOENT/, 'ENOENT'],
    [Object.assign(url, { pathname: '/nowhere' }).href, `${there}/nowhere: database "nowhere" does not exist`, '3D000']
  ]
  for (const [connectionString, message, code] of table) {
    const storage = postgresStorage({ connectionString })
    await t.rejects(storage.prepare(people), { message, code }, connectionString)
    const error = await storage.prepare(people).catch(error => error)
    t.notMatch(error.message, 'secret')
    await storage.close()
  }
})
