import { equal } from 'node:assert/strict'
import fc from 'fast-check'
import Fastify, { type FastifyRequest, type InjectOptions } from 'fastify'
import t from 'tap'
import {
  type AnyFamily, type Committed, type Condition, decimal, defineFamily, type FamilyOptions, type Intent, Problem,
  type Storage, Type
} from '../../lib/index.js'
import { mcp } from '../../lib/mcp/mcp.js'
import { runs } from '../size.js'
import { storages } from '../storages.js'

// Whatever is sent, a renamed family answers as the family itself, but for the names.

const words = (verb: string, action: string) =>
  ({ name: verb, verb, participle: `${verb}-done`, noun: `${verb}s`, action, params: Type.Object({}) })

const zones = defineFamily({
  name: 'zones',
  singular: 'zone',
  fields: Type.Object({
    id: Type.Integer(), tag: Type.String(), hue: Type.String(), used: Type.Integer({ default: 0 })
  }),
  create: ['tag', 'hue'],
  edit: ['tag']
})

const things = defineFamily({
  name: 'things',
  singular: 'thing',
  fields: Type.Object({
    id: Type.Integer(),
    alpha: Type.String({ maxLength: 5 }),
    bravo: Type.String(),
    gamma: Type.Integer(),
    delta: Type.Optional(Type.Integer()),
    sum: decimal({ scale: 2 }),
    mood: Type.Union([Type.Literal('open'), Type.Literal('shut')], { default: 'open' }),
    memo: Type.Union([Type.String(), Type.Null()])
  }),
  references: { gamma: zones, delta: 'things' },
  unique: [['bravo', 'mood']],
  order: ['-sum', 'alpha'],
  title: 'alpha',
  list: ['alpha', 'sum', 'mood'],
  state: ({ mood, alpha }) => `${mood} ${alpha}`,
  create: { fields: ['alpha', 'bravo', 'gamma', 'delta', 'sum', 'memo'], with: { gamma: 'gamma' } },
  edit: ['bravo', 'delta', 'sum', 'memo'],
  prepare: async ({ params, item }, { find, get }) => ({
    others: (await find('things', `bravo=${params['bravo']}`, { count: true })).total,
    zone: await get(zones, params['gamma'] ?? item?.gamma)
  }),
  initial: (thing, { facts, items: { gamma } }) => ({
    item: { ...thing, memo: thing.memo ?? `${facts.others} in ${facts.zone?.tag}` },
    others: { gamma: { ...gamma, used: gamma.used + 1 } }
  }),
  attributes: {
    fields: ['mood', 'alpha'],
    read: (wanted, { alpha }) => {
      if (wanted.alpha === 'a9') return { field: 'alpha', detail: 'is not for you' }
      if (wanted.alpha !== alpha) return { operation: 'call', params: { as: wanted.alpha } }
      return { operation: wanted.mood === 'shut' ? 'shut' : 'open', params: {} }
    }
  },
  queries: { 'things-by-one': { field: 'bravo' }, 'things-by-two': { field: 'sum' } },
  operations: {
    shut: {
      ...words('shut', 'ShutThing'),
      changes: ['mood'],
      danger: true,
      allowed: ({ gamma, mood }) => mood === 'open' && (gamma === 1 || 'Only in the first'),
      apply: thing => ({ ...thing, mood: 'shut' })
    },
    open: {
      ...words('open', 'OpenThing'),
      changes: ['mood'],
      with: { zone: 'gamma' },
      allowed: (_thing, _params, { items: { zone } }) => (zone?.used ?? 0) > 1 || 'Not much used',
      apply: (thing, _params, { items: { zone } }) =>
        ({ item: { ...thing, mood: 'open' }, others: { zone: { ...zone, used: zone.used - 1 } } })
    },
    call: {
      ...words('call', 'CallThing'),
      params: Type.Object({ as: Type.String() }),
      changes: ['alpha'],
      apply (thing, { as }) {
        if (as !== 'a0') return { ...thing, alpha: as }
        throw new Problem('wrong-state', 'No such call', { errors: [{ pointer: '/alpha', detail: 'is taken' }] })
      }
    },
    give: {
      ...words('give', 'GiveThing'),
      params: Type.Object({ to: Type.Integer() }),
      final: true,
      with: { to: { family: 'things', id: ({ to }) => to } },
      apply: (thing, _params, { items: { to } }) =>
        ({ item: { ...thing, memo: to.memo }, others: { to: { ...to, memo: thing.memo } } })
    }
  }
})

