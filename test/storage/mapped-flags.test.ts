import { DatabaseSync } from '@photostructure/sqlite'
import fc from 'fast-check'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { defineFamily, memoryStorage, type Storage, Type } from '../../lib/index.js'
import { postgresStorage, type TableMapping } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { copyStorage, loadItems } from '../../lib/tools/index.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { isFast, runs } from '../size.js'

const machines = defineFamily({
  name: 'machines',
  singular: 'machine',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    level: Type.Integer(),
    active: Type.Boolean({ default: true }),
    rented: Type.Optional(Type.Boolean()),
    broken: Type.Union([Type.Boolean(), Type.Null()]),
    insured: Type.Boolean({ default: false })
  }),
  create: ['id', 'name', 'level', 'active', 'rented', 'broken', 'insured'],
  edit: ['name', 'level', 'active', 'rented', 'broken'],
  indexes: ['active', ['active', 'level']],
  unique: [['name', 'active']],
  states: { on: { tone: 'done', filter: 'active=true&rented.ne=true' }, off: { filter: 'active=false' } }
})

const columns: NonNullable<TableMapping['columns']> = {
  id: 'machine_id',
  active: { name: 'AKTIV_KZ', true: 'J', false: 'N' },
  rented: { name: 'rented', true: 'yes', false: 'no' },
  broken: { true: 1, false: 0 },
  insured: { name: 'vers_kz', true: 'Y', false: '-' }
}

type Sql = (text: string) => Promise<Record<string, unknown>[]>

interface Opened {
  readonly storage: Storage
  readonly sql: Sql
  open (columns: TableMapping['columns']): Storage
}

const rest = 'level integer NOT NULL, revision integer NOT NULL, created_at timestamp(3) with time zone NOT NULL, ' +
  'updated_at timestamp(3) with time zone NOT NULL, broken_on date'
const indexes = ['("AKTIV_KZ", level, machine_id)', '("AKTIV_KZ", machine_id)', '(level, "AKTIV_KZ")']
const indexAll = indexes.map((index, n) => `CREATE INDEX machine_index_${n} ON machines ${index}`).join('; ')

const databases: readonly { readonly name: string, make (t: Test): Promise<Opened> }[] = [
  {
    name: 'sqlite',
    async make (t) {
      const database = new DatabaseSync(':memory:')
      t.teardown(() => { database.close() })
      database.exec(`CREATE TABLE machines (machine_id integer PRIMARY KEY, name text NOT NULL,
        "AKTIV_KZ" char(1) NOT NULL, rented text COLLATE NOCASE, broken smallint, vers_kz, ` +
        `${rest.replaceAll(/timestamp\(3\) with time zone/g, 'DATETIME')}, UNIQUE (name, "AKTIV_KZ")); ${indexAll}`)
      const open = (columns: TableMapping['columns']) =>
        sqliteStorage({ database, tables: { machines: { table: 'machines', columns: columns ?? {} } } })
      const sql: Sql = async text => database.prepare(text).all() as Record<string, unknown>[]
      return { storage: open(columns), open, sql }
    }
  },
  ...isFast
    ? []
    : ['char(3)', 'kind', 'text', 'citext'].map(type => ({
        name: `postgres, ${type}`,
        async make (t: Test): Promise<Opened> {
          const schema = newSchema()
          const connectionString = await postgresUrl()
          const sql: Sql = async text => await withClient(async client => {
            await client.query(`SET search_path TO ${schema}, public`)
            return (await client.query(text)).rows as Record<string, unknown>[]
          })
          await withClient(async client => {
            await client.query(`CREATE SCHEMA ${schema}; CREATE EXTENSION IF NOT EXISTS citext`)
          })
          await sql(`CREATE TYPE kind AS ENUM ('J', 'X', 'N'); CREATE TABLE machines (machine_id bigint PRIMARY KEY,
            name text NOT NULL, "AKTIV_KZ" ${type} NOT NULL, rented varchar(3), broken numeric(1,0), vers_kz char(1),
            ${rest}, UNIQUE (name, "AKTIV_KZ")); ${indexAll}`)
          const opened: Storage[] = []
          t.teardown(async () => {
            for (const storage of opened) await storage.close()
            await dropSchema(schema)
          })
          const open = (columns: TableMapping['columns']) => {
            const tables = { machines: { table: 'machines', schema, columns: columns ?? {} } }
            const storage = postgresStorage({ connectionString, schema, poolSize: 4, tables })
            opened.push(storage)
            return storage
          }
          return { storage: open(columns), open, sql }
        }
      }))
]

async function serve (t: Test, storage: Storage): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(machines, { storage })
  await app.ready()
  return app
}

interface Read {
  readonly status: number
  readonly body: string
  readonly ids: readonly unknown[]
  readonly next: string | undefined
}

