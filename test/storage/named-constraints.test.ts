import { DatabaseSync } from '@photostructure/sqlite'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { defineFamily, Type } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

const overlap = 'The machine is booked in these days already'

const bookings = defineFamily({
  name: 'bookings',
  singular: 'booking',
  fields: Type.Object({
    id: Type.Integer(), machine: Type.Integer(), first: Type.Integer(), last: Type.Integer(), price: Type.Integer()
  }),
  create: ['machine', 'first', 'last', 'price'],
  edit: ['last', 'price'],
  constraints: {
    bookings_no_overlap: { detail: overlap, pointers: ['/first', '/last'] },
    bookings_price: 'It is too cheap'
  }
})

async function check (t: Test, storage: Storage): Promise<void> {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(bookings, { storage })
  const send = async (method: 'PUT' | 'POST', url: string, payload: object) => {
    const { statusCode, body } = await app.inject({ method, url, payload })
    return { statusCode, ...JSON.parse(body) }
  }
  const booking = { machine: 1, first: 1, last: 5, price: 10 }
  t.match(await send('POST', '/bookings', booking), { statusCode: 201 })
  t.match(await send('POST', '/bookings', { ...booking, first: 6, last: 7 }), { statusCode: 201 })
  const expected = {
    statusCode: 409,
    type: 'urn:dealbook:problem:constraint',
    detail: overlap,
    errors: [{ pointer: '/first', detail: overlap }, { pointer: '/last', detail: overlap }]
  }
  t.match(await send('POST', '/bookings', { ...booking, first: 5, last: 6 }), expected)
  t.match(await send('PUT', '/bookings/1/edit', { last: 6 }), expected, 'of an operation too')
  const cheap = await send('POST', '/bookings', { ...booking, machine: 2, price: 0 })
  t.match(cheap, { statusCode: 409, detail: 'It is too cheap' })
  t.notOk('errors' in cheap)
  const size = await send('POST', '/bookings', { ...booking, machine: 2, first: 9, last: 8 })
  t.match(size, { statusCode: 409, detail: /^The database does not allow this/ }, 'one without a text')
  t.equal((await app.inject('/bookings')).json().items.length, 2, 'nothing was done')
  const service = bookings.service({ storage })
  await t.rejects(service.create({ ...booking, first: 2 }), { code: 'constraint', message: overlap })
}

t.test('postgres: a constraint that refuses is explained in the words of the family', async t => {
  const connectionString = await postgresUrl()
  const schema = newSchema()
  await withClient(client => client.query(`CREATE SCHEMA ${schema}; SET search_path = ${schema};
    CREATE TABLE bookings (
      id bigint PRIMARY KEY, machine bigint NOT NULL, first bigint NOT NULL, last bigint NOT NULL,
      price bigint NOT NULL, revision bigint NOT NULL, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
      CONSTRAINT bookings_price CHECK (price > 0), CONSTRAINT bookings_size CHECK (first <= last),
      CONSTRAINT bookings_no_overlap
        EXCLUDE USING gist (int8range(machine, machine, '[]') WITH &&, int8range(first, last, '[]') WITH &&)
    )`))
  const tables = { bookings: { table: 'bookings', schema } }
  const storage = postgresStorage({ connectionString, schema, tables })
  t.teardown(async () => {
    await storage.close()
    await dropSchema(schema)
  })
  await check(t, storage)
})

t.test('sqlite: so is one of SQLite, where a trigger is named by its message', async t => {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  const trigger = (event: string) => `CREATE TRIGGER no_overlap_${event} BEFORE ${event} ON bookings
    WHEN EXISTS (SELECT 1 FROM bookings WHERE machine = NEW.machine AND id <> NEW.id
      AND first <= NEW.last AND last >= NEW.first)
    BEGIN SELECT RAISE(ABORT, 'bookings_no_overlap'); END;`
  database.exec(`CREATE TABLE bookings (
      id INTEGER PRIMARY KEY, machine INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
      price INTEGER NOT NULL, revision INTEGER NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
      CONSTRAINT bookings_price CHECK (price > 0), CONSTRAINT bookings_size CHECK (first <= last)
    );
    ${trigger('INSERT')} ${trigger('UPDATE')}`)
  await check(t, sqliteStorage({ database, tables: { bookings: { table: 'bookings' } } }))
})

t.test('texts that are none are found when the family is defined', async t => {
  const define = (constraints: unknown) => () => defineFamily({ ...bookings.definition, constraints } as never)
  t.throws(define({ a: 7 }), /the constraint "a": must be a string, or an object with detail and pointers/)
  t.throws(define({ a: { detail: 'b' } }), /the constraint "a": "pointers" is missing/)
})