// Of equal length: pages cut long texts.
const given = { alpha: 'bravo', bravo: 'alpha', gamma: 'omega', sum: 'fee', mood: 'memo', memo: 'mood' } as const
const givenZones = { tag: 'hue', hue: 'tag' } as const
// Unknown names too.
const names = Object.entries({ ...given, omega: 'gamma', fee: 'sum', ...givenZones })
const capitalize = (name: string) => name.replace(/^./, letter => letter.toUpperCase())
const dictionary = new Map(names.flatMap(([from, to]) => [[from, to], [capitalize(from), capitalize(to)]]))
// Queries in queries have escapes, which are no part of a word.
const translate = (text: string) => text.replace(/%[\dA-F]{2}|[A-Za-z]+/g, word => dictionary.get(word) ?? word)

async function open (
  thing: AnyFamily, zone: AnyFamily, name: (name: string) => string, make: () => Promise<Storage>
) {
  let [storage, count] = [await make(), 0]
  const seen: unknown[] = []
  const conditions: Readonly<Record<string, readonly Condition[]>> = {
    p: [
      { field: name('bravo'), op: 'ne', values: ['b1', 'b3'] },
      {
        op: 'any',
        of: [
          [{ field: name('sum'), op: 'gte', value: '2' }],
          [{ field: name('mood'), op: 'eq', values: ['shut'] }, { field: name('alpha'), op: 'has', texts: ['a'] }]
        ]
      }
    ],
    q: [{ field: name('memo'), op: 'null', is: false }, { field: name('gamma'), op: 'lte', value: 2 }]
  }
  const options: FamilyOptions = {
    storage: () => storage,
    version: 'v1',
    prefix: '/x',
    clock: () => new Date(1e12 + 1000 * count++),
    makeCommandId: () => `c-${count++}`,
    onCommitted: (change: Committed) => { seen.push(change) },
    authorize ({ headers }: FastifyRequest, intent: Intent) {
      const { 'x-user': principal } = headers
      seen.push(intent)
      if (typeof principal !== 'string') return undefined
      const isRead = intent.action === 'read' || intent.action === 'list'
      if (principal === (isRead ? 'writer' : 'reader')) throw new Problem('forbidden', 'No')
      const zones: Condition[] = principal === 'p' ? [{ field: name('hue'), op: 'eq', values: ['x'] }] : []
      return { principal, where: intent.family === 'zones' ? zones : conditions[principal] ?? [] }
    }
  }
  const app = Fastify()
  app.register(zone as typeof zones, options as never)
  app.register(thing as typeof things, options as never)
  app.register(mcp, { prefix: '/x' })
  await app.ready()
  const send = async (request: InjectOptions): Promise<string> => {
    seen.length = 0
    const { statusCode, headers: { location, link, 'idempotent-replayed': replayed }, body } = await app.inject(request)
    // What depends on the names: cursors, entity tags, keys of forms, and hints.
    return [statusCode, location, link, replayed, body, JSON.stringify(seen)].join('\n')
      // Ids first: some begin like a tag.
      .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '')
      .replace(/(after|before)=[^&"<>]*/g, '').replace(/"\d+-[a-z]+[^"]*"/g, '').replace(/ ?Did you mean [^?]*\?/g, '')
  }
  const reset = async () => { [storage, count] = [await make(), 0] }
  return { app, send, reset }
}

const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  alpha: fc.constantFrom('a0', 'a1', 'a2', 'a9', 'too long'),
  bravo: fc.constantFrom('b1', 'b2', 'b3', 'b4', 'b5', 'b6'),
  gamma: fc.constantFrom(1, 1, 2, 3, 9),
  delta: fc.constantFrom(1, 2, null, 77),
  sum: fc.constantFrom('1', '2.50', 3, 10, 20, '1.234'),
  mood: fc.constantFrom('open', 'shut'),
  memo: fc.constantFrom(null, 'm', 'n'),
  fee: fc.constant(1)
}
const { mood, fee, ...created } = values
const item = fc.record(created, { requiredKeys: ['alpha', 'bravo', 'gamma', 'sum', 'memo'] })
const some = fc.record({ ...created, mood: mood as typeof item }, { requiredKeys: [] })
const field = fc.constantFrom(...Object.keys(values), 'id', 'revision')
const parameter = fc.oneof(
  fc.tuple(field, fc.constantFrom('', '.ne', '>', '.has', '.regex', '.gte'), fc.constantFrom('a1', 'b2', '2', 'shut'))
    .map(([field, op, value]) => `${field}${op}=${value}`),
  fc.tuple(fc.constantFrom('or.', 'or1.', 'min-'), field).map(([group, field]) => `${group}${field}=2`),
  fc.tuple(field, field).map(([one, other]) => `sort=-${one},${other}`),
  fc.tuple(field, field).map(([one, other]) => `fields=id,${one},${other}`),
  fc.constantFrom('expand=gamma', 'expand=gamma,delta', 'expand=alpha', 'maxpagesize=2', 'count=exact'),
  fc.constant('memo.null=true')
)
const query = fc.uniqueArray(parameter, { maxLength: 3 }).map(parameters => parameters.join('&'))
const list = '/x/rest/v1/things'
const id = fc.constantFrom(1, 1, 2, 2, 3, 4)
const edit = fc.tuple(id, some).map(([id, some]) => ({ id, ...some }))
const at = (rest: string) => id.map(id => `${list}/${id}${rest}`)
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
const ask = (method: Method, url: fc.Arbitrary<string>, payload?: fc.Arbitrary<object>) =>
  fc.record({ method: fc.constant(method), url, ...(payload && { payload }) })
