import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import {
  type AnyFamily, defineFamily, type FamilyMount, type FamilyOptions, findMounts, memoryStorage, shapeOf, type Storage,
  Type
} from '../../lib/index.js'
import { writeMigration } from '../../lib/tools/index.js'

const fields = Type.Object({ id: Type.Integer(), text: Type.String() })
const letters = defineFamily({ name: 'letters', singular: 'letter', fields, create: ['text'] })
const table = { ...shapeOf(letters), name: 'sent-letters' }

/** A family that notes how it is mounted. */
function makeNotes () {
  const mounted: { readonly mount: FamilyMount, readonly app: FastifyInstance, around: string[] }[] = []
  const notes = defineFamily({
    name: 'notes',
    singular: 'note',
    fields,
    create: ['text'],
    edit: ['text'],
    tables: [table],
    async onMount (mount, app) {
      const each = { mount, app, around: [] as string[] }
      mounted.push(each)
      app.get('/ping', async () => 'pong')
      await app.register(async below => {
        await below.register(letters, { storage: memoryStorage(), prefix: '/below' })
      })
      app.addHook('onReady', async () => {
        each.around = findMounts(app).map(({ prefix, model }) => `${prefix}/${model.name}`)
      })
    }
  })
  return { notes, mounted }
}

t.test('onMount is called for each registration, in a scope at its prefix', async t => {
  const { notes, mounted } = makeNotes()
  const storage = memoryStorage()
  const app = Fastify()
  t.teardown(() => app.close())
  const authorize = () => ({ principal: 'ann' })
  app.register(notes, { storage, prefix: '/a', version: 'v1', sunset: '2020-01-01' })
  app.register(notes.rename({ text: 'body' }), { storage, prefix: '/b', pageSize: 3 })
  app.register(notes.extend({ fields: Type.Object({ tag: Type.Optional(Type.String()) }) }), {
    storage: () => storage, prefix: '/c', authorize
  })
  app.register(letters, { storage, prefix: '/a' })
  await app.ready()
  t.strictSame(mounted.map(({ mount: { prefix, version, hasEnded, isDefault, isGuarded, storage: own } }) =>
    [prefix, version, hasEnded, isDefault, isGuarded, own === storage]), [
    ['/a', 'v1', true, true, false, true],
    ['/b', undefined, false, true, false, true],
    ['/c', undefined, false, true, true, false]
  ])
  t.strictSame(mounted.map(({ mount: { model } }) => model.members[1]), ['text', 'body', 'text'])
  t.match(mounted[1]?.mount.options, { storage, prefix: '/b', pageSize: 3 })
  t.equal((mounted[2]?.mount.options as FamilyOptions).authorize, authorize)
  for (const { app: scope, around } of mounted) {
    t.strictSame(around, ['/a/notes', '/a/letters', '/b/notes', '/c/notes'], 'not those below it')
    t.equal((await app.inject(`${scope.prefix}/ping`)).body, 'pong')
    t.equal((await app.inject(`${scope.prefix}/below/letters`)).statusCode, 200)
  }
  const [, renamed] = mounted.map(({ mount }) => mount)
  const { item } = await (renamed as FamilyMount).family.service({ storage }).create({ body: 'Tea' })
  t.match(item, { body: 'Tea' })
  t.equal((await app.inject(`/b/notes/${item.id}`)).json().body, 'Tea')
})

t.test('what onMount throws fails at boot', async t => {
  const failing = defineFamily({ name: 'notes', singular: 'note', fields, onMount () { throw new Error('No sender') } })
  const app = Fastify()
  app.register(failing, { storage: memoryStorage() })
  await t.rejects(async () => { await app.ready() }, { message: 'No sender' })
  for (const wrong of [{ onMount: 1 }, { tables: {} }, { tables: [1] }]) {
    const define = () => defineFamily({ name: 'notes', singular: 'note', fields, ...wrong as object })
    t.throws(define, { code: 'FST_DEALBOOK_INVALID_DEFINITION' }, JSON.stringify(wrong))
  }
})

t.test('tables are prepared with the family, by a mount and by a service', async t => {
  const { notes } = makeNotes()
  const others = defineFamily({
    name: 'others',
    singular: 'other',
    fields: Type.Object({ id: Type.Integer(), note: Type.Integer() }),
    references: { note: notes }
  })
  const open = () => {
    const prepared: string[] = []
    const storage: Storage = {
      ...memoryStorage(),
      async prepare ({ name }) { prepared.push(name) },
      async writeMigration (shapes) { return shapes.map(({ name }) => name).join() }
    }
    return { storage, prepared }
  }
  const names = (prepared: readonly string[]) => [...new Set(prepared)].sort()
  const mounted = open()
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(notes, { storage: mounted.storage })
  await app.ready()
  t.strictSame(names(mounted.prepared), ['commands', 'notes', 'sent-letters'])
  const served = open()
  await notes.service({ storage: served.storage }).find().catch(() => {})
  t.strictSame(names(served.prepared), ['commands', 'notes', 'sent-letters'])
  const referred = open()
  await others.service({ storage: referred.storage }).find().catch(() => {})
  t.strictSame(names(referred.prepared), ['notes', 'others'], 'only its own')
  const families: AnyFamily[] = [notes.rename({ text: 'body' })]
  t.equal(await writeMigration(mounted.storage, families), 'notes,sent-letters,commands')
})

t.test('a table has the shape of a family, under its stored names', t => {
  t.strictSame(shapeOf(letters.rename({ text: 'body' })), shapeOf(letters))
  t.strictSame(table.fields.map(({ name }) => name), ['id', 'text', 'revision', 'createdAt', 'updatedAt'])
  t.throws(() => shapeOf({ definition: { name: 'letters' } }), { code: 'FST_DEALBOOK_NO_FAMILY' })
  t.end()
})
