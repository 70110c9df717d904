import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions, Grant, Intent } from '../../lib/index.js'
import { deals, html, json, memoryStorage, Problem } from '../../lib/index.js'
import { createDeal, home } from '../deals/app.js'
import { clients, orders, plants } from './shop.js'

type Judge = (intent: Intent) => Grant | undefined

async function pagesApp (
  t: { teardown (close: () => Promise<unknown>): void },
  options: Partial<FamilyOptions> = {}
): Promise<{ app: FastifyInstance, id: string, judgeBy (judge: Judge): void, intents: Intent[], lines: string[] }> {
  const intents: Intent[] = []
  const lines: string[] = []
  let judge: Judge = () => undefined
  const app = Fastify({ logger: { level: 'error', stream: { write: line => { lines.push(line) } } } })
  t.teardown(() => app.close())
  app.register(deals, {
    storage: memoryStorage(),
    version: 'v1',
    authorize (_request, intent) {
      intents.push(intent)
      return judge(intent)
    },
    ...options
  })
  const { id } = await createDeal(app)
  intents.length = 0
  return { app, id, judgeBy: next => { judge = next }, intents, lines }
}

/** The last words of the addresses that the forms of a page are sent to, and what can be done with selected rows. */
async function formsOf (app: FastifyInstance, url: string, status = 200): Promise<string[]> {
  const { body, statusCode } = await app.inject({ url, headers: { accept: 'text/html' } })
  if (statusCode !== status) throw new Error(`${statusCode}: ${body}`)
  return [...body.matchAll(/<form method="post" action="([^"]+)"([^>]*)>(.*?)<\/form>/gs)]
    .flatMap(([, action = '', attributes = '', content = '']) => attributes.includes('id="many"')
      ? [...content.matchAll(/<option value="([^"]+)"/g)].map(([, name]) => `selected: ${name}`)
      : [action.split('/').at(-1) as string])
}

const refuse = (...actions: string[]): Judge => ({ action }) => {
  if (actions.includes(action)) throw new Problem('forbidden', 'Not you')
  return undefined
}

// Dangerous ones come last.
const all = ['holds', 'completions', 'price-changes', 'completion-date-changes', 'edits', 'cancellations', 'deletions']
// What is entered into the edit of an item is not for several.
const selected = ['hold', 'unhold', 'complete', 'cancel', 'change-price', 'change-completion-date', 'delete']
  .map(name => `selected: ${name}`)

t.test('a page offers what its reader may do, and nothing else', async t => {
  const { app, id, judgeBy } = await pagesApp(t)
  const page = `${home}/${id}`
  t.strictSame(await formsOf(app, page), all)
  t.strictSame(await formsOf(app, home), ['deals', ...selected])
  judgeBy(refuse('CancelDeal', 'HoldDeal'))
  t.strictSame(await formsOf(app, page), all.filter(noun => noun !== 'holds' && noun !== 'cancellations'))
  t.strictSame(await formsOf(app, home), ['deals', ...selected.filter(name => !/: (hold|cancel)$/.test(name))])
  judgeBy(refuse('DeleteDeal', 'CreateDeal'))
  t.strictSame(await formsOf(app, page), all.filter(noun => noun !== 'deletions'))
  t.strictSame(await formsOf(app, home), selected.filter(name => !name.endsWith('delete')))
  judgeBy(({ action }) => {
    if (action !== 'read' && action !== 'list') throw Object.assign(new Error('no'), { statusCode: 402 })
    return undefined
  })
  t.strictSame(await formsOf(app, page), [])
  t.strictSame(await formsOf(app, home), [])
})

