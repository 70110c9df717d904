import { EventEmitter, once } from 'node:events'
import Fastify from 'fastify'
import t from 'tap'
import { type Condition, defineFamily, Type } from '../../lib/index.js'
import { storages } from '../storages.js'

interface Note {
  id: number
  text: string
  size: number
  more?: { list: unknown[] }
}

type Rules = Partial<Record<'allowed' | 'apply' | 'initial', (...given: never[]) => unknown>>

/** A family with one operation, `mark`, whose functions are the host's mistakes. */
function notesWith ({ allowed = () => true, apply = (note: Note) => note, initial = (note: Note) => note }: Rules) {
  return defineFamily({
    name: 'notes',
    singular: 'note',
    fields: Type.Object({
      id: Type.Integer(),
      text: Type.String(),
      size: Type.Number({ default: 1 }),
      more: Type.Optional(Type.Object({ list: Type.Array(Type.Any()) }))
    }),
    create: ['text', 'more'],
    initial: initial as (note: object) => never,
    operations: {
      mark: {
        name: 'mark',
        verb: 'mark',
        participle: 'marked',
        noun: 'marks',
        action: 'MarkNote',
        params: Type.Object({ by: Type.Optional(Type.Object({ names: Type.Array(Type.String()) })) }),
        allowed: allowed as () => boolean,
        apply: apply as () => never
      }
    }
  })
}

class Odd {
  a = 1

  toJSON (): string {
    return 'c'
  }
}

const changed = (note: Note) => ({ ...note, size: note.size + 1 })
const noVerdict = { code: 'FST_DEALBOOK_INVALID_VERDICT' }
const noItem = { code: 'FST_DEALBOOK_INVALID_ITEM' }
const loop: { list: unknown[] } = { list: [] }
loop.list.push(loop, loop)

/** What is wrong, and the error that `mark` fails with, on every storage. */
const mistakes: Record<string, Rules & { then: Record<string, unknown> }> = {}
for (const verdict of [undefined, null, 0, 1, NaN, {}, Symbol('a')]) {
  mistakes[`allowed returns ${String(verdict)}`] = { allowed: () => verdict, apply: changed, then: noVerdict }
}
mistakes['allowed returns a promise'] = { allowed: async () => true, apply: changed, then: noVerdict }
mistakes['allowed rejects'] = { allowed: async () => { throw new Error('late') }, apply: changed, then: noVerdict }
for (const text of ['\u0000', '\ud800', '\uffff']) {
  mistakes[`apply returns the text ${JSON.stringify(text)}`] =
    { apply: (note: Note) => ({ ...note, text }), then: { ...noItem, message: /\/text must not contain/ } }
}
const values =
  [Infinity, -Infinity, NaN, 2 ** 60, 1n, () => 1, Symbol('a'), new Date(0), new Map(), '\ud800']
for (const value of values) {
  mistakes[`apply returns a nested ${String(value)}`] = {
    apply: (note: Note) => ({ ...note, more: { list: [value] } }),
    then: { ...noItem, message: /\/more\/list\/0 must/ }
  }
}
for (const size of [Infinity, NaN]) {
  mistakes[`apply returns ${size}`] = { apply: (note: Note) => ({ ...note, size }), then: noItem }
}
mistakes['apply returns an item that contains itself'] =
  { apply: (note: Note) => ({ ...note, more: loop }), then: noItem }
const frozen = { code: 'FST_DEALBOOK_CHANGED_ARGUMENT', message: /notes, (mark|create): .*(read only|not extensible)/ }
for (const [result, what] of [[undefined, 'nothing'], [null, 'null'], [7, 'a value of the type number']] as const) {
  const message = 'fastify-dealbook, notes, mark: the resulting item is invalid: it must be an object, but the rule ' +
    `returned ${what}`
  mistakes[`apply returns ${what}`] = { apply: () => result, then: { ...noItem, message } }
}
mistakes['apply rejects'] =
  { apply: async () => { throw new Error('late') }, then: { ...noItem, message: /but the rule returned a promise$/ } }
mistakes['apply changes the item'] = { apply: (note: Note) => { note.size++; return note }, then: frozen }
mistakes['apply changes what is in the item'] =
  { apply: (note: Note) => { note.more?.list.push(2); return note }, then: frozen }
mistakes['apply changes the params'] =
  { apply: (note: Note, params: { by: unknown }) => { params.by = 1; return changed(note) }, then: frozen }
mistakes['apply changes what is in the params'] = {
  apply: (note: Note, { by }: { by: { names: string[] } }) => { by.names.push('eve'); return changed(note) },
  then: frozen
}
mistakes['apply changes the context'] = {
  apply: (note: Note, _: object, context: { now: string }) => { context.now = ''; return changed(note) },
  then: frozen
}
mistakes['allowed changes the params'] = {
  allowed: (_: Note, { by }: { by: { names: string[] } }) => { by.names.push('eve'); return true },
  apply: changed,
  then: frozen
}

