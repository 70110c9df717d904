import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import Fastify from 'fastify'
import t from 'tap'
import {
  ids, insert, query, replace, settle, shape, thing, things, where
} from '../../lib/conformance/fixture.js'
import { storageConformance } from '../../lib/conformance/storage-conformance.js'
import type { Field, Storage } from '../../lib/core/storage/storage.js'
import { ReadOnlyError } from '../../lib/core/storage/storage.js'
import { checkHealth, deals } from '../../lib/index.js'
import { openDatabase } from '../../lib/storage/sqlite/driver.js'
import type { SqliteDatabase } from '../../lib/storage/sqlite/sqlite-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { isLong } from '../size.js'
import { assertFilled, defaulted } from './mapped-defaults.js'
import { starting, startProcesses } from './processes.js'
import { makeSqlite } from './small-limits.js'

const folder = await mkdtemp(join(tmpdir(), 'dealbook-sqlite-'))
t.teardown(() => rm(folder, { recursive: true }))
let files = 0
const newFile = (): string => join(folder, `${++files}.db`)

storageConformance(t.test, () => {
  const file = newFile()
  let storage = sqliteStorage({ file })
  return {
    storage,
    async reopen () {
      await storage.close()
      storage = sqliteStorage({ file })
      return storage
    },
    dispose: () => storage.close()
  }
})

const people = shape('people', 'integer', [
  { name: 'fullName', kind: 'string', optional: false },
  { name: 'active', kind: 'boolean', optional: true }
])

// Opened by the same driver: two copies of SQLite in one process do not see each other's locks.
async function rowsOf (file: string, sql: string): Promise<unknown[]> {
  const database = await openDatabase(file)
  try {
    return database.prepare(sql).all().map(row => ({ ...row as object }))
  } finally {
    database.close()
  }
}

t.test('the file is in WAL mode and every open one waits for the disk', async t => {
  const file = newFile()
  for (let opens = 0; opens < 2; opens++) {
    const database = await openDatabase(file)
    const pragma = (name: string): unknown => Object.values(database.prepare(`PRAGMA ${name}`).all()[0] as object)[0]
    t.equal(pragma('journal_mode'), 'wal')
    t.equal(pragma('synchronous'), 2)
    t.same(Object.values(database.prepare('PRAGMA busy_timeout').all()[0] as object), [0], 'SQLite itself never waits')
    database.close()
  }
})

t.test('a table has a typed column per field, in snake case', async t => {
  const file = newFile()
  const storage = sqliteStorage({ file })
  await storage.prepare(things)
  await storage.commit(
    insert('things', thing(7, { dateTime: '2026-01-01T00:00:00.000Z', boolean: true, json: { a: 1 } }))
  )
  await storage.close()
  t.same(await rowsOf(file, 'SELECT id, revision, created_at, date_time, boolean, json, string FROM things'), [
    {
      id: 7,
      revision: 1,
      created_at: '2026-01-02T03:04:05.678Z',
      date_time: '2026-01-01T00:00:00.000Z',
      boolean: 1,
      json: '{"a":1}',
      string: null
    }
  ])
  t.same(
    (await rowsOf(file, "SELECT type FROM pragma_table_info('things')")).map(row => (row as { type: string }).type),
    [
      'INTEGER', 'INTEGER', 'DATETIME TEXT', 'DATETIME TEXT', 'INTEGER', 'REAL', 'TEXT', 'BOOLEAN', 'DATE TEXT',
      'DATETIME TEXT', 'TEXT', 'JSON TEXT'
    ]
  )
  t.same(
    (await rowsOf(file, "SELECT name FROM pragma_index_list('things') ORDER BY name")).map(
      row => (row as { name: string }).name
    ),
    ['things_integer_idx', 'things_mood_date_idx', 'things_string_idx', 'things_string_integer_number_id_idx']
  )
})

t.test('processes that start at once', async t => {
  const file = newFile()
  await startProcesses(starting, file)
  t.same((await rowsOf(file, 'SELECT id FROM things')).length, starting)
})

