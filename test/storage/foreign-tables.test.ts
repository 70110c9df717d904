import { readFileSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Test } from 'tap'
import t from 'tap'
import { query, shape } from '../../lib/conformance/fixture.js'
import type { Storage } from '../../lib/core/storage/storage.js'
import type { Condition, Field, Query } from '../../lib/index.js'
import { defineFamily, pageOf, Type } from '../../lib/index.js'
import type { TableMappings } from '../../lib/storage/postgres/postgres-storage.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { blocksIn } from '../docs/pages.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

const moment = Type.String({ format: 'date-time' })

const tickets = defineFamily({
  name: 'tickets',
  singular: 'ticket',
  fields: Type.Object({
    id: Type.Integer(),
    token: Type.String({ format: 'uuid' }),
    title: Type.String(),
    state: Type.Union([Type.Literal('open'), Type.Literal('waiting'), Type.Literal('closed')], { default: 'open' }),
    country: Type.Optional(Type.String()),
    openedAt: Type.Optional(moment),
    seenAt: Type.Union([moment, Type.Null()]),
    due: Type.Optional(Type.String({ format: 'date' })),
    starts: Type.Optional(Type.String()),
    price: Type.Optional(Type.Number()),
    rate: Type.Optional(Type.String()),
    score: Type.Optional(Type.String()),
    weight: Type.Optional(Type.Number()),
    votes: Type.Integer({ default: 0 }),
    minutes: Type.Optional(Type.Integer()),
    email: Type.Optional(Type.String()),
    account: Type.Optional(Type.String()),
    urgent: Type.Boolean({ default: false }),
    tags: Type.Array(Type.Union([Type.String(), Type.Null()]), { default: [] }),
    marks: Type.Optional(Type.Array(Type.Integer())),
    watchers: Type.Optional(Type.Array(Type.String())),
    settings: Type.Unknown({ default: {} }),
    titleLength: Type.Optional(Type.Integer())
  }),
  create: [
    'token', 'title', 'state', 'country', 'openedAt', 'seenAt', 'due', 'starts', 'price', 'rate', 'score', 'weight',
    'votes', 'minutes', 'email', 'account', 'urgent', 'tags', 'marks', 'watchers', 'settings'
  ],
  operations: {
    close: {
      name: 'close',
      verb: 'close',
      participle: 'closed',
      noun: 'closings',
      action: 'CloseTicket',
      params: Type.Object({ on: Type.String({ format: 'date' }) }),
      allowed: ticket => ticket.state !== 'closed',
      apply: (ticket, { on }) => ({ ...ticket, state: 'closed', due: on, tags: [...ticket.tags, 'done'] })
    }
  }
})

const agents = defineFamily({
  name: 'agents',
  singular: 'agent',
  fields: Type.Object({ id: Type.Integer(), email: Type.String() }),
  create: ['email']
})

const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({ id: Type.String(), fullName: Type.String() }),
  create: ['fullName']
})

const times = { createdAt: 'createdAt', updatedAt: 'updatedAt' }
const columns = { due: 'due_on', starts: 'starts_at', revision: 'lock_version' }

/** The database of others, in a schema of its own, and a storage over it. */
async function openDump (
  t: Test
): Promise<{ schema: string, storage: Storage, open: (tables: TableMappings) => Storage }> {
  const schema = newSchema()
  const dump = readFileSync('test/storage/dumps/support.sql', 'utf8').replace(/\bpublic\b/g, schema)
  await withClient(async client => {
    await client.query(dump)
    await client.query('RESET ALL')
    // Where the extension is, depends on the database.
    await client.query('CREATE EXTENSION IF NOT EXISTS citext')
    await client.query(`ALTER TABLE ${schema}.tickets ADD COLUMN email citext UNIQUE;
      UPDATE ${schema}.tickets SET email = (ARRAY['ann@example.org', 'Ann@example.com', 'BOB@example.org'])[id]`)
  })
  const connectionString = await postgresUrl()
  const opened: Storage[] = []
  t.teardown(async () => {
    for (const storage of opened) await storage.close()
    await dropSchema(schema)
  })
  const open = (tables: TableMappings): Storage => {
    const storage = postgresStorage({ connectionString, schema, poolSize: 5, tables })
    opened.push(storage)
    return storage
  }
  const storage = open({
    tickets: { table: 'tickets', schema, columns },
    agents: { table: 'agents', schema, columns: { revision: 'version', createdAt: 'joined' } },
    orders: { table: 'Order', schema, columns: { ...times, fullName: 'fullName', revision: 'version' } }
  })
  return { schema, storage, open }
}