t.test('no cached page is used for another person, or for the same person with other rights', async t => {
  const { app, id, judgeBy } = await pagesApp(t)
  const headers = { accept: 'text/html' }
  const { etag, 'last-modified': modified } = (await app.inject({ url: `${home}/${id}`, headers })).headers
  t.strictSame([etag, modified], [undefined, undefined])
  judgeBy(refuse('CancelDeal'))
  const kept = { 'if-none-match': '"1-html"', 'if-modified-since': new Date(Date.now() + 9e6).toUTCString() }
  const again = await app.inject({ url: `${home}/${id}`, headers: { ...headers, ...kept } })
  t.equal(again.statusCode, 200)
  t.notMatch(again.body, 'cancellations')
  const failed = await app.inject({ url: `${home}/${id}`, headers: { ...headers, 'if-match': '"7-html"' } })
  t.equal(failed.statusCode, 412)
  const json = await app.inject({ url: `${home}/${id}`, headers: { 'if-none-match': '"1-json"' } })
  t.equal(json.statusCode, 304, 'what offers nothing is the same for all who may read it')
})

t.test('the conditions of an operation decide about its form', async t => {
  const { app, id, judgeBy } = await pagesApp(t)
  judgeBy(({ action }) => action === 'CancelDeal' ? { where: [{ field: 'price', op: 'gt', value: 100 }] } : undefined)
  t.strictSame(await formsOf(app, `${home}/${id}`), all.filter(noun => noun !== 'cancellations'))
  const { id: dear } = await createDeal(app, { price: 101 })
  t.strictSame(await formsOf(app, `${home}/${dear}`), all)
})

t.test('authorize knows that nothing is about to be done', async t => {
  const { app, id, intents } = await pagesApp(t)
  const ask = async (url: string) => {
    intents.length = 0
    await app.inject({ url, headers: { accept: 'text/html' } })
    return [...intents]
  }
  const [read, ...offers] = await ask(`${home}/${id}`)
  t.strictSame(read, { family: 'deals', action: 'read', id, params: {} })
  t.strictSame(offers.map(({ action }) => action), [
    'HoldDeal', 'UnholdDeal', 'CompleteDeal', 'CancelDeal', 'ChangeDealPrice', 'ChangeDealCompletionDate', 'EditDeal',
    'DeleteDeal'
  ], 'those that the state does not allow are only explained to who may do them')
  for (const { action, ...offer } of offers) {
    t.strictSame(offer, { family: 'deals', id, params: {}, tentative: true }, action)
  }
  const empty = (await ask(`${home}?name=none`)).map(({ action }) => action).sort()
  t.strictSame(empty, ['CreateDeal', 'RestoreDeal', 'list', 'read'], 'no row can be selected')
  const [list, ...created] = await ask(home)
  t.strictSame(list, { family: 'deals', action: 'list', id: undefined, params: {} })
  t.strictSame(created.map(({ action }) => action).sort(), [
    'CancelDeal', 'ChangeDealCompletionDate', 'ChangeDealPrice', 'CompleteDeal', 'CreateDeal', 'DeleteDeal', 'HoldDeal',
    'RestoreDeal', 'UnholdDeal', 'read'
  ], 'what can be created, done with selected rows, or read of the activity')
  for (const { action, ...offer } of created) {
    t.strictSame(offer, { family: 'deals', id: undefined, params: {}, tentative: true }, action)
  }
  intents.length = 0
  await app.inject(`${home}/${id}`)
  await app.inject(home)
  t.strictSame(intents.map(({ action }) => action), ['read', 'list'], 'only a page offers anything')
})

t.test('an authorize that breaks without parameters takes nothing from the page', async t => {
  const { app, id, judgeBy, lines } = await pagesApp(t)
  judgeBy(({ action, params }) => {
    if (action === 'CancelDeal' && (params.reason as string).length < 10) throw new Problem('forbidden', 'Say more')
    return undefined
  })
  t.strictSame(await formsOf(app, `${home}/${id}`), all)
  t.match(JSON.parse(lines[0] as string), { action: 'CancelDeal', err: { type: 'TypeError' } })
})

t.test('a form that was refused by authorize is gone from its page', async t => {
  const { app, id, judgeBy } = await pagesApp(t)
  judgeBy(refuse('HoldDeal'))
  const headers = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }
  const url = `${home}/${id}/holds`
  const answer = await app.inject({ method: 'POST', url, headers, payload: 'reason=because' })
  t.equal(answer.statusCode, 403)
  t.match(answer.body, 'Not you')
  t.notMatch(answer.body, `action="${url}"`)
  t.match(answer.body, '<dd dir="auto">because</dd>', 'what was entered is not lost')
})