t.test('a file that cannot be opened is named', async t => {
  const folder = t.testdir({ 'text.db': 'this is no database, '.repeat(100) })
  for (const [file, message] of [
    [`${folder}/nowhere/a.db`, 'unable to open database file'],
    [`${folder}/text.db`, 'file is not a database']
  ] as const) {
    const storage = sqliteStorage({ file })
    const cause = { message: new RegExp(`${message}$`) }
    await t.rejects(storage.prepare(people), { message: new RegExp(`^SQLite, ${file}: .*${message}$`), cause })
    await storage.close()
  }
})

t.test('a file that is removed or replaced underneath: no write is acknowledged, and health shows it', async t => {
  const away = (file: string): Promise<void> => rename(file, `${file}.away`)
  type Case = [what: string, open: (file: string) => Promise<object>, change: (file: string) => Promise<void>]
  const cases: Case[] = [
    ['removed', async file => ({ file }), away],
    ['replaced', async file => ({ file }), async file => { await away(file); await writeFile(file, '') }],
    ['removed, of the host', async file => ({ database: await openDatabase(file) }), away]
  ]
  for (const [what, open, change] of cases) {
    const file = newFile()
    const lines: { level: number, err?: { message: string } }[] = []
    const stream = { write: (line: string) => { lines.push(JSON.parse(line)) } }
    const app = Fastify({ logger: { level: 'error', stream } })
    const options = await open(file)
    const storage = sqliteStorage(options as { file: string })
    app.register(deals, { storage, version: 'v1' })
    const create = async (name: string) =>
      (await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name, price: 1 } })).statusCode
    t.strictSame([await create('a'), await create('b')], [201, 201], what)
    t.equal((await checkHealth(storage)).healthy, true)
    await change(file)
    t.strictSame([await create('c'), await create('d')], [503, 503], what)
    t.equal((await checkHealth(storage)).healthy, false, what)
    t.equal((await app.inject('/rest/v1/deals')).statusCode, 503, what)
    const message = `${file} was ${what.replace(/,.*/, '')} while it was open; put it back and restart the process`
    t.strictSame(lines.map(({ err }) => err?.message), [message, message, message], what)
    await app.close()
    await storage.close()
    if ('database' in options) (options.database as SqliteDatabase).close()
  }
})

t.test('where nothing is written, health shows that the file, or its log, is gone', async t => {
  const ann = insert('people', thing(1, { fullName: 'Ann' }))
  await Promise.all(['', '-wal'].map(async end => {
    const file = newFile()
    const storage = sqliteStorage({ file })
    await storage.prepare(people)
    await storage.commit(ann)
    t.equal((await checkHealth(storage)).healthy, true)
    await rename(`${file}${end}`, `${file}${end}.away`)
    // It is checked once a second.
    while ((await checkHealth(storage)).healthy) await delay(50)
    const message = `${file}${end} was removed while it was open; put it back and restart the process`
    await t.rejects(storage.commit(ann), { message })
    await storage.close()
  }))
})

t.test('a file whose path cannot be read for a while is neither removed nor replaced', async t => {
  const path = join(folder, 'path')
  await mkdir(path)
  const storage = sqliteStorage({ file: join(path, 'a.db') })
  t.teardown(() => storage.close())
  await storage.prepare(people)
  await rename(path, `${path}.away`)
  // ELOOP, since permissions are nothing to root.
  await symlink(path, path)
  await storage.commit(insert('people', thing(1, { fullName: 'Ann' })))
  await rm(path)
  await rename(`${path}.away`, path)
  await storage.commit(insert('people', thing(2, { fullName: 'Bob' })))
  t.strictSame(await ids(storage, query(), 'people'), [1, 2])
})

t.test('a database in memory has no file to lose', async t => {
  const storage = sqliteStorage({ file: ':memory:' })
  t.teardown(() => storage.close())
  await storage.prepare(people)
  await storage.commit(insert('people', thing(1, { fullName: 'Ann' })))
  t.equal((await checkHealth(storage)).healthy, true)
})