async function sql (text: string): Promise<Record<string, unknown>[]> {
  return await withClient(async client => (await client.query(text)).rows as Record<string, unknown>[])
}

const odd: Readonly<Record<string, readonly (string | number | boolean)[]>> = {
  string: [
    '', ' ', 'a', 'g', '0', '9', 'DE', 'DE ', 'de', 'OPEN', 'ANN@example.org', 'Ann@example.com', 'open ',
    'nobody', '08:30', '08:30:00.0', '12.5', '12.50',
    '1.1', '1.100',
    '1e1', '-0', '9007199254740993', '99999999999999999999', '00000000-0000-4000-8000-00000000000', '\u{10ffff}', '-',
    '00000000-0000-4000-8000-0000000000010', 'A0000000-0000-4000-8000-00000000000A',
    'a0000000-0000-4000-8000-0000000000:',
    'ffffffff-ffff-ffff-ffff-ffffffffffff', 'fffffffff', '0a000000+', '"', '\\', '\'; --'
  ],
  number: [0, 0.1, 12.5, 12.505, -0.05, 1e21, 1e300, -1e300],
  integer: [0, -3, 32768, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
  boolean: [true, false],
  date: ['0001-01-01', '2026-11-20', '2026-11-21', '9999-12-31'],
  'date-time': [
    '0001-01-01T00:00:00.000Z', '1999-12-31T23:59:59.999Z', '2000-01-01T00:00:00.000Z', '2026-11-15T05:07:41.000Z',
    '2026-11-15T05:07:41.123Z', '2026-11-15T05:07:41.124Z', '9999-12-31T23:59:59.999Z'
  ]
}

/** Compares what every operator and order finds with what it should by the items themselves. Returns how often. */
async function compareWithOracle (
  t: Test,
  storage: Storage,
  family: string,
  fields: readonly Field[]
): Promise<number> {
  const { items } = await storage.find(family, query({ limit: 1000 }))
  let asked = 0
  const compare = async (wanted: Query): Promise<void> => {
    const [found, expected] = [await storage.find(family, wanted), pageOf(items, wanted)]
    const [ids, others] = [found, expected].map(page => page.items.map(({ id }) => id))
    if (JSON.stringify([ids, found.total]) !== JSON.stringify([others, expected.total])) {
      t.strictSame([ids, found.total], [others, expected.total], JSON.stringify(wanted))
    }
    asked++
  }
  for (const { name: field, kind } of fields) {
    const conditions: Condition[] = [{ field, op: 'null', is: true }, { field, op: 'null', is: false }]
    if (kind !== 'json') {
      const there = items.flatMap(({ [field]: value }) => value === undefined || value === null ? [] : [value])
      const values = [...new Set([...odd[kind] ?? [], ...there])] as string[]
      for (const [index, value] of values.entries()) {
        const isThere = there.includes(value)
        // What is not there is asked for in turns: with it and without it is the same.
        const isAsked = (_: unknown, n: number): boolean => isThere || n === index % 4 || n === 4 + index % 2
        const all: Condition[] = (['gt', 'lte', 'gte', 'lt'] as const).map(op => ({ field, op, value }))
        all.push({ field, op: 'eq', values: [value] }, { field, op: 'ne', values: [value] })
        conditions.push(...all.filter(isAsked))
      }
      conditions.push({ field, op: 'eq', values }, { field, op: 'ne', values })
      conditions.push({ field, op: 'regex', patterns: ['1', '^.e'] })
      for (const sort of [field, `-${field}`]) {
        for (const offset of [0, 2]) await compare(query({ sort: [sort], offset, limit: 3, count: true }))
      }
    }
    const sort = kind === 'json' ? [] : [field]
    // As many at once as may wait.
    for (let at = 0; at < conditions.length; at += 40) {
      const some = conditions.slice(at, at + 40)
      await Promise.all(some.map(condition => compare(query({ where: [condition], sort }))))
    }
  }
  const members = fields.map(({ name }) => name)
  const { text } = await (storage as Required<Storage>).findText(family, query(), members)
  const texts = items.map(item => JSON.stringify(Object.fromEntries(members.map(name => [name, item[name]]))))
  t.equal(text, texts.join(), 'as text')
  for (const item of items) t.strictSame(await storage.get(family, item.id), item)
  return asked
}

const ticketShape = (): readonly Field[] => shape('tickets', 'integer', [
  ...['token', 'title', 'state', 'country', 'starts', 'rate', 'score', 'account', 'email']
    .map(name => ({ name, kind: 'string' as const })),
  ...['openedAt', 'seenAt'].map(name => ({ name, kind: 'date-time' as const })),
  ...['price', 'weight'].map(name => ({ name, kind: 'number' as const })),
  ...['votes', 'minutes', 'titleLength'].map(name => ({ name, kind: 'integer' as const })),
  ...['tags', 'marks', 'watchers', 'settings'].map(name => ({ name, kind: 'json' as const })),
  { name: 'due', kind: 'date' as const },
  { name: 'urgent', kind: 'boolean' as const }
].map(field => ({ ...field, optional: true }))).fields

t.test('postgres: tables made by the tools of others are read, filtered and sorted', async t => {
  const { storage } = await openDump(t)
  const book = tickets.service({ storage })
  t.strictSame(await book.get(1), {
    id: 1,
    token: '00000000-0000-4000-8000-000000000001',
    title: 'Printer on fire',
    state: 'open',
    country: 'DE',
    openedAt: '2026-11-15T05:07:41.123Z',
    seenAt: '2026-11-15T05:07:41.123Z',
    due: '2026-11-20',
    starts: '08:30:00',
    price: 12.5,
    rate: '0.1250',
    score: '1.10',
    weight: 0.1,
    votes: 3,
    minutes: 90,
    email: 'ann@example.org',
    account: '9007199254740993',
    urgent: true,
    tags: ['hot', 'b c'],
    marks: [1, 2],
    watchers: ['00000000-0000-4000-8000-000000000001'],
    settings: { a: [1, 2], b: 1 },
    titleLength: 15,
    revision: 1,
    createdAt: '2026-11-15T05:07:41.123Z',
    updatedAt: '2026-11-15T05:07:41.123Z'
  })
  t.strictSame((await book.get(3)).tags, [null, 'q"uote'])
  t.ok(await compareWithOracle(t, storage, 'tickets', ticketShape()) > 900)

  const byId = orders.service({ storage })
  for (let n = 0; n < 5; n++) await byId.create({ fullName: `Cup ${n}` })
  const { fields } = shape('orders', 'string', [{ name: 'fullName', kind: 'string', optional: false }])
  t.ok(await compareWithOracle(t, storage, 'orders', fields) > 200)
  for (const id of ['x', '3F333DF6-90A4-4FDA-8DD3-9485D27CEE36', '3f333df6-90a4-4fda-8dd3-9485d27cee37']) {
    t.equal(await storage.get('orders', id), undefined, id)
  }
})

t.test('postgres: they are written, each value as it is', async t => {
  const { schema, storage } = await openDump(t)
  const book = tickets.service({ storage })
  const members = {
    token: '3f333df6-90a4-4fda-8dd3-9485d27cee36',
    title: 'T'.repeat(20),
    state: 'waiting' as const,
    country: 'FR',
    openedAt: '2026-01-31T12:00:00.001Z',
    seenAt: '2026-01-31T12:00:00.999Z',
    due: '2026-02-28',
    starts: '23:59:59.25',
    price: 99999999.99,
    rate: '-12.3400',
    score: '0.000000000000000000000001',
    weight: 0.1 + 0.2,
    votes: -32768,
    minutes: 2147483647,
    email: 'Zed@example.org',
    account: '9223372036854775807',
    urgent: true,
    tags: ['a', null, '"', '{}'],
    marks: [1, -1],
    watchers: ['3f333df6-90a4-4fda-8dd3-9485d27cee36'],
    settings: { z: null, a: { b: [] } }
  }
  const { item } = await book.create(members, { key: 'k' })
  t.match(item, members)
  t.strictSame(await book.get(item.id), { ...item, titleLength: 20 })
  t.equal((await book.create(members, { key: 'k' })).replayed, true)
  const { item: closed } = await book.run('close', item.id, { on: '2026-03-31' })
  t.strictSame(await book.get(item.id), { ...closed, titleLength: 20 })
  t.match(await sql(`SELECT state::text, to_json(due_on) AS due, tags, lock_version, to_json(opened_at) AS opened
    FROM ${schema}.tickets WHERE id = ${item.id}`), [{
    state: 'closed',
    due: '2026-03-31',
    tags: ['a', null, '"', '{}', 'done'],
    lock_version: 2,
    opened: '2026-01-31T12:00:00.001'
  }])
  t.strictSame((await book.log(item.id)).items.map(({ action, revision }) => [action, revision]), [
    ['CreateTicket', 1], ['CloseTicket', 2]
  ])
  // What others wrote can be operated on, and what was not changed stays to the microsecond.
  t.equal((await book.run('close', 1, { on: '2026-03-31' })).item?.revision, 2)
  t.match(await sql(`SELECT to_json(opened_at) AS opened, title_length FROM ${schema}.tickets WHERE id = 1`), [
    { opened: '2026-11-15T05:07:41.123456', title_length: 15 }
  ])

  const flaws: readonly [keyof typeof members, unknown, RegExp][] = [
    ['token', '3F333DF6-90A4-4FDA-8DD3-9485D27CEE36', /UUID in lower case/],
    ['title', 'T'.repeat(21), /at most 20 characters/],
    ['country', 'FRA', /at most 2 characters/],
    ['country', 'F ', /not end with a space/],
    ['starts', '8:30', /a time/],
    ['price', 0.001, /at most 2 digits after/],
    ['price', 1e8, /at most 8 digits before/],
    ['rate', '1.5', /4 digits after/],
    ['rate', '100.0000', /at most 2 digits before/],
    ['score', '1e5', /decimal number/],
    ['votes', 32768, /from -32768 to 32767/],
    ['minutes', 2 ** 31, /from -2147483648 to 2147483647/],
    ['account', '9223372036854775808', /from -9223372036854775808/],
    ['marks', [1, 2 ** 31], /element that must be from/],
    ['watchers', ['x'], /element that must be a UUID/]
  ]
  const another = { ...members, email: 'ANN@EXAMPLE.ORG', token: '3f333df6-90a4-4fda-8dd3-9485d27cee37' }
  await t.rejects(book.create(another), {
    code: 'constraint', errors: [{ pointer: '/email', detail: 'is already taken' }]
  })
  for (const [field, value, detail] of flaws) {
    const refused = book.create({ ...members, [field]: value } as typeof members)
    await t.rejects(refused, { code: 'constraint', errors: [{ pointer: `/${field}`, detail }] }, `${field} ${value}`)
  }
})

t.test('postgres: new ids are those of the table', async t => {
  const { schema, storage } = await openDump(t)
  const makeToken = (n: number): string => `00000000-0000-4000-9000-00000000000${n}`
  const insertions = [
    ['tickets', tickets, (n: number) => ({ title: 'x', token: makeToken(n), seenAt: null }),
      "(title, created_at, updated_at) VALUES ('N', now(), now())", 5],
    ['agents', agents, (n: number) => ({ email: `ours ${n}` }), "(email) VALUES ('N')", 2],
    ['"Order"', orders, () => ({ fullName: 'x' }), "(\"fullName\", \"updatedAt\") VALUES ('N', now())", undefined]
  ] as const
  for (const [table, family, makeMembers, values, first] of insertions) {
    const book = family.service({ storage }) as unknown as ReturnType<typeof agents.service>
    const created = await Promise.all(Array.from({ length: 10 }, async (_, n) => {
      await sql(`INSERT INTO ${schema}.${table} ${values.replace("'N'", `'other ${n}'`)}`)
      return (await book.create(makeMembers(n) as never)).item
    }))
    t.equal(new Set(created.map(({ id }) => id)).size, 10, table)
    if (first !== undefined) {
      const [{ most } = {}] = await sql(`SELECT max(id)::int AS most FROM ${schema}.${table}`)
      t.equal(most, first + 19, 'ours and those of others are of one sequence')
    }
  }
  const [{ id } = {}] = await sql(`INSERT INTO ${schema}.agents (email) VALUES ('last') RETURNING id::int`)
  t.equal(id, 22)
})

t.test('a required column without a field is an error at boot', async t => {
  const { schema, open } = await openDump(t)
  const storage = open({ agents: { table: 'tickets', schema, columns: { email: 'title', revision: 'lock_version' } } })
  await agents.service({ storage }).find()
  await sql(`ALTER TABLE ${schema}.tickets ADD COLUMN must integer NOT NULL DEFAULT 1;
    ALTER TABLE ${schema}.tickets ADD COLUMN other text NOT NULL DEFAULT '';
    ALTER TABLE ${schema}.tickets ALTER must DROP DEFAULT, ALTER other DROP DEFAULT`)
  const another = open({ agents: { table: 'tickets', schema, columns: { email: 'title', revision: 'lock_version' } } })
  await t.rejects(agents.service({ storage: another }).find(), {
    code: 'FST_DEALBOOK_COLUMN_REQUIRED',
    message: /"tickets".*must \(integer\), other \(text\)/
  })
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  database.exec('CREATE TABLE agents (id INTEGER PRIMARY KEY, email TEXT, must TEXT NOT NULL, revision INTEGER)')
  const onSqlite = sqliteStorage({ database, tables: { agents: { table: 'agents' } } })
  await t.rejects(agents.service({ storage: onSqlite }).find(), {
    code: 'FST_DEALBOOK_COLUMN_REQUIRED',
    message: /must \(TEXT\)/
  })
})

t.test('sqlite: moments with a space in them, and ids that are never given again', async t => {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  database.exec(`CREATE TABLE "people" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "email" varchar NOT NULL,
      "seen_at" datetime(6), "revision" integer DEFAULT 1 NOT NULL,
      "created_at" datetime DEFAULT CURRENT_TIMESTAMP NOT NULL, "updated_at" datetime(6),
      upper_email TEXT AS (upper(email)) STORED);
    CREATE INDEX people_seen ON people (seen_at);
    INSERT INTO people (id, email, seen_at, created_at, updated_at) VALUES
      (1, 'a', '2026-11-15 05:07:41', '2026-11-15 05:07:41', '2026-11-15 05:07:41.123456'),
      (2, 'b', '2026-11-15 05:07:41.5', '2026-11-15 05:07:42', '2026-11-15 05:07:41.123'),
      (3, 'c', '2026-11-15T05:07:41.250Z', '2026-11-15 05:07:40', NULL),
      (4, 'd', NULL, '1999-12-31 23:59:59', NULL), (9, 'z', NULL, '', NULL);
    DELETE FROM people WHERE id = 9`)
  const people = defineFamily({
    name: 'people',
    singular: 'person',
    fields: Type.Object({
      id: Type.Integer(), email: Type.String(), seenAt: Type.Optional(moment), upperEmail: Type.Optional(Type.String())
    }),
    create: ['email', 'seenAt'],
    operations: {
      see: {
        name: 'see',
        verb: 'see',
        participle: 'seen',
        noun: 'sightings',
        action: 'SeePerson',
        params: Type.Object({ at: moment }),
        apply: (person, { at }) => ({ ...person, seenAt: at })
      }
    }
  })
  const storage = sqliteStorage({ database, tables: { people: { table: 'people' } } })
  const book = people.service({ storage })
  const first = { seenAt: '2026-11-15T05:07:41.000Z', updatedAt: '2026-11-15T05:07:41.123Z', upperEmail: 'A' }
  t.match(await book.get(1), first)
  const { item } = await book.create({ email: 'new', seenAt: '2026-11-15T05:07:41.750Z' })
  t.equal(item.id, 10, 'not that of a row that is gone')
  await book.run('see', 1, { at: '2026-11-15T05:07:41.125Z' })
  const rows = database.prepare('SELECT seen_at AS at FROM people WHERE id IN (1, 10) ORDER BY id').all()
  t.strictSame(rows.map(row => (row as { at: string }).at), ['2026-11-15 05:07:41.125', '2026-11-15 05:07:41.750'])
  t.ok(await compareWithOracle(t, storage, 'people', shape('people', 'integer', [
    { name: 'email', kind: 'string', optional: false },
    { name: 'seenAt', kind: 'date-time', optional: true },
    { name: 'upperEmail', kind: 'string', optional: true }
  ]).fields) > 200)
})

t.test('the columns for the service are added by what the documentation says', async t => {
  const [onPostgres, onSqlite, ...others] = blocksIn('sql').filter(({ page, text }) =>
    page === 'docs/existing-tables.md' && text.includes('ADD COLUMN revision'))
  t.strictSame(others, [])
  const table = `CREATE TABLE crm_people (id integer PRIMARY KEY, email text);
    INSERT INTO crm_people VALUES (1, 'ann@example.org')`
  const check = async (storage: Storage): Promise<void> => {
    const book = agents.service({ storage })
    const { item } = await book.create({ email: 'bob@example.org' })
    t.match(await book.get(item.id), { id: 2, email: 'bob@example.org', revision: 1, createdAt: item.createdAt })
    const ann = await book.get(1)
    t.match(ann, { revision: 1 })
    t.ok(Date.parse(ann.createdAt) > 0 && new Date(ann.createdAt).toJSON() === ann.createdAt, ann.createdAt)
  }
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  database.exec(`${table}; ${onSqlite?.text}`)
  await check(sqliteStorage({ database, tables: { agents: { table: 'crm_people' } } }))
  const { schema, open } = await openDump(t)
  await withClient(async client => {
    await client.query(`SET search_path TO ${schema}`)
    await client.query(`${table}; ${onPostgres?.text}`)
    await client.query('RESET search_path')
  })
  await check(open({ agents: { table: 'crm_people', schema } }))
})
