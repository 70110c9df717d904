import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { ConstraintError, defineFamily, memoryStorage, Problem, readMetrics, Type } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

const bookings = defineFamily({
  name: 'bookings',
  singular: 'booking',
  fields: Type.Object({
    id: Type.String(),
    name: Type.Optional(Type.String()),
    guest: Type.Optional(Type.Integer()),
    agent: Type.Optional(Type.Integer()),
    price: Type.Optional(Type.Number()),
    room: Type.Optional(Type.Integer()),
    day: Type.Optional(Type.String({ format: 'date' })),
    email: Type.Optional(Type.String()),
    code: Type.Optional(Type.String()),
    size: Type.Optional(Type.Integer()),
    share: Type.Optional(Type.Number())
  }),
  create: ['name', 'guest', 'agent', 'price', 'room', 'day', 'email', 'code', 'size', 'share'],
  operations: {
    rename: {
      name: 'rename',
      verb: 'rename',
      participle: 'renamed',
      noun: 'renamings',
      action: 'RenameBooking',
      params: Type.Object({ to: Type.String() }),
      apply: (booking, { to }) => ({ ...booking, name: to })
    }
  }
})

/** What is sent at creation, and the fields that are named in the refusal. */
interface Case {
  readonly rule: string
  readonly members: object
  readonly fields: readonly string[]
}

const cases: readonly Case[] = [
  { rule: 'not null', members: {}, fields: ['name'] },
  { rule: 'unique', members: { name: 'ann' }, fields: ['name'] },
  { rule: 'unique, of two', members: { name: 'x', room: 1, day: '2026-01-31' }, fields: ['room', 'day'] },
  { rule: 'check', members: { name: 'x', price: -1 }, fields: ['price'] },
  { rule: 'foreign key', members: { name: 'x', guest: 2, agent: 1 }, fields: ['guest'] },
  { rule: 'foreign key at the end of the transaction', members: { name: 'x', guest: 1, agent: 2 }, fields: ['agent'] },
  { rule: 'trigger', members: { name: 'raise' }, fields: [] }
]

const onPostgres: readonly Case[] = [
  { rule: 'unique, by an expression', members: { name: 'x', email: 'ANN@example.org' }, fields: ['email'] },
  { rule: 'exclusion', members: { name: 'x', size: 5, price: 1 }, fields: ['size'] },
  { rule: 'domain', members: { name: 'x', code: 'lower' }, fields: ['code'] },
  { rule: 'trigger at the end of the transaction', members: { name: 'late' }, fields: [] },
  { rule: 'trigger with a code of its own', members: { name: 'coded' }, fields: ['name'] },
  { rule: 'trigger that divides by zero', members: { name: 'divide' }, fields: [] },
  { rule: 'rule of another table', members: { name: 'elsewhere' }, fields: [] },
  { rule: 'too long', members: { name: 'x', code: 'ABCDEFGHIJK' }, fields: ['code'] },
  { rule: 'out of range', members: { name: 'x', size: 40_000 }, fields: ['size'] },
  { rule: 'too many digits', members: { name: 'x', share: 100 }, fields: ['share'] },
  { rule: 'too many decimals', members: { name: 'x', share: 1.005 }, fields: ['share'] },
  { rule: 'too long for an index', members: { name: randomText(5000) }, fields: ['name'] }
]

const onSqlite: readonly Case[] = [
  { rule: 'trigger that ends the transaction', members: { name: 'rollback' }, fields: [] },
  { rule: 'trigger that leaves what was done', members: { name: 'fail' }, fields: [] }
]

/** What no compression makes shorter. */
function randomText (length: number): string {
  let state = 1
  return Array.from({ length }, () => {
    state = state * 48271 % 2147483647
    return String.fromCharCode(97 + state % 26)
  }).join('')
}

interface Opened {
  readonly storage: Storage
  run (sql: string): Promise<unknown>
}

const columns = `id text PRIMARY KEY, name text NOT NULL CONSTRAINT inside_name UNIQUE,
  guest integer REFERENCES inside_guests, price double precision CHECK (price >= 0), room integer, day date,
  agent integer REFERENCES inside_guests DEFERRABLE INITIALLY DEFERRED, email text,
  revision bigint NOT NULL, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL`
const end = 'CONSTRAINT inside_room UNIQUE (room, day)'
const guests = 'CREATE TABLE inside_guests (id integer PRIMARY KEY); INSERT INTO inside_guests VALUES (1)'
const lines = 'CREATE TABLE inside_lines (booking text REFERENCES inside_bookings)'
const tables = { bookings: { table: 'inside_bookings' } }