t.test('a column whose type does not fit is refused by name', async t => {
  const file = newFile()
  const database = await openDatabase(file)
  database.exec(`CREATE TABLE people (
    id INTEGER PRIMARY KEY, revision INTEGER, created_at TEXT, updated_at TEXT, full_name INTEGER
  )`)
  database.close()
  const storage = sqliteStorage({ file })
  t.teardown(() => storage.close())
  await t.rejects(storage.prepare(people), {
    message: /people: the column "full_name" .* INTEGER.* "fullName" \(string, TEXT\)/
  })
  t.same((await rowsOf(file, 'SELECT name FROM pragma_table_info(\'people\')')).length, 5, 'nothing was added')
})

t.test('a file from before defaults and types were told: rows are filled, and what cannot be is refused', async t => {
  const file = newFile()
  const database = await openDatabase(file)
  const then = '2025-12-31T12:00:00.000Z'
  database.exec(`CREATE TABLE visits (
      id INTEGER PRIMARY KEY, revision INTEGER, created_at TEXT, updated_at TEXT, place TEXT, day TEXT, paid INTEGER,
      notes TEXT, size INTEGER
    );
    CREATE INDEX visits_place_idx ON visits (place);
    CREATE INDEX visits_day_idx ON visits (day);
    CREATE INDEX visits_paid_idx ON visits (paid);
    INSERT INTO visits VALUES
      (1, 1, '${then}', '${then}', NULL, '2026-01-31', 1, NULL, NULL),
      (2, 1, '${then}', '${then}', 'Rome', NULL, 0, '[2]', 5)`)
  database.close()
  const prepare = async (...fields: readonly Field[]): Promise<Storage> => {
    const storage = sqliteStorage({ file })
    t.teardown(() => storage.close())
    const indexes = fields.filter(({ kind }) => kind !== 'json').map(({ name }) => [name])
    await storage.prepare(shape('visits', 'integer', fields, indexes))
    return storage
  }
  const place: Field = { name: 'place', kind: 'string', optional: false, default: 'it\'s here' }
  const notes: Field = { name: 'notes', kind: 'json', optional: false, default: [] }
  const storage = await prepare(place, { name: 'day', kind: 'date', optional: true },
    { name: 'paid', kind: 'boolean', optional: false }, notes)
  const { items } = await storage.find('visits', query())
  t.strictSame(items.map(({ createdAt, updatedAt, revision, ...item }) => item), [
    { id: 1, place: 'it\'s here', day: '2026-01-31', paid: true, notes: [] },
    { id: 2, place: 'Rome', paid: false, notes: [2] }
  ])
  t.same(await ids(storage, query({ where: [where('place', 'eq', 'it\'s here')] }), 'visits'), [1])
  const refused: Field[] = [
    { name: 'place', kind: 'date', optional: true }, { name: 'place', kind: 'json', optional: true },
    { name: 'day', kind: 'date-time', optional: true }, { name: 'size', kind: 'boolean', optional: true }
  ]
  for (const field of refused) {
    await rowsOf(file, 'CREATE INDEX IF NOT EXISTS visits_size_idx ON visits (size)')
    await t.rejects(prepare(field), { code: 'FST_DEALBOOK_COLUMN_TYPE' }, `${field.name} as ${field.kind}`)
  }
})

t.test('in a mapped table NULL is the default, and an index over it is of no use', async t => {
  const file = newFile()
  const database = await openDatabase(file)
  database.exec(`CREATE TABLE crm_people (
      id INTEGER PRIMARY KEY, full_name TEXT COLLATE NOCASE, active INTEGER, age REAL NOT NULL
    );
    CREATE INDEX names ON crm_people (full_name);
    CREATE INDEX ages ON crm_people (age);
    INSERT INTO crm_people VALUES (1, NULL, NULL, 5), (2, 'bob', 0, 6)`)
  database.close()
  const storage = sqliteStorage({ file, tables: { people: { table: 'crm_people' } } })
  t.teardown(() => storage.close())
  await storage.prepare(shape('people', 'integer', defaulted))
  await assertFilled(t, storage)
})

