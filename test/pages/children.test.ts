import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { english } from '../../lib/html/index.js'
import {
  decimal, defineFamily, describe, type FamilyOptions, html, type Intent, json, memoryStorage, type Storage, Type
} from '../../lib/index.js'
import { de } from '../../lib/locales/de.js'
import { formOf, post, see, textOf } from './shop.js'

const projects = defineFamily({
  name: 'projects',
  singular: 'project',
  fields: Type.Object({ id: Type.Integer(), name: Type.String() }),
  create: ['name']
})

const words = (name: string) => ({ name, verb: name, participle: `${name}ed`, noun: `${name}s`, action: `${name}Task` })

const tasks = defineFamily({
  name: 'tasks',
  singular: 'task',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    project: Type.Integer(),
    follows: Type.Optional(Type.Integer()),
    cost: decimal({ scale: 2, default: '1.00', title: 'Budget' }),
    done: Type.Boolean({ default: false })
  }),
  references: { project: projects, follows: 'tasks' },
  list: ['name', 'project', 'follows', 'cost'],
  states: { open: { filter: 'done=false' }, done: { tone: 'done', filter: 'done=true' } },
  create: ['name', 'project', 'follows', 'cost'],
  edit: ['name'],
  operations: {
    finish: {
      ...words('finish'),
      action: 'FinishTask',
      params: Type.Object({}),
      allowed: ({ done }) => !done || 'It is done',
      apply: task => ({ ...task, done: true })
    }
  },
  labels: { de: { plural: 'Aufgaben', fields: { name: 'Name' }, operations: { finish: 'Abschließen' } } }
})

const plans = projects.extend({
  operations: {
    plan: {
      ...words('plan'),
      action: 'PlanProject',
      params: Type.Object({}),
      creates: { tasks: [tasks] },
      apply: project => project
    }
  }
})

async function open (
  t: { teardown (close: () => Promise<unknown>): void },
  count: number,
  { storage = memoryStorage(), ...options }: Partial<FamilyOptions> = {}
): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  for (const family of [plans, tasks]) {
    const representations = [json, html({ texts: [english, de] })]
    app.register(family, { storage, representations, ...family === tasks && options })
  }
  await app.ready()
  await plans.service({ storage: storage as Storage }).create({ name: 'House' })
  const service = tasks.service({ storage: storage as Storage })
  for (let index = 1; index <= count; index++) {
    await service.create({ name: `Task ${index}`, project: 1, ...index > 1 && { follows: index - 1 } })
  }
  return app
}

t.test('the page of an item has a table of its children, with their operations', async t => {
  t.strictSame([describe(plans).children, describe(tasks).children], [['tasks'], []])
  const app = await open(t, 2)
  await app.inject({ method: 'PUT', url: '/tasks/1/finish' })
  const page = await see(app, '/projects/1')
  const [table = ''] = /<section class="children".*?<\/section>/s.exec(page) ?? []
  t.match(textOf(table), [
    'Tasks Name Follows Budget State Actions',
    'Task 1 Not set 1.00 Done Edit the task Delete the task',
    'Task 2 Task 1 1.00 Open Finish the task Edit the task Delete the task Tasks (2)'
  ].join(' '))
  t.match(table, '<a href="/tasks/2">Task 2</a>')
  t.match(table, '<a href="/tasks/1">Task 1</a>')
  t.match(table, '<a class="button" href="/tasks/2#edit.title">Edit the task</a>')
  t.match(table, '<a href="/tasks?project=1">Tasks (2)</a>')
  t.notMatch(page, '<h2>Related</h2>')
  const done = await post(app, '/tasks/2/finishs', formOf(table, '/tasks/2/finishs'))
  t.strictSame([done.statusCode, done.headers.location], [303, '/tasks/2'])
  t.equal((await app.inject('/tasks/2')).json().done, true)
  const asked = await post(app, '/tasks/2/deletions', formOf(table, '/tasks/2/deletions'))
  t.match(textOf(asked.body), 'Someone has changed it', 'what was shown is no longer true')
  const german = textOf(await see(app, '/projects/1', { 'accept-language': 'de' }))
  t.match(german, 'Aufgaben Name Follows Budget Zustand Aktionen')
})

t.test('without children there is a link, and only the first 25 are shown', async t => {
  const none = await open(t, 0)
  const page = await see(none, '/projects/1')
  t.match(page, '<a href="/tasks?project=1">Tasks (0)</a>')
  t.notMatch(page, 'class="children"')
  t.notMatch(await see(await open(t, 1), '/tasks/1'), 'class="children"', 'other references are links')
  const many = await see(await open(t, 26), '/projects/1')
  t.match(many, '>Task 25</a>')
  t.notMatch(many, '>Task 26</a>')
  t.match(many, '<a href="/tasks?project=1">Tasks (26)</a>')
})

t.test('children that the caller may not see, or operations', async t => {
  const refuse = (): never => { throw Object.assign(new Error('No'), { statusCode: 403 }) }
  const hidden = await open(t, 2, { authorize: refuse })
  t.notMatch(await see(hidden, '/projects/1'), 'Task 1')
  const where = [{ field: 'name', op: 'eq', values: ['Task 2'] } as const]
  const narrow = await see(await open(t, 2, { authorize: () => ({ where, offers: ['FinishTask'] }) }), '/projects/1')
  t.notMatch(narrow, '/tasks/1"')
  t.match(textOf(narrow), 'Finish the task Tasks (1)')
  const evil = await open(t, 0)
  const name = '<script>alert(1)</script>'
  await evil.inject({ method: 'POST', url: '/tasks', payload: { name, project: 1 } })
  t.match(await see(evil, '/projects/1'), '>&lt;script&gt;alert(1)&lt;/script&gt;</a>')
})