/** Without the times of creation. */
async function read (app: FastifyInstance, url: string): Promise<Read> {
  const { statusCode: status, body } = await app.inject(url)
  const { items = [], links } = body.startsWith('{')
    ? JSON.parse(body) as { items?: { id?: unknown }[], links?: { next?: string } }
    : {}
  const ids = items.map(({ id }) => id)
  return { status, body: body.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, ''), ids, next: links?.next }
}

const flag = fc.boolean()
const item = fc.record({
  level: fc.integer({ min: 0, max: 3 }),
  active: flag,
  insured: flag,
  broken: fc.option(flag),
  rented: fc.option(flag, { nil: undefined })
})

const filter = fc.constantFrom(
  'active=true', 'active=false', 'active.ne=true', 'active=true&active=false', 'active.ne=true&active.ne=false',
  'rented=true', 'rented=false', 'rented.ne=true', 'rented.null=true', 'rented.null=false', 'broken=false',
  'broken.null=true', 'broken.ne=false', 'insured=true', 'insured.ne=true', 'or.active=true&or.rented=false',
  'or.broken=true&or.rented.null=true&or.level=1', 'level>=2', 'level=1', 'state=on', 'state=off', 'search=a',
  'name.regex=1$'
)
const order = fc.uniqueArray(fc.constantFrom('id', 'level', 'active', 'rented', 'broken', 'insured'), { maxLength: 4 })
  .chain(names => fc.tuple(...names.map(name => fc.constantFrom(name, `-${name}`))))
const asked = fc.record({
  filters: fc.uniqueArray(filter, { maxLength: 3 }),
  order,
  size: fc.integer({ min: 1, max: 9 }),
  count: flag,
  format: fc.constantFrom('json', 'json', 'csv', 'xml'),
  fields: fc.constantFrom('', 'id,active', 'active,rented,broken', 'name')
})

