import Fastify from 'fastify'
import t from 'tap'
import {
  canShow, customers, deals, describe, describeProblems, findMounts, json, memoryStorage, ndjson
} from '../../lib/index.js'
import { bills, people } from '../family/keyed.js'

async function mountAll () {
  const app = Fastify()
  const storage = memoryStorage()
  app.register(people, { storage, prefix: '/crm' })
  app.register(bills, { storage, prefix: '/crm' })
  app.register(deals, { storage, prefix: '/crm', version: 'v1', preconditions: 'required', sunset: '2100-01-01' })
  app.register(deals, {
    storage: memoryStorage(), prefix: '/crm', version: 'v2', unversioned: true, forms: ['commands', 'noun']
  })
  app.register(customers, { storage })
  await app.ready()
  const mounts = findMounts(app, '/crm')
  const find = (name: string, wanted?: string) =>
    mounts.find(({ model, version }) => model.name === name && version === wanted) as typeof mounts[number]
  return { app, find }
}

t.test('routes say what they are for, and where they lead to', async t => {
  const { app, find } = await mountAll()
  t.teardown(() => app.close())
  const [ofPeople, ofBills, first, second] = [find('people'), find('bills'), find('deals', 'v1'), find('deals', 'v2')]
  const list = ({ routes }: typeof first) => routes.map(({ kind, method, path, forms, targets }) =>
    [`${kind} ${method} ${path}`, forms.join(), targets.map(({ mount, action, word }) =>
      [mount === first ? 'v1' : mount === second ? 'v2' : mount.model.name, action, word].filter(Boolean).join(' '))])
  const v1 = list(first)
  t.ok(v1.some(([route]) => route === 'list GET /rest/v1/deals') && v1.length > 20, `${v1.length} routes`)
  for (const [route, forms, ...targets] of [
    ['operation PUT /rest/v1/deals/:id/hold', 'verb', 'v1 HoldDeal'],
    ['update PUT /rest/v1/deals/:id', 'update,attributes', 'v1'],
    ['update PATCH /rest/v1/deals/:id', 'attributes', 'v1'],
    ['create POST /rest/v1/deals', '', 'v1 CreateDeal'],
    ['query GET /query/deals-by-name/:parameter', '', 'v2']
  ]) {
    t.strictSame(v1.find(([each]) => each === route), [route, forms, targets])
  }
  t.match(v1.find(([each]) => each === 'operation POST /rest/v1/deals/:id/:word'), {
    1: 'noun', 2: ['v1 HoldDeal holds', 'v1 UnholdDeal unholds']
  })
  t.ok(list(second).some(([route]) => route === 'operation POST /rest/v2/deals/:id/holds'), 'the recommended form')
  const shared = ofPeople.routes.filter(({ isShared }) => isShared)
    .map(({ kind, method, targets }) => [`${kind} ${method}`, targets.map(({ mount }) => mount)])
  t.strictSame(Object.fromEntries(shared), {
    'command PUT': [ofPeople, ofBills, second],
    'entry GET': [ofPeople, ofBills, second],
    'commands POST': [ofPeople, ofBills, second],
    'feed GET': [ofPeople, ofBills, first],
    'action POST': shared.find(([name]) => name === 'action POST')?.[1],
    'home GET': [ofPeople]
  })
  const actions = ofPeople.routes.find(({ kind }) => kind === 'action')
  t.match(actions, { path: '/command/:word' })
  t.ok(actions?.targets.some(({ mount, action, word }) => mount === second && action === 'HoldDeal' && word === action))
  t.notOk(actions?.targets.some(({ mount }) => mount === first), 'they are those of the other version')
})

t.test('a mount knows its forms, and those beside it', async t => {
  const { app, find } = await mountAll()
  t.teardown(() => app.close())
  t.strictSame(find('deals', 'v2').forms, ['noun', 'commands'])
  t.strictSame(find('deals', 'v1').forms[0], 'verb')
  t.equal(find('bills').beside('people'), find('people'))
  t.equal(find('people').beside('deals'), find('deals', 'v2'))
  t.equal(find('deals', 'v1').beside('deals'), find('deals', 'v1'))
  t.equal(find('people').beside('customers'), undefined, 'at another prefix')
  t.strictSame([canShow(json, 'one'), canShow(ndjson, 'one'), canShow(ndjson, 'page')], [true, false, true])
})

t.test('the problems of a mount, each with an example', async t => {
  const { app, find } = await mountAll()
  t.teardown(() => app.close())
  const { any, list, item, actions, update, command, commands, failure } = describeProblems(find('deals', 'v1'))
  t.strictSame(Object.keys(actions['HoldDeal'] ?? {}).sort(), [
    'id-reused', 'invalid-body', 'not-found', 'precondition-failed', 'precondition-required', 'wrong-state'
  ])
  t.match(actions['HoldDeal']?.['wrong-state']?.document(), { status: 409, operation: 'hold' })
  t.match(any.gone?.message, '2100')
  t.match([list, item].map(Object.keys), [['invalid-query'], ['invalid-query', 'not-found']])
  t.match(update['invalid-body']?.errors, [{ pointer: '/action' }])
  t.match([command, commands].map(each => each['id-reused']?.message), [/^The command id/, /^\/commands\/3/])
  t.equal(failure.statusCode, 503)
  const ofOthers = describeProblems(find('people'))
  t.match(ofOthers.any, {})
  t.equal(ofOthers.actions['CreatePerson']?.taken?.statusCode, 409)
  t.match(ofOthers.actions['DeletePerson']?.['in-use']?.members, { family: 'invoices' })
})

t.test('a family is described with its lists, its log and what can be changed', async t => {
  const { parameters, queries, changeable, entry, logFilters } = describe(deals)
  t.strictSame(Object.keys(parameters), [
    'page', 'after', 'before', 'maxpagesize', 'sort', 'fields', 'state', 'search', 'time-zone', 'count'
  ].filter(name => name in parameters))
  t.match(parameters, { maxpagesize: { default: 50 }, count: { const: 'exact' } })
  t.match(queries, { 'deals-by-name': { field: 'name', value: { type: 'string' } } })
  t.strictSame(changeable, ['held', 'holdReason', 'name'])
  t.match(entry, { properties: { id: {}, deal: { type: 'string' }, outcome: {} }, required: ['id', 'deal'] })
  t.strictSame(Object.keys(logFilters).sort(), [
    'action', 'family', 'max-createdAt', 'min-createdAt', 'outcome', 'principal'
  ])
  t.match(describe(bills).parameters['expand'], { pattern: /customer/ })
  t.strictSame(describe(customers).changeable, [])
})
