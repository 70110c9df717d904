import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { TSchema } from '@sinclair/typebox'
import Fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { decimal, defineFamily, type Storage, Type } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { loadItems } from '../../lib/tools/index.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { isLong } from '../size.js'
import { storages } from '../storages.js'

const date = Type.String({ format: 'date' })
const moment = Type.String({ format: 'date-time' })
const cents = decimal({ scale: 2 })

interface Case {
  readonly type: string
  readonly schema: TSchema
  /** As texts of the database. The table has them again, after NULL, until it has 26 rows. */
  readonly values: readonly string[]
}

const numbers = [
  '0.1', '0.2', '0.3', '-0.1', '16777217', '3.4e38', '-3.4e38', '1e-40', '0', 'NaN', 'Infinity', '-Infinity'
]
const near = (start: string, end = ''): string[] => Array.from({ length: 9 }, (_, n) => `${start}${n}${end}`)
const days = [
  '-infinity', 'infinity', '4713-01-01 BC', '0044-03-15 BC', '0001-02-29 BC', '0001-01-01', '2026-11-15', '9999-12-31',
  '10000-01-01', '99999-12-31', '294276-12-30'
]
const moments = [
  ...days.map(day => day.replace(/\d( BC)?$/, '$& 12:30:00')),
  '2026-11-15 05:07:41.123456', '2026-11-15 05:07:41.123999',
  '2026-11-15 05:07:41.1235', '0044-03-15 05:07:41.123456 BC'
]
const texts = [
  'a\u0001', 'a\u0001b', 'a', '\u0001', '\uffff', '\ufffe', '\ufffd', 'a\u001eb', '"', '\'', '\\', '\u{1f600}',
  '\u{10ffff}', '', ' ', '\t', '\n', 'é', 'É', 'e', 'a\u007f'
]

const cases: readonly Case[] = [
  { type: 'real', schema: Type.Number(), values: [...numbers, ...near('1.000000')] },
  { type: 'double precision', schema: Type.Number(), values: [...numbers, '1e-300', '-1.7976931348623157e308'] },
  {
    type: 'numeric',
    schema: Type.Number(),
    values: [...near('0.1000000000000000000'), ...near('-9007199254740993.'), '12.50', '12.5', '1e400', '-1e400', 'NaN']
  },
  { type: 'numeric(30,10)', schema: Type.Number(), values: [...near('12345678901234567.89'), ...near('0.'), 'NaN'] },
  { type: 'numeric(10,2)', schema: Type.Number(), values: [...near('0.1'), ...near('-12345678.9')] },
  {
    type: 'bigint',
    schema: Type.Integer(),
    values: [
      ...near('900719925474099'), ...near('-900719925474099'), '9223372036854775807', '-9223372036854775808', '0'
    ]
  },
  { type: 'bigint', schema: Type.Number(), values: near('900719925474099') },
  {
    type: 'numeric',
    schema: cents,
    values: [
      ...near('0.1000000000000000000'), ...near('-9007199254740993.'), '12.50', '12.5', '9.999', '-0.001', '1e400',
      '-1e400', '12345678901234.5', 'NaN', 'Infinity', '-Infinity'
    ]
  },
  { type: 'numeric(30,10)', schema: cents, values: [...near('12345678901234567.89'), ...near('0.'), '100', 'NaN'] },
  { type: 'numeric(10,2)', schema: cents, values: [...near('0.1'), ...near('-12345678.9'), '100', '20'] },
  { type: 'numeric(12,4)', schema: cents, values: [...near('0.1'), ...near('0.111'), '100', '20.5'] },
  { type: 'bigint', schema: cents, values: [...near('900719925474099'), ...near('-900719925474099'), '9', '10'] },
  { type: 'integer', schema: cents, values: ['-10', '-9', '0', '9', '10', '100'] },
  { type: 'date', schema: date, values: [...days, '5874897-12-31'] },
  { type: 'timestamp', schema: moment, values: moments },
  { type: 'timestamptz', schema: moment, values: moments },
  { type: 'timestamp(3)', schema: moment, values: moments },
  { type: 'timestamptz(3)', schema: moment, values: moments },
  { type: 'text', schema: Type.String(), values: texts },
  { type: 'varchar(20)', schema: Type.String(), values: texts }
]