for (const { name, make } of databases) {
  t.test(`${name}: booleans that are kept as other values are as others`, async t => {
    const { storage, sql } = await make(t)
    const memory = memoryStorage()
    const samples = fc.sample(item, { numRuns: 70, seed: 7 })
    const given = samples.map(({ rented, ...fields }, index) => ({
      id: index + 1, name: `${'ab'.charAt(index % 2)}${index}`, ...fields, ...rented === undefined ? {} : { rented }
    }))
    for (const each of [storage, memory]) await loadItems(each, machines, given)
    const [app, plain] = [await serve(t, storage), await serve(t, memory)]
    const kept = await sql('SELECT "AKTIV_KZ" AS active, rented, broken, vers_kz FROM machines ORDER BY machine_id')
    t.strictSame(kept.map(({ active, broken, ...row }) =>
      ({ active: String(active).trim(), broken: broken === null ? null : Number(broken), ...row })),
    samples.map(({ active, rented, broken, insured }) => ({
      active: active ? 'J' : 'N',
      broken: broken === null ? null : Number(broken),
      rented: rented === undefined ? null : rented ? 'yes' : 'no',
      vers_kz: insured ? 'Y' : '-'
    })))
    let pages = 0
    await fc.assert(fc.asyncProperty(asked, async ({ filters, order, size, count, format, fields }) => {
      const rest = [`sort=${order.join()}`, `maxpagesize=${size}`, `format=${format}`, `fields=${fields}`]
        .filter(part => !part.endsWith('='))
      let url: string | undefined = `/machines?${[...filters, ...rest, ...count ? ['count=exact'] : []].join('&')}`
      for (let turns = 0; url !== undefined && turns < 20; turns++) {
        const [got, expected] = await Promise.all([app, plain].map(each => read(each, String(url))))
        t.strictSame(got, expected)
        url = format === 'json' ? got?.next : undefined
        pages++
      }
    }), { numRuns: runs(75) })
    t.ok(pages >= runs(75))
    const target = memoryStorage()
    await copyStorage(storage, target, { families: [machines] })
    const all = async (storage: Storage): Promise<readonly object[]> =>
      (await machines.service({ storage }).find('', { limit: 100 })).items
    t.strictSame(await all(target), await all(storage), 'copied')
    t.match(await all(target), given)
  })

  t.test(`${name}: they are written`, async t => {
    const { storage, sql } = await make(t)
    const book = machines.service({ storage })
    const read = async (id: number): Promise<unknown[]> => {
      const [row] = await sql(`SELECT "AKTIV_KZ" AS active, rented, broken, vers_kz FROM machines
        WHERE machine_id = ${id}`)
      return Object.values(row ?? {}).map(value => value === null ? null : String(value).trim())
    }
    const { item: made } = await book.create({ id: 1, name: 'saw', level: 1, broken: null })
    t.match(made, { active: true, broken: null, insured: false })
    t.notOk('rented' in made)
    t.strictSame(await read(1), ['J', null, null, '-'])
    await book.run('edit', 1, { active: false, rented: true, broken: true }, { command: 'c-1' })
    t.strictSame(await read(1), ['N', 'yes', '1', '-'])
    t.match(await book.get(1), { active: false, rented: true, broken: true, insured: false, revision: 2 })
    t.match((await book.log(1)).items.at(-1), { params: { active: false, rented: true, broken: true } })
    await book.run('edit', 1, { rented: null, broken: null })
    t.strictSame(await read(1), ['N', null, null, '-'])
    await book.create({ id: 2, name: 'saw', level: 1, broken: false })
    await t.rejects(book.create({ id: 3, name: 'saw', level: 1, broken: false, active: false }), {
      code: 'taken', errors: [{ pointer: '/name' }, { pointer: '/active' }]
    })
    await t.rejects(book.run('edit', 2, { active: false }), { code: 'taken' })
    await sql('UPDATE machines SET vers_kz = NULL, revision = revision + 1 WHERE machine_id = 2')
    t.equal((await book.get(2)).insured, false, 'NULL is the default')
    t.strictSame((await book.find('insured=false&sort=insured')).items.map(({ id }) => id), [1, 2])
    await book.remove(2)
    t.strictSame(await read(2), [])
  })

  t.test(`${name}: a third value is shown as text, and stays`, async t => {
    const { storage, sql } = await make(t)
    const app = await serve(t, storage)
    const book = machines.service({ storage })
    for (const [id, active] of [true, false, true, false, true, false].entries()) {
      await book.create({ id: id + 1, name: `m${id}`, level: id % 2, broken: null, active })
    }
    await sql("UPDATE machines SET \"AKTIV_KZ\" = 'X' WHERE machine_id IN (2, 5)")
    t.equal((await book.get(2)).active as unknown, 'X')
    const ids = async (query: string): Promise<unknown[]> => (await book.find(query)).items.map(({ id }) => id)
    t.strictSame(await ids('active=true'), [1, 3])
    t.strictSame(await ids('active=false'), [4, 6])
    t.strictSame(await ids('active.ne=true'), [2, 4, 5, 6])
    t.strictSame(await ids('sort=active'), [4, 6, 1, 3, 2, 5])
    for (const sort of ['active', '-active', 'active,-level']) {
      const seen: unknown[] = []
      let url: string | undefined = `/machines?sort=${sort}&maxpagesize=1`
      while (url !== undefined && seen.length < 9) {
        const { ids, next }: Read = await read(app, url)
        seen.push(...ids)
        url = next
      }
      t.strictSame(seen.toSorted(), [1, 2, 3, 4, 5, 6], sort)
    }
    t.match((await app.inject('/machines?format=csv&fields=id,active')).body, /^2,X\r?$/m)
    await book.run('edit', 2, { name: 'other' })
    t.match(await book.get(2), { active: 'X', name: 'other' })
    await book.run('edit', 2, { active: true })
    t.strictSame(await ids('active=true'), [1, 2, 3])
  })

  t.test(`${name}: values that cannot be are errors at boot`, async t => {
    const { open } = await make(t)
    const wrong = async (changed: object, message: RegExp): Promise<void> => {
      const storage = open({ ...columns, ...changed } as TableMapping['columns'])
      await t.rejects(machines.service({ storage }).find(), { code: 'FST_DEALBOOK_INVALID_FLAG', message })
    }
    await wrong({ active: { name: 'AKTIV_KZ', true: 'J', false: 'J' } },
      /^machines: tables cannot map the boolean "active" to two values: both values are the same$/)
    await wrong({ active: { name: 'AKTIV_KZ', true: 'J', false: 0 } }, /one value is a text and the other an integer/)
    await wrong({ active: { name: 'AKTIV_KZ', true: 'J' } }, /"false" is missing; it must be a text or an integer/)
    await wrong({ active: { name: 'AKTIV_KZ', true: 'J', flase: 'N' } }, /unknown member "flase"/)
    await wrong({ active: { name: 'AKTIV_KZ', true: 1.5, false: 0 } }, /"true" must be a text or an integer/)
    await wrong({ level: { true: 1, false: 0 } }, /"level" to two values: the field is of the kind integer/)
    await wrong({ active: { name: 'AKTIV_KZ', true: 1, false: 0 } },
      /the column "AKTIV_KZ" cannot have 1 and 0: it has the type/)
    await wrong({ broken: { true: 'J', false: 'N' } }, /the column "broken" cannot have "J" and "N": it has the type/)
    if (!name.startsWith('postgres')) return
    await wrong({ rented: { true: 'ja', false: 'nein' } }, /"ja" and "nein": "nein" must have at most 3 characters$/)
    await wrong({ insured: { name: 'broken_on', true: 'ja', false: 'no' } }, /it has the type date$/)
    if (name.includes('kind')) {
      await wrong({ active: { name: 'AKTIV_KZ', true: 'J', false: 'F' } }, /"F" must be one of J, X, N$/)
    }
  })
}