t.test('two fields for one column, two families for one table', async t => {
  const storage = sqliteStorage({ file: newFile() })
  t.teardown(() => storage.close())
  const twice = shape('twins', 'integer', [
    { name: 'nickName', kind: 'string', optional: true },
    { name: 'nick_name', kind: 'string', optional: true }
  ])
  await t.rejects(storage.prepare(twice), { message: /"nickName" and "nick_name" would share the column "nick_name"/ })
  await storage.prepare(shape('line-items', 'integer', []))
  await t.rejects(storage.prepare(shape('lineItems', 'integer', [])), {
    message: /"line-items" and "lineItems" would share the table "line_items"/
  })
})

t.test('a mapped table without a revision is read as it is, and only read', async t => {
  const file = newFile()
  const database = await openDatabase(file)
  database.exec(`CREATE TABLE crm_people (
      person_id INTEGER PRIMARY KEY, full_name TEXT COLLATE NOCASE, active INTEGER, secret TEXT
    );
    INSERT INTO crm_people VALUES (1, 'ann', 1, 'x'), (2, 'Ann', 0, 'y'), (3, 'bob', NULL, 'z')`)
  database.close()
  const storage = sqliteStorage({ file, tables: { people: { table: 'crm_people', columns: { id: 'person_id' } } } })
  t.teardown(() => storage.close())
  const epoch = '1970-01-01T00:00:00.000Z'
  const before = await rowsOf(file, 'SELECT sql FROM sqlite_master')
  await storage.prepare(people)
  t.same(await rowsOf(file, 'SELECT sql FROM sqlite_master'), before, 'not altered')
  t.same(await storage.get('people', 1), {
    id: 1,
    revision: 0,
    createdAt: epoch,
    updatedAt: epoch,
    fullName: 'ann',
    active: true
  })
  t.same(await ids(storage, query({ where: [where('fullName', 'eq', 'ann')] }), 'people'), [1], 'the case counts')
  t.same(await ids(storage, query({ sort: ['fullName'] }), 'people'), [2, 1, 3])
  t.same(
    await ids(
      storage,
      query({ where: [where('revision', 'eq', 0), where('createdAt', 'lte', epoch)], sort: ['-updatedAt', '-id'] }),
      'people'
    ),
    [3, 2, 1]
  )
  t.same(await ids(storage, query({ where: [where('fullName', 'regex', '^a')], sort: ['createdAt'] }), 'people'), [1])
  await t.rejects(storage.commit(insert('people', thing(4, { fullName: 'dan' }))), new ReadOnlyError('people'))
})

t.test('a mapped table with a revision is written', async t => {
  const file = newFile()
  const database = await openDatabase(file)
  database.exec(`CREATE TABLE crm_people (
      id INTEGER PRIMARY KEY, "Full Name" TEXT, active INTEGER, version INTEGER, note TEXT DEFAULT 'new'
    );
    INSERT INTO crm_people VALUES (1, 'ann', 1, 4, 'kept')`)
  database.close()
  const storage = sqliteStorage({
    file,
    tables: { people: { table: 'crm_people', columns: { fullName: 'Full Name', revision: 'version' } } }
  })
  t.teardown(() => storage.close())
  await storage.prepare(people)
  await storage.commit([
    replace('people', thing(1, { fullName: 'Anna' }, 5)),
    ...insert('people', thing(2, { fullName: 'bob' }))
  ])
  await t.rejects(storage.commit([replace('people', thing(1, { fullName: 'x' }, 5))]), {
    name: 'ConflictError',
    family: 'people',
    id: 1
  })
  t.same(await rowsOf(file, 'SELECT * FROM crm_people'), [
    { id: 1, 'Full Name': 'Anna', active: null, version: 5, note: 'kept' },
    { id: 2, 'Full Name': 'bob', active: null, version: 1, note: 'new' }
  ])
})