const ids = Array.from({ length: 26 }, (_, n) => n + 1)

function listRows ({ values }: Case): (string | undefined)[] {
  return ids.map(id => [...values, undefined][id % (values.length + 1)])
}

function nameTable (index: number): string {
  return `walk_${index}`
}

// What the text of a database could be, and what looks like it.
const forged: readonly unknown[] = [
  '9223372036854775807', '9223372036854775808', '-9223372036854775809', '9'.repeat(18), '9'.repeat(19), '9'.repeat(400),
  '00009007199254740993', '9007199254740993.0', '9e18', 9e18, 1e308, '1e400', 'NaN', 'nan', 'Infinity', '-Infinity',
  'infinity', '-infinity', 'now', 'today', 'epoch', '0044-03-15 BC', '4714-01-01 BC', '0000-01-01', '0001-02-30 BC',
  '5874897-12-31', '5874898-01-01', '294277-01-01T00:00:00.000Z', '294276-12-31T23:59:59.999Z',
  '0044-03-15T05:07:41.123Z BC', '4713-01-01T00:00:00.000Z BC', '2026-13-01', '2026-11-15T25:00:00.000Z', '', ' ',
  'a\u0001', 'a\u0000b', '\ud800', '\uffff', '\'; DROP TABLE walk_0; --', true, false, null, [], {}, [[1]]
]

/** Made-up cursors are 400, or lead somewhere: they never reach a database that fails because of them. */
async function checkForged (t: Test, app: FastifyInstance, families: readonly string[]): Promise<void> {
  const orders = [['value,id', 'value'], ['-value,id', '-value']] as const
  for (const [family, name] of families.entries()) {
    for (const [index, value] of forged.entries()) {
      // Both for each value and for each family, but not for each value of each.
      for (const [order, sort] of isLong ? orders : [orders[(family + index) % 2 as 0 | 1]]) {
        const content = Buffer.from(JSON.stringify([`${name} ${order}`, true, value, 1])).toString('base64url')
        const { statusCode, body } = await app.inject(`/${name}?sort=${sort}&after=${content}`)
        if (statusCode !== 200 && statusCode !== 400) t.fail(`${name} by ${sort}: ${JSON.stringify(value)}: ${body}`)
      }
    }
  }
  t.pass('made-up cursors')
}

interface Page {
  readonly items: readonly { readonly id: number }[]
  readonly links: { readonly next?: string, readonly prev?: string }
}

async function checkWalks (t: Test, cases: readonly Case[], storage: Storage): Promise<void> {
  const app = Fastify()
  t.teardown(() => app.close())
  for (const [index, { schema }] of cases.entries()) {
    const fields = Type.Object({ id: Type.Integer(), value: Type.Optional(schema) })
    app.register(defineFamily({ name: `walks${index}`, singular: `walk${index}`, fields }), { storage })
  }
  await checkForged(t, app, cases.map((_, index) => `walks${index}`))
  for (const [index, { type }] of cases.entries()) {
    for (const sort of ['value', '-value']) {
      const name = `${type} by ${sort}`
      const forwards = await walk(`/walks${index}?maxpagesize=3&sort=${sort}`, 'next')
      t.strictSame(forwards.ids.toSorted((a, b) => a - b), ids, `${name}: each row once`)
      const backwards = await walk(forwards.last, 'prev')
      t.strictSame(backwards.ids, forwards.ids.toReversed(), `${name}: the same backwards`)
    }
  }

  /** Ends early where an answer is not 200, and where there are far too many pages. */
  async function walk (start: string, link: 'next' | 'prev') {
    const ids: number[] = []
    let last = start
    for (let url: string | undefined = start; url !== undefined && ids.length < 100;) {
      const { statusCode, body }: LightMyRequestResponse = await app.inject(url)
      if (statusCode !== 200) {
        t.fail(`${url}: ${statusCode}: ${body.slice(0, 300)}`)
        break
      }
      const { items, links } = JSON.parse(body) as Page
      const shown = items.map(({ id }) => id)
      ids.push(...link === 'next' ? shown : shown.toReversed())
      last = url
      url = links[link]
    }
    return { ids, last }
  }
}

