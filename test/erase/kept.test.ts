import { DatabaseSync } from '@photostructure/sqlite'
import t from 'tap'
import { defineFamily, memoryStorage, type Storage, Type } from '../../lib/index.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { erase } from '../../lib/tools/index.js'
import { families, people } from './people.js'
import { readRows } from './places.js'

const born = { born: null, phones: [], notes: [] }

t.test('a retry of an erased command is not done again, and others are replayed', async t => {
  const storage = memoryStorage()
  const book = people.service({ storage })
  const made = { name: 'zq', code: 'zq', ...born }
  const { item: { id } } = await book.create(made, { key: 'made' })
  const renaming = { to: 'zq two', because: 'none' }
  await book.run('rename', id, renaming, { command: 'renamed' })
  await book.run('raise', id, { by: 2 }, { command: 'raised' })
  await book.run('leave', id, {}, { command: 'left' })
  await t.rejects(book.run('rename', id, { to: 'zq', because: '' }, { command: 'refused' }), { code: 'wrong-state' })
  await erase(storage, families, { family: 'people', id })
  const before = await readRows(storage, ['people', 'commands'])
  const refused = { code: 'id-reused' }
  await t.rejects(book.create(made, { key: 'made' }), refused)
  await t.rejects(book.run('rename', id, renaming, { command: 'renamed' }), refused)
  await t.rejects(book.run('rename', id, { to: 'erased', because: 'none' }, { command: 'renamed' }), refused)
  await t.rejects(book.run('rename', id, { to: 'zq', because: '' }, { command: 'refused' }), refused)
  t.match(await book.run('raise', id, { by: 2 }, { command: 'raised' }), { replayed: true })
  t.strictSame(await readRows(storage, ['people', 'commands']), before)
})

t.test('versions that differ are erased together', async t => {
  const storage = memoryStorage()
  const define = (fields: object, personal: string[]) => defineFamily({
    name: 'notes',
    singular: 'note',
    fields: Type.Object({ id: Type.Integer(), writer: Type.String(), ...fields }),
    create: ['writer', ...Object.keys(fields)],
    personal
  } as never)
  const first = define({}, [])
  const second = define({ mail: Type.Optional(Type.String()) }, ['writer', 'mail'])
  const third = define({ mail: Type.String({ default: 'none' }) }, ['mail'])
  await third.service({ storage }).create({ writer: 'zq', mail: 'zq@example.org' } as never)
  await erase(storage, [first, second, third], { family: 'notes', id: 1 })
  t.match(await storage.get('notes', 1), { writer: 'erased', mail: 'erased', revision: 2 })
  t.notOk(JSON.stringify(await readRows(storage, ['notes', 'commands'])).includes('zq'))
})

t.test('an item of a mapped table', async t => {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => { database.close() })
  database.exec(`CREATE TABLE members (member_no integer PRIMARY KEY, full_name text NOT NULL, "E-MAIL" text,
    revision integer NOT NULL, created_at text NOT NULL, updated_at text NOT NULL, comment text)`)
  const columns = { id: 'member_no', name: 'full_name', email: 'E-MAIL' }
  const storage: Storage = sqliteStorage({ database, tables: { members: { table: 'members', columns } } })
  const members = defineFamily({
    name: 'members',
    singular: 'member',
    fields: Type.Object({ id: Type.Integer(), name: Type.String(), email: Type.Optional(Type.String()) }),
    create: ['name', 'email'],
    edit: ['name', 'email'],
    personal: ['name', 'email']
  })
  const book = members.service({ storage })
  const { item: { id } } = await book.create({ name: 'zq', email: 'zq@example.org' })
  database.exec("UPDATE members SET comment = 'kept'")
  await book.run('edit', id, { name: 'zq two' })
  const report = await erase(storage, [members], { family: 'members', id })
  t.match(report, { items: { members: 1 }, entries: { members: 2 } })
  t.match(database.prepare('SELECT * FROM members').all(), [
    { full_name: 'erased', 'E-MAIL': null, revision: 3, comment: 'kept' }
  ])
  t.notOk(JSON.stringify(database.prepare('SELECT * FROM commands').all()).includes('zq'))
  await storage.close()
})