t.test('a mapping that does not fit says what is missing', async t => {
  const file = newFile()
  const database = await openDatabase(file)
  database.exec('CREATE TABLE crm_people (id INTEGER PRIMARY KEY)')
  database.close()
  const prepared = (tables: Parameters<typeof sqliteStorage>[0]['tables']): Promise<void> => {
    const storage = sqliteStorage({ file, tables: tables ?? {} })
    return storage.prepare(people).finally(() => storage.close())
  }
  await t.rejects(prepared({ people: { table: 'nobody' } }), { message: /the mapped table "nobody" does not exist/ })
  await t.rejects(prepared({ people: { table: 'crm_people' } }), {
    message: /no column "full_name" for the field "fullName"; it has id/
  })
  await t.rejects(prepared({ people: { table: 'crm_people', columns: { name: 'x' } } }), {
    message: /maps the field "name", which the family does not have/
  })
})

t.test('two storages on one file', async t => {
  const file = newFile()
  const [one, two] = [sqliteStorage({ file }), sqliteStorage({ file })]
  t.teardown(() => Promise.all([one.close(), two.close()]))
  await Promise.all([one.prepare(things), two.prepare(things)])
  await one.commit(insert('things', thing(1)))
  t.equal((await two.get('things', 1))?.id, 1)
  const attempts = Array.from({ length: 100 }, (_, index) =>
    (index % 2 === 0 ? one : two).commit([replace('things', thing(1, { integer: index }, 2))])
  )
  t.equal((await settle(attempts)).fulfilled, 1)
  const inserts = Array.from({ length: 100 }, (_, index) =>
    (index % 2 === 0 ? one : two).commit(insert('things', thing(index + 2)))
  )
  t.equal((await settle(inserts)).fulfilled, 100)
})

