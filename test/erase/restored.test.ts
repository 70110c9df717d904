// An item that is erased after its deletion can still be read as it was, and be restored, with erased values.
import t from 'tap'
import { decimal, defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { erase } from '../../lib/tools/index.js'
import { storages } from '../storages.js'

const fields = {
  id: Type.Integer(),
  name: Type.String(),
  email: Type.Optional(Type.String({ format: 'email' })),
  code: Type.String(),
  label: Type.String(),
  price: decimal({ scale: 2 })
}
const people = defineFamily({
  name: 'people',
  singular: 'person',
  fields: Type.Object(fields),
  create: ['name', 'email', 'code', 'price'],
  edit: ['name', 'email', 'price'],
  unique: [['code']],
  derive: { label: ({ name, email }) => `${name} <${email ?? 'none'}>` },
  personal: ['name', 'email', 'code'],
  revert: true
})

for (const { name, make } of storages) {
  t.test(`${name}: an item that was erased after its deletion`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    // Each change has its own moment.
    let now = Date.UTC(2030, 0, 1)
    const book = people.service({ storage, clock: () => new Date(now++) })
    const create = async (code: string) =>
      (await book.create({ name: 'zq', email: 'zq@example.org', code, price: '1.50' })).item.id
    const [id, other] = [await create('one'), await create('two')]
    await book.run('edit', id, { name: 'zq two', price: '2.50' })
    for (const each of [id, other]) {
      await book.remove(each)
      await erase(storage, [people], { family: 'people', id: each, by: 'dpo' })
    }
    const erased = { name: 'erased', price: '2.50', label: 'erased' }
    const { code, ...past } = await book.get(id, { revision: 2 })
    t.match(past, { ...erased, revision: 2 })
    t.notOk('email' in past)
    t.match(await book.get(id, { revision: 1 }), { name: 'erased', price: '1.50', revision: 1 })
    t.match(await book.get(id, { at: past.updatedAt as string }), { price: '2.50' })
    t.equal(await book.can('restore', id), true)
    const { item, changed } = await book.restore(id)
    t.equal(changed, true)
    t.match(item, { ...erased, label: 'erased <none>', code, revision: 4 })
    t.match(await book.restore(other), { changed: true }, 'unique values differ')
    await t.rejects(book.get(id, { revision: 3 }), { code: 'not-found' }, 'it was deleted then')
    t.match(await book.get(id, { revision: 2 }), { price: '2.50' }, 'from before it was deleted')
    t.match((await book.revert(id, { to: 1 })).item, { name: 'erased', price: '1.50', revision: 5 })
    await book.remove(id)
    await erase(storage, [people], { family: 'people', id })
    t.match((await book.restore(id)).item, { revision: 7 }, 'erased once more')
  })
}

t.test('a value that is required by now and was not then', async t => {
  const storage = memoryStorage()
  const define = (code: object) => defineFamily({
    name: 'notes',
    singular: 'note',
    fields: Type.Object({ id: Type.Integer(), text: Type.String(), code: code as never }),
    create: ['text', 'code'],
    edit: ['code']
  } as never)
  const before = define(Type.Optional(Type.String())).service({ storage })
  const id = (await before.create({ text: 'a' } as never)).item['id'] as number
  await before.remove(id)
  const now = define(Type.String())
  const book = now.service({ storage })
  await t.rejects(book.restore(id), {
    code: 'wrong-state',
    statusCode: 409,
    message: 'The note cannot be restored: /code is required, and had no value',
    errors: [{ pointer: '/code', detail: 'is required, and had no value' }]
  })
  const hiding = now.service({ storage, authorize: () => ({ hide: ['code'] }) })
  await t.rejects(hiding.restore(id), { message: /^(?!.*code)/ })
  t.equal((await define(Type.String({ default: 'x' })).service({ storage }).restore(id)).item?.['code'], 'x')
})
