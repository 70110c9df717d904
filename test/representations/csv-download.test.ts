import { Type } from '@sinclair/typebox'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { defineFamily, type FamilyOptions, memoryStorage, Problem } from '../../lib/index.js'
import { parseCsv } from '../csv.js'
import { storages } from '../storages.js'

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
const people = defineFamily({
  name: 'people',
  singular: 'person',
  fields: Type.Object({ id: Type.Integer(), name: Type.String(), secret: Type.Optional(Type.Boolean()) }),
  create: ['name', 'secret']
})
const rooms = defineFamily({ name: 'rooms', singular: 'room', fields: Type.Object({ id: Type.Integer() }), create: [] })
const visits = defineFamily({
  name: 'visits',
  singular: 'visit',
  fields: Type.Object({
    id: Type.Integer(),
    person: Type.Integer(),
    guide: Type.Optional(Type.Integer()),
    room: Type.Integer(),
    at: Type.String()
  }),
  create: ['person', 'guide', 'room', 'at'],
  references: { person: people, guide: people, room: rooms }
})

async function visitsApp (storage: FamilyOptions['storage'], authorize?: FamilyOptions['authorize']) {
  const app = Fastify()
  const clock = () => new Date('2026-11-17T12:00:00Z')
  for (const family of [people, rooms, visits]) {
    app.register(family as typeof people, { storage, clock, ...authorize && { authorize } })
  }
  await app.ready()
  return app
}

async function fill (app: FastifyInstance): Promise<void> {
  for (const [url, payload] of [
    ['/people', { name: 'Äsop' }], ['/people', { name: '=Bob', secret: true }], ['/rooms', {}],
    ['/visits', { person: 1, room: 1, at: 'noon' }], ['/visits', { person: 2, guide: 1, room: 1, at: 'night' }]
  ] as const) {
    const { statusCode, body } = await app.inject({ method: 'POST', url, payload })
    if (statusCode !== 201) throw new Error(body)
  }
}

for (const { name, make } of storages) {
  t.test(`${name}: a browser gets titles, a mark and a name for the file`, async t => {
    const { storage, dispose } = await make()
    const app = await visitsApp(storage)
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    await fill(app)
    const fields = 'fields=id,person,guide,room,at'
    const saved = await app.inject({ url: `/visits?format=csv&sort=-id&${fields}`, headers: browser })
    t.equal(saved.body.charCodeAt(0), 0xfeff)
    t.strictSame(parseCsv(saved.body.slice(1)), [
      ['id', 'person', 'person title', 'guide', 'guide title', 'room', 'at'],
      ['2', '2', "'=Bob", '1', 'Äsop', '1', 'night'],
      ['1', '1', 'Äsop', '', '', '1', 'noon']
    ], 'rooms have no title but their id')
    t.equal(saved.headers['content-disposition'], 'attachment; filename="visits-2026-11-17.csv"')
    t.equal(saved.headers['content-type'], 'text/csv; charset=utf-8')
    t.equal(saved.headers.vary, 'Accept')

    for (const headers of [{}, { accept: 'text/csv' }, { accept: '*/*' }]) {
      const plain = await app.inject({ url: `/visits.csv?${fields}`, headers })
      t.equal(plain.body, 'id,person,guide,room,at\r\n1,1,,1,noon\r\n2,2,1,1,night\r\n', 'programs get what they got')
      t.notOk('content-disposition' in plain.headers)
    }
    const some = async (query: string) =>
      parseCsv((await app.inject({ url: `/visits.csv?${query}`, headers: browser })).body.slice(1))
    const second = [['at', 'guide', 'guide title'], ['night', '1', 'Äsop']]
    t.strictSame(await some('fields=at,guide&maxpagesize=1&page=2'), second, 'a page too')
    t.strictSame(await some('fields=at&gt=5'), [['at']], 'nothing but the names')
    t.strictSame(await some('fields=id,guide&expand=guide&gt=1'),
      [['id', 'guide', 'guide title'], ['2', (await expanded(app)), 'Äsop']], 'what was expanded')
    const named = await app.inject({ url: '/visits.csv?time-zone=Pacific/Auckland', headers: browser })
    t.equal(named.headers['content-disposition'], 'attachment; filename="visits-2026-11-18.csv"', 'the day there')
    const log = await app.inject({ url: '/visits/1/commands.csv?fields=action,params', headers: browser })
    t.equal(log.headers['content-disposition'], 'attachment; filename="commands-2026-11-17.csv"')
    t.strictSame(parseCsv(log.body.slice(1))[1], ['CreateVisit', 'person: 1; room: 1; at: noon'])
  })
}