t.test('without the form noun nothing is offered, and authorize is not asked', async t => {
  const { app, id, intents } = await pagesApp(t, { forms: ['verb'] })
  t.strictSame(await formsOf(app, `${home}/${id}`), [])
  t.strictSame(intents.map(({ action }) => action), ['read'])
})

t.test('a grant that names what is offered is asked for once', async t => {
  const { app, id, judgeBy, intents } = await pagesApp(t)
  const page = `${home}/${id}`
  judgeBy(() => ({ offers: ['HoldDeal', 'UnholdDeal', 'DeleteDeal', 'CreateDeal'] }))
  const ask = async (url: string) => {
    intents.length = 0
    return { forms: await formsOf(app, url), asked: intents.map(({ action }) => action) }
  }
  t.strictSame(await ask(page), { forms: ['holds', 'deletions'], asked: ['read'] })
  t.strictSame(await ask(home), {
    forms: ['deals', 'selected: hold', 'selected: unhold', 'selected: delete'], asked: ['list']
  })
  const { items } = (await app.inject(`${page}/operations`)).json<{ items: { name: string, allowed: boolean }[] }>()
  t.strictSame(items.map(({ name, allowed }) => [name, allowed]), [['hold', true], ['unhold', false], ['delete', true]])
  const sent = await app.inject({ method: 'PUT', url: `${page}/complete` })
  t.equal(sent.statusCode, 200, 'what is sent is for authorize to refuse')
  judgeBy(() => ({ offers: [] }))
  t.strictSame(await ask(page), { forms: [], asked: ['read'] })
  t.strictSame(await ask(home), { forms: [], asked: ['list'] })
  judgeBy(() => ({ offers: 'HoldDeal' as never }))
  t.equal((await app.inject(page)).statusCode, 500, 'a mistake in it is not guessed at')
})

t.test('pages link to pages alone', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const shared = { storage: memoryStorage(), prefix: '/shop' }
  const pages = [json, html()]
  app.register(clients, { ...shared, version: 'v1', representations: pages })
  app.register(clients, { ...shared, version: 'v2', representations: [json] })
  app.register(plants, { ...shared, representations: [json] })
  app.register(orders, { ...shared, version: 'v1', representations: pages })
  const create = async (url: string, payload: object) =>
    t.equal((await app.inject({ method: 'POST', url: `/shop/${url}`, payload })).statusCode, 201)
  await create('rest/v1/clients', { name: 'Acme' })
  await create('plants', { name: 'North' })
  await create('rest/v1/orders', { title: 'Bolts', client: 1, plant: 1 })
  const { families } = (await app.inject('/shop/')).json<{ families: { name: string }[] }>()
  t.strictSame(families.map(({ name }) => name), ['clients', 'clients', 'plants', 'orders'], 'programs find all')
  for (const url of ['', 'rest/v1/orders', 'rest/v1/orders/1', 'rest/v1/clients/1', 'rest/v1/orders/1/commands',
    'rest/v1/orders?fields=title&fields=plant', 'rest/v1/orders?plant=1', 'rest/v1/nothing']) {
    const { body } = await app.inject({ url: `/shop/${url}`, headers: { accept: 'text/html' } })
    t.match(body, /<a href="\/shop\/rest\/v1\/clients"[^>]*>Clients<\/a>/, `${url}: the only version for people`)
    const links = [...body.matchAll(/<a (?:class="[^"]*" )?href="([^"?#]*)/g)].map(([, href = '']) => href)
    t.strictSame(links.filter(href => /v2|plants/.test(href)), [], url)
  }
  const { body } = await app.inject({ url: '/shop/rest/v1/orders/1', headers: { accept: 'text/html' } })
  t.match(body, '<dt>Plant</dt><dd dir="auto">North</dd>', 'by its title still')
})