for (const { name, make } of storages) {
  t.test(`${name}: made-up cursors do no harm to our own tables`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = Fastify()
    t.teardown(() => app.close())
    const schemas = [Type.Integer(), Type.Number(), cents, date, moment, Type.String(), Type.Boolean()]
    for (const [index, schema] of schemas.entries()) {
      const fields = Type.Object({ id: Type.Integer(), value: Type.Optional(schema) })
      const family = defineFamily({ name: `owns${index}`, singular: `own${index}`, fields })
      app.register(family, { storage })
      await loadItems(storage, family, [{ id: 1 }, { id: 2 }])
    }
    for (const index of schemas.keys()) {
      const { next } = (await app.inject(`/owns${index}?sort=value&maxpagesize=1`)).json().links
      t.match((await app.inject(next)).json(), { items: [{ id: 2 }] }, 'a walk over absent values')
    }
    await checkForged(t, app, schemas.map((_, index) => `owns${index}`))
  })
}

t.test('postgres: every row of a table of others comes once, whatever the type of the order', async t => {
  const schema = newSchema()
  t.teardown(() => dropSchema(schema))
  await withClient(async client => {
    await client.query(`CREATE SCHEMA ${schema}`)
    for (const [index, each] of cases.entries()) {
      const table = `${schema}.${nameTable(index)}`
      await client.query(`CREATE TABLE ${table} (id bigint PRIMARY KEY, value ${each.type})`)
      const given = 'unnest($1::int[], $2::text[]) AS given (id, value)'
      await client.query(`INSERT INTO ${table} SELECT id, value::${each.type} FROM ${given}`, [ids, listRows(each)])
    }
  })
  const tables = Object.fromEntries(cases.map((_, index) => [`walks${index}`, { table: nameTable(index), schema }]))
  const storage = postgresStorage({ connectionString: await postgresUrl(), schema, poolSize: 2, tables })
  t.teardown(() => storage.close())
  await checkWalks(t, cases, storage)
})

t.test('sqlite: every row of a table of others comes once, whatever the type of the order', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'dealbook-walks-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const file = join(folder, 'others.db')
  const types: Record<string, string> = { bigint: 'INTEGER', 'double precision': 'REAL', text: 'TEXT' }
  const reals = [...numbers.slice(0, -3), '0.30000000000000004', '9.5', '10', '1e17', '1.5e17', '12345678901234567890']
  const isKept = ({ type, schema }: Case): boolean =>
    type in types && (schema === cents || type !== 'bigint' || schema['type'] === 'integer')
  const kept = [
    ...cases.filter(isKept),
    { type: 'double precision', schema: cents, values: reals },
    { type: 'numeric(10,2)', schema: cents, values: [...near('0.1'), ...near('-12345678.9'), '100', '20', '0.125'] }
  ]
  const database = new DatabaseSync(file)
  for (const [index, each] of kept.entries()) {
    const type = types[each.type] ?? 'NUMERIC'
    const table = nameTable(index)
    database.exec(`CREATE TABLE ${table} (id INTEGER PRIMARY KEY, value ${type})`)
    const insert = database.prepare(`INSERT INTO ${table} VALUES (?, CAST(? AS ${type}))`)
    for (const [at, value = null] of listRows(each).entries()) insert.run(ids[at] as number, value)
  }
  database.close()
  const tables = Object.fromEntries(kept.map((_, index) => [`walks${index}`, { table: nameTable(index) }]))
  const storage = sqliteStorage({ file, tables })
  t.teardown(() => storage.close())
  await checkWalks(t, kept, storage)
})