async function openPostgres (t: Test): Promise<Opened> {
  const schema = newSchema()
  const run = (sql: string): Promise<unknown> => withClient(async client => {
    await client.query(`SET search_path TO "${schema}"`)
    await client.query(sql).finally(() => client.query('RESET search_path'))
  })
  await run(`CREATE SCHEMA "${schema}"; ${guests};
    CREATE DOMAIN inside_code AS varchar(10) CHECK (VALUE = upper(VALUE));
    CREATE TABLE inside_bookings (${columns}, code inside_code, size smallint, share numeric(4,2), ${end},
      CONSTRAINT inside_size EXCLUDE USING gist (int4range(size, 10) WITH &&) WHERE (size IS NOT NULL));
    CREATE UNIQUE INDEX inside_email ON inside_bookings (lower(email)); ${lines};
    CREATE FUNCTION inside_refuse () RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
      IF NEW.name IN ('raise', 'late') THEN RAISE EXCEPTION 'inside text'; END IF;
      IF NEW.name = 'coded' THEN RAISE EXCEPTION 'inside' USING ERRCODE = 'U0001', COLUMN = 'name'; END IF;
      IF NEW.name = 'divide' THEN NEW.price = 1 / 0; END IF;
      IF NEW.name = 'elsewhere' THEN INSERT INTO inside_guests VALUES (1); END IF;
      IF NEW.name = 'broken' THEN PERFORM inside_nothing(); END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER inside_trigger BEFORE INSERT OR UPDATE ON inside_bookings FOR EACH ROW
      WHEN (NEW.name <> 'late') EXECUTE FUNCTION inside_refuse();
    CREATE CONSTRAINT TRIGGER inside_late AFTER INSERT OR UPDATE ON inside_bookings DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW WHEN (NEW.name = 'late') EXECUTE FUNCTION inside_refuse()`)
  const mapping = { table: 'inside_bookings', schema }
  const connectionString = await postgresUrl()
  const storage = postgresStorage({ connectionString, schema, poolSize: 5, tables: { bookings: mapping } })
  t.teardown(async () => {
    await storage.close()
    await dropSchema(schema)
  })
  return { storage, run }
}

async function openSqlite (t: Test): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), 'dealbook-'))
  const file = join(folder, 'test.db')
  const database = new DatabaseSync(file)
  database.exec(`${guests}; CREATE TABLE inside_bookings (${columns}, code text, size integer, share real, ${end});
    ${lines};
    CREATE TRIGGER inside_raise BEFORE INSERT ON inside_bookings WHEN NEW.name = 'raise'
      BEGIN SELECT RAISE(ABORT, 'inside text'); END;
    CREATE TRIGGER inside_rename BEFORE UPDATE ON inside_bookings WHEN NEW.name = 'raise'
      BEGIN SELECT RAISE(ABORT, 'inside text'); END;
    CREATE TRIGGER inside_rollback AFTER INSERT ON inside_bookings WHEN NEW.name = 'rollback'
      BEGIN SELECT RAISE(ROLLBACK, 'inside text'); END;
    CREATE TRIGGER inside_fail AFTER INSERT ON inside_bookings WHEN NEW.name = 'fail'
      BEGIN SELECT RAISE(FAIL, 'inside text'); END`)
  const storage = sqliteStorage({ file, tables })
  t.teardown(async () => {
    await storage.close()
    database.close()
    await rm(folder, { recursive: true })
  })
  return { storage, run: async sql => { database.exec(sql) } }
}

