import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { deals, defineFamily, type Granted, type Intent, memoryStorage, Problem, Type } from '../../lib/index.js'

const home = '/rest/v1/deals'
const headers = { accept: 'text/html' }

interface Form {
  readonly url: string
  readonly payload: string
}

/** The forms of a page that have only this button. */
function formsOf (body: string, button: string): Form[] {
  return [...body.matchAll(/<form method="post" action="([^"]*)" class="operation">\s*(.*?)<\/form>/gs)]
    .filter(([, , content = '']) => content.endsWith(`<button type="submit">${button}</button>\n`))
    .map(([, url = '', content = '']) => ({
      url,
      payload: [...content.matchAll(/name="([^"]*)" value="([^"]*)"/g)]
        .map(([, name, value]) => `${name}=${value}`).join('&')
    }))
}

async function submit (app: FastifyInstance, { url, payload }: Form) {
  const answer = await app.inject({
    method: 'POST', url, payload, headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' }
  })
  const { location } = answer.headers
  const cookie = String(answer.headers['set-cookie'] ?? '').split(';')[0] ?? ''
  const page = location === undefined
    ? undefined
    : await app.inject({ url: String(location), headers: { ...headers, cookie } })
  return { answer, body: page?.body ?? answer.body }
}

t.test('what was deleted is listed, with who and when, and can be restored', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, {
    storage: memoryStorage(),
    version: 'v1',
    authorize: request => ({ principal: String(request.headers['user'] ?? 'ann') })
  })
  const make = async (name: string): Promise<string> =>
    (await app.inject({ method: 'POST', url: home, payload: { name, price: 1 } })).json<{ id: string }>().id
  t.match((await app.inject({ url: `${home}/commands/deleted`, headers })).body, /Nothing is deleted\./)
  const [tea, milk, rice] = [await make('Tea'), await make('Milk'), await make('Rice')]
  for (const id of [tea, milk]) await app.inject({ method: 'DELETE', url: `${home}/${id}`, headers: { user: 'bob' } })
  const list = (await app.inject({ url: home, headers })).body
  const [, address = ''] = /<a href="([^"]*)">Deleted<\/a>/.exec(list) ?? []
  const url = address.replaceAll('&amp;', '&')
  t.equal(url, `${home}/commands/deleted`)
  const read = async (): Promise<string> => (await app.inject({ url, headers })).body
  const page = await read()
  t.match(page, /<h1[^>]*>Deleted deals</)
  t.match(page, /by bob/)
  const forms = formsOf(page, 'Restore')
  t.strictSame(forms.map(({ url }) => url), [milk, tea].map(id => `${home}/${id}/restorations`), 'the newest first')
  const { answer, body } = await submit(app, forms[0] as Form)
  t.equal(answer.statusCode, 303)
  t.match(body, /<p>Restored\./)
  t.match(body, /<h1[^>]*>.*Milk/s)
  t.equal((await submit(app, forms[0] as Form)).answer.statusCode, 303, 'sent twice')
  t.strictSame(formsOf(await read(), 'Restore').map(({ url }) => url), [`${home}/${tea}/restorations`])
  t.notMatch(await read(), milk, 'what came back is not listed')
  await app.inject({ method: 'PUT', url: `${home}/${tea}/restore` })
  await app.inject({ method: 'DELETE', url: `${home}/${tea}` })
  t.equal(formsOf(await read(), 'Restore').length, 1, 'only of its last deletion')
  const late = await submit(app, forms[1] as Form)
  t.equal(late.answer.statusCode, 412, 'an old page')

  const gone = await submit(app, { url: `${home}/${rice}/deletions`, payload: '_key=k&_revision=1' })
  t.match(gone.body, /<p>Deleted\./)
  const undo = formsOf(gone.body, 'Undo')
  t.equal(undo.length, 1)
  t.match((await submit(app, undo[0] as Form)).body, /Restored/)
})

t.test('only for whom may restore', async t => {
  const storage = memoryStorage()
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, {
    storage,
    version: 'v1',
    authorize (request, { action }: Intent): Granted {
      const { user } = request.headers
      if (user === 'guest' && action === 'RestoreDeal') throw new Problem('forbidden', 'Not you')
      if (user === 'half' && action === 'RestoreDeal') return { where: [{ field: 'price', op: 'lt', value: 5 }] }
      return user === 'few' ? { where: [{ field: 'price', op: 'lt', value: 5 }] } : undefined
    }
  })
  const service = deals.service({ storage })
  for (const price of [9, 3]) {
    const { item: { id } } = await service.create({ name: `Tea for ${price}`, price })
    await service.remove(id)
  }
  const whole = { boss: [2, 2, 2], guest: [2, 0, 0], few: [1, 1, 0], half: [2, 1, 2] } as const
  for (const [user, [listed, restorable, inActivity]] of Object.entries(whole)) {
    const { body } = await app.inject({ url: home, headers: { ...headers, user } })
    t.equal(body.includes('>Deleted</a>'), user !== 'guest', user)
    const page = await app.inject({ url: `${home}/commands/deleted`, headers: { ...headers, user } })
    t.equal(page.body.match(/Tea for \d/g)?.length, listed, user)
    t.equal(formsOf(page.body, 'Restore').length, restorable, user)
    const activity = await app.inject({ url: `${home}/commands?action=DeleteDeal`, headers: { ...headers, user } })
    t.equal(formsOf(activity.body, 'Restore').length, inActivity, user)
  }
  await service.create({ name: 'Milk', price: 1 })
  const none = await app.inject({ url: `${home}/commands/deleted?principal=nobody`, headers })
  t.match(none.body, /No deals match these filters\./)
})

t.test('a refusal is shown', async t => {
  const storage = memoryStorage()
  const people = defineFamily({
    name: 'people',
    singular: 'person',
    fields: Type.Object({ id: Type.Integer(), name: Type.String() }),
    unique: [['name']],
    create: ['name'],
    edit: ['name'],
    revert: true
  })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(people, { storage })
  const service = people.service({ storage })
  const { item: { id } } = await service.create({ name: 'Ann' })
  await service.remove(id)
  const { item: other } = await service.create({ name: 'Ann' })
  const page = await app.inject({ url: '/people/commands?action=DeletePerson', headers })
  const [form] = formsOf(page.body, 'Restore')
  const refused = await submit(app, form as Form)
  t.equal(refused.answer.statusCode, 409)
  t.match(refused.body, /already taken/)

  const url = `/people/${other.id}`
  const edited = await submit(app, { url: `${url}/edits`, payload: '_key=a&_revision=1&name=Bob' })
  const [undo] = formsOf(edited.body, 'Undo')
  t.match(undo, { url: `${url}/reversions`, payload: /_revision=2&to=1$/ })
  t.equal(formsOf((await app.inject({ url, headers })).body, 'Undo').length, 0, 'only after a change')
  const undone = await submit(app, undo as Form)
  t.match(undone.body, /Done: revert/)
  t.equal((await service.get(other.id)).name, 'Ann')
  t.equal(formsOf(undone.body, 'Undo').length, 1, 'and back')
  await service.run('edit', other.id, { name: 'Cid' })
  const [late] = formsOf(undone.body, 'Undo')
  t.equal((await submit(app, late as Form)).answer.statusCode, 412, 'someone has written since')
  t.equal((await service.get(other.id)).name, 'Cid')
})