t.test('authorize is only asked for what a row would offer', async t => {
  const asked: string[] = []
  const authorize = (_request: unknown, { family, action, id }: Intent): void => {
    if (family === 'tasks' && id !== undefined) asked.push(`${action} ${id}`)
  }
  const app = await open(t, 2, { authorize })
  await app.inject({ method: 'PUT', url: '/tasks/1/finish' })
  asked.length = 0
  await see(app, '/projects/1')
  t.strictSame(asked.sort(), ['DeleteTask 1', 'DeleteTask 2', 'EditTask 1', 'EditTask 2', 'FinishTask 2'])
})

t.test('children are entered with the item that they belong to', async t => {
  const line = { product: Type.String({ minLength: 1 }), quantity: Type.Integer({ minimum: 1 }) }
  const lines = defineFamily({
    name: 'lines',
    singular: 'line',
    fields: Type.Object({ id: Type.Integer(), order: Type.Integer(), ...line }),
    list: ['id', 'product', 'quantity'],
    create: ['order', 'product', 'quantity']
  })
  const orders = defineFamily({
    name: 'orders',
    singular: 'order',
    fields: Type.Object({ id: Type.Integer(), name: Type.String() }),
    create: {
      fields: ['name'],
      params: Type.Object({ goods: Type.Array(Type.Object(line), { minItems: 1 }) }),
      creates: { goods: [lines] }
    },
    initial: (order, _context, { goods }) =>
      ({ item: order, created: { goods: goods.map(each => ({ ...each, order: order.id })) } })
  })
  const app = Fastify()
  t.teardown(() => app.close())
  const shared = { storage: memoryStorage(), representations: [json, html()] }
  app.register(orders, shared)
  app.register(lines.extend({ references: { order: orders } }), shared)
  const form = { ...formOf(await see(app, '/orders'), '/orders'), name: 'Mine' }
  const wrong = await post(app, '/orders', { ...form, 'goods.1.product': 'tea', 'goods.1.quantity': '0' })
  t.match(wrong.body, 'id="create-goods-0-quantity-error">Quantity must be at least 1.<')
  const typed = { ...form, 'goods.0.product': 'tea', 'goods.0.quantity': '2', 'goods.1.product': 'nut' }
  const made = await post(app, '/orders', { ...typed, 'goods.1.quantity': '3' })
  t.equal(made.statusCode, 303, made.body)
  const page = textOf(await see(app, String(made.headers.location)))
  t.match(page, /Lines Id Product Quantity Actions 1 tea 2 Delete the line 2 nut 3 Delete the line Lines \(2\)/)
})

t.test('what new children refer to is looked up, and what is wrong with it stands at its cell', async t => {
  const products = defineFamily({
    name: 'products',
    singular: 'product',
    fields: Type.Object({ id: Type.String(), name: Type.String() }),
    create: ['id', 'name']
  })
  const line = { product: Type.String() }
  const lines = defineFamily({
    name: 'lines',
    singular: 'line',
    fields: Type.Object({ id: Type.Integer(), order: Type.Integer(), ...line }),
    references: { product: products },
    list: ['id', 'product'],
    create: ['order', 'product']
  })
  const add = {
    ...words('add'),
    action: 'AddLines',
    params: Type.Object({ lines: Type.Array(Type.Object(line)), product: Type.Optional(Type.String()) }),
    creates: { lines: [lines] }
  }
  const orders = defineFamily({
    name: 'orders',
    singular: 'order',
    fields: Type.Object({ id: Type.Integer() }),
    create: { fields: [], params: Type.Object({ lines: Type.Array(Type.Object(line)) }), creates: { lines: [lines] } },
    initial: (order, _context, { lines }) =>
      ({ item: order, created: { lines: lines.map(({ product }) => ({ product, order: order.id })) } }),
    operations: {
      add: {
        ...add,
        apply: (order, { lines }) =>
          ({ item: order, created: { lines: lines.map(({ product }) => ({ product, order: order.id })) } })
      }
    }
  })
  const app = Fastify()
  t.teardown(() => app.close())
  const shared = { storage: memoryStorage(), representations: [json, html()] }
  for (const family of [products, orders, lines.extend({ references: { order: orders } })]) app.register(family, shared)
  await app.ready()
  await products.service({ storage: shared.storage }).create({ id: 'tea', name: 'Green tea' })
  const list = await see(app, '/orders')
  t.match(list, '<select id="create-lines-0-product" name="lines.0.product"')
  t.match(list, '<option value="tea">Green tea</option>')
  const made = await post(app, '/orders', { ...formOf(list, '/orders'), 'lines.0.product': 'tea' })
  t.equal(made.statusCode, 303, made.body)
  const page = await see(app, '/orders/1')
  t.match(page, '<select id="add-lines-0-product" name="lines.0.product"')
  t.match(page, /<input id="add-product"/, 'a parameter that is in no row refers to nothing')
  t.match(textOf(page), /Lines Id Product Actions 1 Green tea Delete the line/)
  const wrong = await post(app, '/orders/1/adds', {
    ...formOf(page, '/orders/1/adds'), 'lines.0.product': 'tea', 'lines.1.product': 'nut'
  })
  t.match([wrong.statusCode, wrong.body], [400, 'id="add-lines-1-product-error">Product must be an existing id'])
})