const command = fc.constantFrom('k-1', 'k-2', 'k-3')
const fill = (url: fc.Arbitrary<string>, members: fc.Arbitrary<object>) =>
  fc.tuple(url, members, command).map(([url, members, _key]) => ({
    method: 'POST' as const,
    url,
    payload: Object.entries({ ...members, _key }).map(([name, value]) => `${name}=${value ?? ''}`).join('&'),
    headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }
  }))

const request: fc.Arbitrary<InjectOptions> = fc.tuple(
  fc.oneof(
    ask('POST', fc.constant(list), item),
    ask('PUT', at(''), some),
    ask('PATCH', at(''), some),
    ask('PUT', at('/edit'), some),
    ask('PUT', fc.oneof(at('/shut'), at('/open')), fc.constant({})),
    ask('PUT', at('/call'), fc.record({ as: fc.constantFrom('a0', 'a1', 'a3') })),
    ask('PUT', at('/give'), fc.record({ to: id })),
    ask('PUT', fc.tuple(id, command).map(([id, command]) => `${list}/${id}/commands/${command}`),
      fc.record({ action: fc.constant('EditThing'), params: some })),
    ask('PUT', command.map(command => `/x/rest/commands/${command}`),
      fc.record({ thing: id, action: fc.constant('EditThing'), params: some })),
    ask('POST', fc.constant('/x/command/EditThing'), edit),
    ask('POST', fc.constant('/x/rest/commands'), fc.record({
      atomic: fc.boolean(),
      commands: fc.array(fc.oneof(
        fc.record({ thing: id, action: fc.constant('EditThing'), params: some }),
        fc.record({ thing: id, action: fc.constantFrom('ShutThing', 'OpenThing'), params: fc.constant({}) }),
        fc.record({ action: fc.constant('CreateThing'), params: item, id: command }),
        fc.record({ zone: id, action: fc.constant('EditZone'), params: fc.constant({ tag: 'four' }) })
      ), { maxLength: 3 })
    })),
    ask('POST', fc.constant('/x/mcp'), fc.oneof(
      fc.record({ name: fc.constant('things_create'), arguments: item }),
      fc.record({ name: fc.constant('things_edit'), arguments: edit }),
      fc.record({ name: fc.constantFrom('things_get', 'things_log'), arguments: id.map(id => ({ id })) }),
      fc.record({ name: fc.constant('things_find'), arguments: fc.constantFrom({ bravo: 'b1' }, { sort: '-sum' }) })
    ).map(params => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))),
    ask('DELETE', at('')),
    fill(fc.constant(list), item),
    fill(at('/edits'), some),
    fill(fc.oneof(at('/gives'), at('/shuts')), fc.record({ to: id, _confirm: fc.constant(1) })),
    ask('GET', fc.tuple(fc.constantFrom('', '.csv', '.ndjson', '.xml'), query)
      .map(([end, query]) => `${list}${end}?${query}`)),
    ask('GET', fc.oneof(at(''), at('?expand=gamma,delta'), at('/commands'), at('/edits'), at('/operations'))),
    ask('GET', fc.constantFrom('/x/', '/x/query/things-by-one/b2', '/x/query/things-by-two/2.5', '/x/rest/v1/zones/1',
      '/x/rest/v1/zones/1/commands', '/x/rest/commands/k-1', '/x/rest/commands', '/x/rest/v1/things/commands'))
  ),
  fc.record({
    'x-user': fc.constantFrom('p', 'q', 'reader', 'writer'),
    'if-match': fc.constantFrom('"1"', '"2"'),
    'idempotency-key': command,
    accept: fc.constantFrom('text/html', 'application/xml')
  }, { requiredKeys: [] })
).map(([request, headers]) => ({ ...request, headers: { ...headers, ...(request as InjectOptions).headers } }))

