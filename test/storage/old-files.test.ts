import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { customers, deals, defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { openDatabase } from '../../lib/storage/sqlite/driver.js'
import type { SqliteOptions } from '../../lib/storage/sqlite/sqlite-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { copyStorage, prune, writeMigration } from '../../lib/tools/index.js'

// A file as the version 5deb5eb wrote it, and what that version read from it.

const dump = readFileSync('test/storage/dumps/5deb5eb.sql', 'utf8')
const expected = JSON.parse(readFileSync('test/storage/dumps/5deb5eb.json', 'utf8')) as
  Record<string, { id: string, revision: number, name?: string }[]>

// With the members that the definitions had then.
const rooms = defineFamily({
  name: 'rooms',
  singular: 'room',
  fields: Type.Object({
    id: Type.Integer(),
    number: Type.String({ maxLength: 20 }),
    size: Type.Number(),
    open: Type.Boolean({ default: true })
  }),
  create: ['number', 'size'],
  edit: ['size', 'open'],
  unique: [['number']],
  order: ['-number']
})
const bookings = defineFamily({
  name: 'bookings',
  singular: 'booking',
  fields: Type.Object({
    id: Type.String(),
    room: Type.Integer(),
    day: Type.String({ format: 'date' }),
    from: Type.Optional(Type.String({ format: 'date-time' })),
    guests: Type.Union([Type.Integer(), Type.Null()]),
    tags: Type.Optional(Type.Array(Type.String())),
    note: Type.Optional(Type.String())
  }),
  create: ['room', 'day', 'from', 'guests', 'tags', 'note'],
  edit: ['note', 'guests', 'tags'],
  unique: [['room', 'day']],
  references: { room: rooms },
  order: ['-createdAt']
})
const families = [customers, deals, rooms, bookings]

async function openOld (t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'dealbook-old-'))
  const file = join(folder, 'old.db')
  const database = await openDatabase(file)
  database.exec(dump)
  t.teardown(() => {
    database.close()
    return rm(folder, { recursive: true })
  })
  const open = (options: SqliteOptions = {}): Storage => {
    const storage = sqliteStorage({ file, ...options })
    t.teardown(() => storage.close())
    return storage
  }
  const listIndexes = () => database.prepare('SELECT name FROM sqlite_master WHERE type = \'index\'').all()
  return { open, listIndexes }
}

async function readAll (storage: Storage): Promise<Record<string, unknown>> {
  const order = [{ field: 'id', descending: false }]
  const query = { where: [], order, offset: 0, limit: 1000, count: false }
  const names = Object.keys(expected)
  const read = await Promise.all(names.map(async name => [name, (await storage.find(name, query)).items] as const))
  // Entries had no position then.
  return Object.fromEntries(read.map(([name, items]) => [name, items.map(({ position, ...item }) => item)]))
}

t.test('only positions and indexes are missing of it, nothing dropped, and all is read as it was', async t => {
  const { open, listIndexes } = await openOld(t)
  const before = listIndexes()
  const statements = (await writeMigration(open(), families)).trim().split(';\n')
  t.match(statements, [
    /^ALTER TABLE "commands" ADD COLUMN "created_high" INTEGER$/,
    /^ALTER TABLE "commands" ADD COLUMN "created_low" INTEGER$/,
    /^ALTER TABLE "commands" ADD COLUMN "position" INTEGER$/,
    /^CREATE INDEX [^;]*"commands_position_created_at_id_idx"/,
    /^CREATE INDEX [^;]*"commands_family_position_idx"/,
    /^CREATE INDEX [^;]*"commands_principal_idx"/,
    /^CREATE UNIQUE INDEX [^;]*"commands_created_high_created_low_key"/,
    /^UPDATE "commands" SET "position"/
  ])
  t.equal(statements.length, 8)
  for (const migrate of ['auto', 'check', 'off'] as const) {
    const storage = open({ migrate })
    for (const family of families) await family.service({ storage }).find()
    t.strictSame(await readAll(storage), expected, migrate)
  }
  const added = ['position_created_at_id_idx', 'family_position_idx', 'principal_idx', 'created_high_created_low_key']
  t.same(listIndexes(), [...before, ...added.map(end => ({ name: `commands_${end}` }))])
  t.equal(await writeMigration(open(), families), '')
})

t.test('it is changed, replayed, searched, pruned and copied as any other', async t => {
  const { open } = await openOld(t)
  const storage = open()
  const book = deals.service({ storage })
  const [first, second] = expected['deals'] as [{ id: string, revision: number }, { id: string }]
  t.match(await book.run('change-price', first.id, { newPrice: 0.25, reason: 'better' },
    { command: 'price-0', principal: 'ann' }), { replayed: true })
  t.match(await book.run('unhold', second.id), { changed: true })
  t.strictSame((await book.log(second.id)).items.map(({ revision }) => revision), [1, 2, 3, 3, 4])
  t.equal((await book.find('name.regex=^x{300}$')).items.length, 0, 'it was deleted')
  t.equal((await book.find('status=completed&sort=-price,name')).items.length, 2)

  const own = { rooms: rooms.service({ storage }), bookings: bookings.service({ storage }) }
  t.strictSame((await own.rooms.find()).items.map(({ number }) => number), ['R3', 'R2', 'R1'])
  await t.rejects(own.rooms.create({ number: 'R2', size: 1 }), { code: 'taken' })
  await t.rejects(own.bookings.create({ room: 9, day: '2026-05-05', guests: 1 }), { code: 'invalid-body' })
  await t.rejects(own.rooms.remove(1), { code: 'in-use' })
  t.equal((await own.rooms.create({ number: 'R4', size: 1 })).item.id, 4)
  t.equal((await own.bookings.find('tags.null=false')).items.length, 2)

  const target = memoryStorage()
  await copyStorage(storage, target, { families })
  t.strictSame(await readAll(target), await readAll(storage))
  t.equal(await prune(storage, { before: '2026-01-02' }), expected['commands']?.length)
})