t.test('another process that keeps the lock: a commit waits, then says so, and reads go on', async t => {
  const file = newFile()
  const storage = sqliteStorage({ file, busyTimeout: 200 })
  t.teardown(() => storage.close())
  await storage.prepare(things)
  const other = await openDatabase(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const waiting = storage.commit(insert('things', thing(1)))
  waiting.catch(() => {})
  t.same(await ids(storage, query()), [])
  await t.rejects(waiting, /locked/)
  const waitingAgain = storage.commit(insert('things', thing(1)))
  setTimeout(() => other.exec('ROLLBACK'), 50)
  await waitingAgain
  t.same(await ids(storage, query()), [1])
})

t.test('an open database of the host keeps its settings and stays open', async t => {
  const database = new DatabaseSync(':memory:')
  const storage = sqliteStorage({ database })
  await storage.prepare(things)
  await storage.commit(insert('things', thing(1)))
  await storage.close()
  t.same(database.prepare('SELECT count(*) AS n FROM things').get(), { n: 1 })
  database.close()
})

t.test('a database whose statements have raw(), or only rows as objects', async t => {
  for (const raw of [true, false]) {
    const storage = sqliteStorage({ database: likeBetterSqlite(raw) })
    await storage.prepare(things)
    await storage.commit(insert('things', thing(1, { integer: 1, boolean: true })))
    t.same(await storage.get('things', 1), thing(1, { integer: 1, boolean: true }))
    t.same(await ids(storage, query({ where: [where('integer', 'gte', 1), where('string', 'ne', 'x')] })), [1])
    t.same(await ids(storage, query({ where: [where('integer', 'regex', '1')] })), [1])
  }
})

// The way of better-sqlite3: rows as arrays by raw(), not by setReturnArrays().
function likeBetterSqlite (hasRaw: boolean): SqliteDatabase {
  const database = new DatabaseSync(':memory:')
  return {
    exec: sql => { database.exec(sql) },
    prepare (sql) {
      const statement = database.prepare(sql)
      const shared = {
        all: (...values: never[]) => statement.all(...values),
        run: (...values: never[]) => statement.run(...values)
      }
      return hasRaw ? { ...shared, raw: (on: boolean) => { statement.setReturnArrays(on) } } : shared
    },
    close: () => { database.close() },
    function: (name, options, run) => { database.function(name, options, run) }
  }
}

t.test('a pattern over many rows leaves other requests their turn', async t => {
  const storage = sqliteStorage({ file: newFile() })
  t.teardown(() => storage.close())
  await storage.prepare(things)
  await storage.commit(
    insert('things', ...Array.from({ length: 10_000 }, (_, id) => thing(id, { string: 'a'.repeat(60) })))
  )
  let turns = 0
  const clock = setInterval(() => { turns++ }, 1)
  const found = await ids(storage, query({ where: [where('string', 'regex', '(a|aa)+b')], count: true }))
  clearInterval(clock)
  t.same(found, [])
  t.ok(turns > 1, `${turns} turns of the event loop meanwhile`)
})

t.test('over many rows: pages by number, counts, and what holds for the last only', async t => {
  const storage = sqliteStorage({ file: newFile() })
  t.teardown(() => storage.close())
  await storage.prepare(things)
  const rows = 45_000
  await storage.commit(
    insert(
      'things',
      ...Array.from({ length: rows }, (_, id) =>
        thing(id, { integer: id % 2, string: id % 3 === 0 ? 'a' : 'b', number: id })
      )
    )
  )
  const halves = [where('integer', 'gte', 1), where('string', 'lt', 'b')]
  t.same(await ids(storage, query({ where: halves, offset: 7000, limit: 2 })), [42003, 42009])
  t.same(await ids(storage, query({ where: halves, sort: ['-id'], offset: 7400, limit: 2 })), [597, 591])
  t.equal((await storage.find('things', query({ where: halves, limit: 0, count: true }))).total, rows / 6)
  t.same(await ids(storage, query({ where: [where('number', 'gte', rows - 1)] })), [rows - 1], 'no index for it')
  t.same(await ids(storage, query({ where: [...halves, where('number', 'gt', rows)] })), [])
})

t.test('small pages are read by one bound of each side, and items that are named without any', async t => {
  const { storage, statements, dispose } = await makeSqlite()
  t.teardown(dispose)
  await storage.prepare(things)
  await storage.commit(insert('things', ...Array.from({ length: 30 }, (_, id) => thing(id, { number: id % 7 }))))
  const within = [where('id', 'gt', 1), where('id', 'lt', 29), where('id', 'gte', 0), where('id', 'lt', 50)]
  t.same(await ids(storage, query({ where: within, limit: 3 })), [2, 3, 4])
  t.same(await ids(storage, query({ where: [...within, where('number', 'ne', 1)], offset: 20, limit: 2 })), [25, 26])
  const sixes = [...within, where('number', 'regex', '6')]
  t.same(await ids(storage, query({ where: sixes, sort: ['-id'] })), [27, 20, 13, 6])
  const small = [...statements].filter(text => !/random/.test(text))
  t.same(small.filter(text => /"id" (>=?) [^)]*"id" >|"id" (<=?) [^)]*"id" </.test(text)), [])

  const before = statements.size
  const named = [where('id', 'eq', 6, 8), where('number', 'gte', 0)]
  t.equal((await storage.find('things', query({ where: named, limit: 0, count: true }))).total, 2)
  t.same(await ids(storage, query({ where: [...named, where('number', 'regex', '6')] })), [6])
  t.equal(statements.size, before + 2, 'one statement for each')
})