for (const [name, open, more] of [
  ['sqlite', openSqlite, onSqlite],
  ['postgres', openPostgres, onPostgres]
] as const) {
  t.test(`${name}: what a rule of the database refuses is 409, and nobody else's concern`, async t => {
    const { storage, run } = await open(t)
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(bookings, { storage })
    const book = bookings.service({ storage })
    const first = { name: 'ann', guest: 1, room: 1, day: '2026-01-31', email: 'ann@example.org', size: 1 }
    const { item: ann } = await book.create(first)
    const { item: bob } = await book.create({ name: 'bob' })
    const before = readMetrics(storage)

    for (const { rule, members, fields } of [...cases, ...more]) {
      const headers = { 'idempotency-key': JSON.stringify(rule) }
      const creation = { method: 'POST', url: '/bookings', payload: members, headers } as const
      const answer = await app.inject(creation)
      t.equal(answer.statusCode, 409, rule)
      const { type, errors = [] } = answer.json<{ type: string, errors?: { pointer: string }[] }>()
      t.equal(type, 'urn:dealbook:problem:constraint')
      t.strictSame(errors.map(({ pointer }) => pointer), fields.map(field => `/${field}`), rule)
      t.notMatch(answer.body, /inside/, 'nothing that is internal')
      t.equal(answer.headers['retry-after'], undefined)
      t.equal((await app.inject(creation)).headers['idempotent-replayed'], undefined, 'nothing is recorded')

      const refused = await Promise.allSettled([
        book.create({ name: `before ${rule}` }), book.create(members), book.create({ name: `after ${rule}` })
      ])
      t.strictSame(refused.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled'], `${rule}: neighbours`)
      const { reason } = refused[1] as PromiseRejectedResult
      t.ok(reason instanceof Problem && reason.code === 'constraint')
      t.match(reason.cause, { name: 'ConstraintError', family: 'bookings', fields })
    }
    const asked = cases.length + more.length
    t.equal((await book.find('', { limit: 1000 })).items.length, 2 + 2 * asked)
    const after = readMetrics(storage)
    t.equal(after['retries_total'], before['retries_total'], 'nothing is tried again')
    t.equal(after['statement_retries_total'], before['statement_retries_total'])
    t.equal(after['commands_failed_total'], 0, 'nothing has failed')
    t.ok(Number(after['batches_total']) - Number(before['batches_total']) <= 3 * asked, 'neighbours went together')

    for (const to of ['bob', 'raise']) {
      const errors = to === 'bob' ? [{ pointer: '/name' }] : undefined
      const problem = { type: 'urn:dealbook:problem:constraint', errors }
      const asked = { method: 'PUT', url: `/bookings/${ann.id}/rename`, payload: { to } } as const
      t.match((await app.inject(asked)).json(), problem, `renamed to ${to}`)
    }
    const payload = { action: 'RenameBooking', params: { to: 'bob' } }
    const renaming = { method: 'PUT', url: `/bookings/${ann.id}/commands/c1`, payload } as const
    t.equal((await app.inject(renaming)).statusCode, 409)
    t.equal((await book.get(ann.id)).revision, 1)
    t.equal((await book.log(ann.id)).items.length, 1)
    await book.remove(bob.id)
    t.equal((await app.inject(renaming)).statusCode, 201, 'the same command, once the data allows it')

    await run(`INSERT INTO inside_lines VALUES ('${ann.id}')`)
    const removal = { method: 'DELETE', url: `/bookings/${ann.id}` } as const
    const inUse = await app.inject(removal)
    t.equal(inUse.statusCode, 409)
    t.match(inUse.json(), { type: 'urn:dealbook:problem:constraint', detail: /something else refers to it/ })
    await run('DELETE FROM inside_lines')
    t.equal((await app.inject(removal)).statusCode, 204)
  })
}

t.test('postgres: a trigger that is broken is 503 for its change, and for no other', async t => {
  const { storage } = await openPostgres(t)
  const book = bookings.service({ storage })
  await book.find()
  const outcomes = await Promise.allSettled(['a', 'broken', 'b'].map(name => book.create({ name })))
  t.strictSame(outcomes.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled'])
  t.match(outcomes[1], { reason: { code: 'storage-unavailable' } })
})

t.test('a storage of one\'s own refuses in the same words; the reason is for the log', async t => {
  const lines: string[] = []
  const app = Fastify({ logger: { level: 'info', stream: { write: (line: string) => { lines.push(line) } } } })
  t.teardown(() => app.close())
  const refusal = new ConstraintError('bookings', 'a', 'unique', {
    fields: ['name', 'room'], cause: new Error('inside_name')
  })
  app.register(bookings, { storage: { ...memoryStorage(), commit: async () => { throw refusal } } })
  const answer = await app.inject({ method: 'POST', url: '/bookings', payload: {} })
  t.strictSame(answer.json(), {
    type: 'urn:dealbook:problem:constraint',
    title: 'A rule of the database rejects it',
    status: 409,
    detail: 'The database does not allow this: /name is already taken, together with /room. Nothing was done',
    instance: '/bookings',
    errors: [
      { pointer: '/name', detail: 'is already taken, together with /room' },
      { pointer: '/room', detail: 'is already taken, together with /name' }
    ]
  })
  t.match(lines.filter(line => line.includes('inside_name')).map(line => JSON.parse(line)), [{ level: 30 }])
})