for (const { name, make } of storages) {
  t.test(`a renamed family answers under its names as the family itself, ${name}`, async t => {
    const makeStorage = async (): Promise<Storage> => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      return storage
    }
    const base = await open(things, zones, name => name, makeStorage)
    const renamed = await open(things.rename(given), zones.rename(givenZones), translate, makeStorage)
    t.teardown(async () => { await base.app.close(); await renamed.app.close() })
    await compareAll(base, renamed, name === 'memory' ? runs(100) : runs(15))
  })
}

type Opened = Awaited<ReturnType<typeof open>>

async function compareAll (base: Opened, renamed: Opened, numRuns: number): Promise<void> {
  const compare = async (request: InjectOptions): Promise<void> => {
    const translated = JSON.parse(translate(JSON.stringify(request))) as InjectOptions
    const [expected, actual] = [translate(await base.send(request)), await renamed.send(translated)]
    // Pages are long.
    const from = Math.max(0, [...actual].findIndex((letter, index) => letter !== expected[index]) - 200)
    equal(actual.slice(from, from + 500), expected.slice(from, from + 500))
  }
  const zone = (tag: string, hue: string): InjectOptions =>
    ({ method: 'POST', url: '/x/rest/v1/zones', payload: { tag, hue } })
  const thing = { alpha: 'a1', gamma: 1, sum: '2.50', memo: 'm' }
  const before = [
    zone('one', 'x'), zone('two', 'x'), zone('three', 'y'),
    ...['b1', 'b2', 'b4'].map((bravo): InjectOptions => ({ method: 'POST', url: list, payload: { ...thing, bravo } }))
  ]
  await fc.assert(fc.asyncProperty(fc.array(request, { minLength: 20, maxLength: 40 }), async requests => {
    await Promise.all([base.reset(), renamed.reset()])
    for (const each of [...before, ...requests]) await compare(each)
  }), { numRuns, endOnFailure: true })
}