async function expanded (app: FastifyInstance): Promise<string> {
  const { items: [guide] } = (await app.inject('/people?id=1')).json<{ items: Record<string, unknown>[] }>()
  return Object.entries(guide ?? {}).map(([name, value]) => `${name}: ${value}`).join('; ')
}

t.test('titles are only of items that the caller may read', async t => {
  const storage = memoryStorage()
  await fill(await visitsApp(storage))
  const titles = async (authorize: FamilyOptions['authorize']) => {
    const app = await visitsApp(storage, authorize)
    t.teardown(() => app.close())
    const answer = await app.inject({ url: '/visits.csv?fields=person', headers: browser })
    return parseCsv(answer.body.slice(1))
  }
  const head = ['person', 'person title']
  t.strictSame(await titles(() => ({})), [head, ['1', 'Äsop'], ['2', "'=Bob"]])
  t.strictSame(await titles((_request, { family }) => family === 'people'
    ? { where: [{ field: 'secret', op: 'null', is: true }] }
    : {}), [head, ['1', 'Äsop'], ['2', '']], 'by the conditions of the grant')
  t.strictSame(await titles((_request, { family }) => {
    if (family === 'people') throw new Problem('forbidden', 'No')
    return {}
  }), [head, ['1', ''], ['2', '']])
  const alone = Fastify()
  t.teardown(() => alone.close())
  alone.register(visits, { storage })
  const answer = await alone.inject({ url: '/visits.csv?fields=person', headers: browser })
  t.strictSame(parseCsv(answer.body.slice(1)), [head, ['1', ''], ['2', '']], 'where the family is not mounted')
})

t.test('no cell for people has JSON', async t => {
  const things = defineFamily({
    name: 'things', singular: 'thing', fields: Type.Object({ id: Type.Integer(), value: Type.Any() }), create: ['value']
  })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(things, { storage: memoryStorage() })
  const cells: readonly (readonly [unknown, string])[] = [
    [['a', 'b c', 1, true], 'a; b c; 1; true'],
    [{ city: 'Berlin', zip: 10115 }, 'city: Berlin; zip: 10115'],
    [[{ item: 'Tea', pieces: 2 }, { item: 'Cup', pieces: 1 }], 'item: Tea; pieces: 2\nitem: Cup; pieces: 1'],
    [{ at: { city: 'Rome' }, tags: ['a', 'b'], none: null }, 'at: (city: Rome); tags: (a; b); none: '],
    [[['a', 'b'], ['c']], '(a; b); (c)'],
    [[], ''], [{}, ''], ['text', 'text'], [7, '7'], [false, 'false'],
    [['=1+1', '-2'], "'=1+1;' -2"],
    [{ a: '=1' }, 'a: =1'],
    ['"quoted", and more', '"quoted", and more'],
    [[{ a: 'x' }, { a: '=cmd' }, { '=b': 'y' }], "a: x\na: =cmd\n'=b: y"]
  ]
  for (const [value] of cells) await app.inject({ method: 'POST', url: '/things', payload: { value } })
  const { body } = await app.inject({ url: '/things.csv?fields=value', headers: browser })
  t.strictSame(parseCsv(body.slice(1)).slice(1), cells.map(([, cell]) => [cell]))
})