t.test('a page that is read at once visits few rows, whatever it asks for', async t => {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  let visited = 0
  database.function('visit', { deterministic: false }, (value: number) => {
    visited++
    return value
  })
  database.exec(`CREATE TABLE rows (id INTEGER PRIMARY KEY, age INTEGER);
    WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 20000)
    INSERT INTO rows SELECT id, id % 100 FROM n;
    CREATE VIEW people AS SELECT id, visit(age) AS age FROM rows`)
  const visits: [text: string, rows: number][] = []
  const watched: SqliteDatabase = {
    exec: sql => { database.exec(sql) },
    prepare (sql) {
      const statement = database.prepare(sql)
      return {
        all: (...values: never[]) => statement.all(...values),
        run: (...values: never[]) => statement.run(...values),
        setReturnArrays: (on: boolean) => { statement.setReturnArrays(on) },
        get (...values: never[]) {
          visited = 0
          try {
            return statement.get(...values)
          } finally {
            visits.push([sql, visited])
          }
        }
      }
    },
    close: () => {},
    function: (name, options, run) => { database.function(name, options, run) }
  }
  const storage = sqliteStorage({ database: watched, tables: { people: { table: 'people' } } })
  t.teardown(() => storage.close())
  await storage.prepare(shape('people', 'integer', [{ name: 'age', kind: 'integer', optional: true }]))
  const asked = [
    { where: [where('age', 'gte', 50)] },
    { where: [where('age', 'gte', 99)], offset: 15, limit: 10 },
    { where: [where('age', 'gt', 99)] },
    { where: [where('age', 'gt', 99), where('id', 'gt', 100), where('id', 'gt', 18_500)] },
    { where: [where('id', 'eq', 5, 6, 7), where('age', 'gte', 1)] },
    { sort: ['-age'], limit: 5 },
    { where: [where('id', 'gte', 19_000)], sort: ['-age'], limit: 5, count: true }
  ]
  const found = []
  for (const each of asked) found.push(await ids(storage, query(each), 'people'))
  t.same(found.map(({ length }) => length), [100, 10, 0, 0, 3, 5, 5])
  const isHeavy = (text: string): boolean => /random\(\)/.test(text) && !/"id" IN \(\?/.test(text)
  const small = visits.filter(([text]) => !isHeavy(text))
  t.ok(small.length > 7)
  for (const [text, rows] of small) t.ok(rows <= 2 * 2000, `${rows} visited: ${text}`)
  t.ok(visits.some(([text, rows]) => isHeavy(text) && rows >= 20_000), 'the rest is read otherwise')
})

t.test('an index that is dropped while it is used is missed by none', async t => {
  const file = newFile()
  const storage = sqliteStorage({ file })
  t.teardown(() => storage.close())
  await storage.prepare(things)
  await storage.commit(insert('things', ...[1, 2, 3].map(id => thing(id, { integer: id % 2 }))))
  const odd = query({ where: [where('integer', 'eq', 1)] })
  t.same(await ids(storage, odd), [1, 3])
  await rowsOf(file, 'DROP INDEX things_integer_idx')
  t.same(await ids(storage, odd), [1, 3])
  t.same(await ids(storage, odd), [1, 3])
})

t.test('queries that a client makes up do not take the place of those that are asked again and again', async t => {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  // By the limit in its text.
  const prepared = new Map<number, number>()
  const counting: SqliteDatabase = {
    exec: sql => { database.exec(sql) },
    prepare (sql) {
      const limit = Number(/ LIMIT (\d+) /.exec(sql)?.[1])
      prepared.set(limit, (prepared.get(limit) ?? 0) + 1)
      return database.prepare(sql)
    },
    close: () => {},
    function: (name, options, run) => { database.function(name, options, run) }
  }
  const storage = sqliteStorage({ database: counting })
  await storage.prepare(things)
  const countPrepared = (limit: number): number => prepared.get(limit) ?? 0
  const ask = async (limit: number, times: number): Promise<void> => {
    for (let asked = 0; asked < times; asked++) await storage.find('things', query({ limit }))
  }
  const often = 10_000
  for (let limit = 1; limit <= 1000; limit++) await ask(limit, 1)
  await ask(often, 3)
  t.equal(countPrepared(often), 2, 'kept when it comes again')
  const later = isLong ? 2000 : 1000
  for (let limit = 1001; limit <= 1000 + later; limit++) {
    await ask(limit, 3)
    await ask(often, 1)
  }
  t.equal(countPrepared(often), 2, 'and never dropped')
  const kept = Array.from({ length: later }, (_, n) => countPrepared(1001 + n)).filter(times => times < 3).length
  t.ok(kept > 200 && kept < 700, `${kept} of ${later} were kept; the others were let go of at once`)
  await storage.close()
})

t.test('only what differs is written, and savepoints are made only where a commit is refused', async t => {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  const written: string[] = []
  const watched: SqliteDatabase = {
    exec (sql) {
      written.push(sql)
      database.exec(sql)
    },
    prepare (sql) {
      written.push(sql)
      return database.prepare(sql)
    },
    close: () => database.close(),
    function: (name, options, run) => { database.function(name, options, run) }
  }
  const storage = sqliteStorage({ database: watched })
  await storage.prepare(people)
  const ann = { ...thing(1), fullName: 'Ann', active: true }
  const bea = { ...ann, fullName: 'Bea', revision: 2 }
  await storage.commit(insert('people', ann))
  const update = (): string[] => written.filter(sql => sql.startsWith('UPDATE'))
  const cea = { ...bea, fullName: 'Cea', revision: 3 }
  await storage.commit([{ type: 'replace', family: 'people', item: bea, expected: 1, current: ann }])
  await storage.commit([{ type: 'replace', family: 'people', item: cea, expected: 2, current: bea }])
  t.match(update(), [/SET "revision" = \?, "full_name" = \? WHERE/])
  t.equal(update().length, 1, 'the statement is kept')
  const absent = { ...thing(1), fullName: 'Cea', revision: 4 }
  await storage.commit([{ type: 'replace', family: 'people', item: absent, expected: 3, current: cea }])
  t.equal((await storage.get('people', 1))?.['active'], undefined, 'what is absent now is written as that')
  await storage.commit(insert('people', { ...ann, id: 2 }, { ...ann, id: 3 }))
  t.notOk(written.includes('SAVEPOINT one'))
  const both = insert('people', { ...ann, id: 4 }, { ...ann, id: 2 })
  const [five, six] = [insert('people', { ...ann, id: 5 }), insert('people', { ...ann, id: 6 })]
  const outcomes = await Promise.allSettled([five, both, six].map(changes => storage.commit(changes)))
  t.strictSame(outcomes.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled'])
  t.ok(written.includes('SAVEPOINT one'))
  t.strictSame(await ids(storage, query(), 'people'), [1, 2, 3, 5, 6], 'of what is refused, nothing is left')
})

t.test('more commits than may wait are refused at once', async t => {
  const storage = sqliteStorage({ file: newFile(), maxWaitingCommits: 10 })
  t.teardown(() => storage.close())
  await storage.prepare(things)
  const attempts = Array.from({ length: 25 }, (_, id) => storage.commit(insert('things', thing(id))))
  const { fulfilled, reasons } = await settle(attempts)
  t.equal(fulfilled, 10)
  t.ok(reasons.every(reason => (reason as Error).name === 'BusyError'))
  await storage.commit(insert('things', thing(100)))
  t.equal((await ids(storage, query())).length, 11, 'those that were refused were not made')
})

t.test('two versions of a family share one table with the fields of both', async t => {
  const storage = sqliteStorage({ file: newFile() })
  t.teardown(() => storage.close())
  await storage.prepare(shape('people', 'integer', [{ name: 'fullName', kind: 'string', optional: true }]))
  await storage.prepare(people)
  await storage.prepare(shape('people', 'integer', [{ name: 'fullName', kind: 'string', optional: true }]))
  await storage.commit(insert('people', thing(1, { fullName: 'ann', active: true })))
  t.same(await storage.get('people', 1), thing(1, { fullName: 'ann', active: true }))
})