for (const { name, make } of storages) {
  t.test(`${name}: a rule that returns or changes what it must not is 500, with nothing done`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { item: { id } } = await notesWith({}).service({ storage }).create({ text: 'a', more: { list: [1] } })
    for (const [what, { then, ...rules }] of Object.entries(mistakes)) {
      const notes = notesWith(rules).service({ storage })
      const marking = notes.run('mark', id, { by: { names: ['ann'] } }, { command: 'c-1' })
      await t.rejects(marking, then as { code: string }, what)
      t.match(await notes.get(id), { revision: 1, size: 1, text: 'a', more: { list: [1] } }, 'nothing is done')
      t.strictSame((await notes.log(id)).items.length, 1, 'nor recorded')
    }
    for (const value of values) {
      const initial = (note: Note) => ({ ...note, more: { list: [value] } })
      await t.rejects(notesWith({ initial }).service({ storage }).create({ text: 'b' }), noItem, String(value))
    }
    const inPlace = (note: Note) => { note.more?.list.push(2); return note }
    const created = notesWith({ initial: inPlace }).service({ storage }).create({ text: 'b', more: { list: [] } })
    await t.rejects(created, frozen)
    t.equal((await notesWith({}).service({ storage }).find()).items.length, 1)
    const apply = (note: Note) => ({ ...note, more: { list: [undefined, { a: undefined, b: 1 }, new Odd()] } })
    await notesWith({ apply }).service({ storage }).run('mark', id)
    const { more } = await notesWith({}).service({ storage }).get(id)
    t.strictSame(more, { list: [null, { b: 1 }, 'c'] }, 'as JSON writes it')
  })
}

t.test('a verdict that is none is 500, in the log of the host, and not offered', async t => {
  const { storage, dispose } = await (storages[0] as typeof storages[number]).make()
  t.teardown(dispose)
  const lines: string[] = []
  const app = Fastify({ logger: { stream: { write: (line: string) => { lines.push(line) } } } })
  app.register(notesWith({ allowed: () => undefined, apply: changed }), { storage })
  t.teardown(() => app.close())
  const { item: { id } } = await notesWith({}).service({ storage }).create({ text: 'a' })
  const answer = await app.inject({ method: 'PUT', url: `/notes/${id}/mark` })
  t.equal(answer.statusCode, 500, answer.body)
  t.notMatch(answer.body, /allowed returned/, 'the client is not told')
  t.match(lines.join(''), /mark: allowed returned nothing/)
  t.match((await app.inject(`/notes/${id}/operations`)).json(), { items: [{ name: 'mark', allowed: false }] })
})

for (const { name, make } of storages) {
  t.test(`${name}: writers of an item do not wait for those who may not see it`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const notes = notesWith({ apply: changed })
    const hidden: Condition[] = [{ field: 'text', op: 'eq', values: ['another'] }]
    const hold = new EventEmitter()
    let isHeld = false
    const slow = {
      ...storage,
      // Holds a read of the stranger.
      async get (family: string, id: string | number, signal?: AbortSignal) {
        const item = await storage.get(family, id, signal)
        if (isHeld) {
          hold.emit('held')
          await once(hold, 'free')
        }
        return item
      }
    }
    const service = notes.service({
      storage: slow,
      authorize: call => call.principal === 'eve' ? { principal: 'eve', where: hidden } : { principal: 'ann' }
    })
    const { item: { id } } = await service.create({ text: 'a' }, { principal: 'ann' })
    isHeld = true
    const held = once(hold, 'held')
    const refused = service.run('mark', id, {}, { principal: 'eve' })
    await held
    isHeld = false
    const done = await service.run('mark', id, {}, { principal: 'ann' })
    t.equal(done.item?.revision, 2, 'while the stranger is still waiting')
    hold.emit('free')
    await t.rejects(refused, { code: 'not-found' })
  })
}

for (const { name, make } of storages) {
  t.test(`${name}: the defaults in the host's schema are not frozen`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const tags = { list: ['new'] }
    const fields = Type.Object({ id: Type.Integer(), text: Type.String() })
    const labels = (properties: typeof fields.properties) => defineFamily({
      name: 'labels', singular: 'label', fields: Type.Object(properties), create: ['text'], edit: ['text']
    })
    const { item: { id } } = await labels(fields.properties).service({ storage }).create({ text: 'a' })
    const later = labels({ ...fields.properties, tags: Type.Unknown({ default: tags }) } as typeof fields.properties)
    const service = later.service({ storage })
    await service.run('edit', id, { text: 'b' })
    await service.create({ text: 'c' })
    t.notOk(Object.isFrozen(tags))
    t.notOk(Object.isFrozen(tags.list))
    tags.list.push('changed later')
    t.match(await service.create({ text: 'd' }), { item: { tags: { list: ['new'] } } })
  })
}
