import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions } from '../../lib/index.js'
import { deals, defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'
import { createDeal, home, readDeal, readLog } from '../deals/app.js'

const family = deals.extend({ fields: Type.Object({ danger: Type.Optional(Type.String()) }) })

async function pagesApp (
  t: { teardown (close: () => Promise<unknown>): void },
  options: Partial<FamilyOptions> = {}
): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(family, { storage: memoryStorage(), version: 'v1', ...options } as never)
  await app.ready()
  return app
}

const html = { accept: 'text/html' }

async function post (
  app: FastifyInstance,
  url: string,
  form: Record<string, string>,
  accept = 'text/html'
): Promise<LightMyRequestResponse> {
  return await app.inject({
    method: 'POST',
    url,
    headers: { accept, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(form).toString()
  })
}

/** What a page says of what was done. */
function messageOf (body: string): string | undefined {
  return /<div class="message" role="status" tabindex="-1" autofocus>\n<p>(.*?)<\/p>/s.exec(body)?.[1]
    ?.replace(/<[^>]*>/g, '').trim()
}

/** What a browser would send back to the page. */
function cookieOf ({ headers }: LightMyRequestResponse): string {
  return String(headers['set-cookie']).replace(/;.*/s, '')
}

t.test('every action is followed by a message that the log bears out', async t => {
  const app = await pagesApp(t)
  const follow = async (url: string, form: Record<string, string>) => {
    const done = await post(app, url, { _key: url, ...form })
    t.equal(done.statusCode, 303, url)
    const location = String(done.headers.location)
    const attributes = `; Path=${location}; Max-Age=60; HttpOnly; SameSite=Strict`
    t.equal(done.headers['set-cookie'], `${cookieOf(done)}${attributes}`, 'for this page alone, and for a while')
    const shown = await app.inject({ url: location, headers: { ...html, cookie: `a=b; ${cookieOf(done)}; c=d` } })
    t.match(shown.headers['set-cookie'], `dealbook-command=; Path=${location}; Max-Age=0;`, 'said once')
    const later = await app.inject({ url: location, headers: html })
    t.strictSame([messageOf(later.body), later.headers['set-cookie']], [undefined, undefined])
    const title = /<title>(.*?)<\/title>/.exec(shown.body)?.[1]
    return { location, message: messageOf(shown.body), title }
  }
  const created = await follow(home, { name: 'Tea', price: '1' })
  t.match(created, { message: 'Created.', title: 'Created: Tea - API' })
  const item = created.location
  const held = await follow(`${item}/holds`, { reason: 'r' })
  t.strictSame(held, { location: item, message: 'Held.', title: 'Held: Tea - API' })
  t.strictSame(await follow(`${item}/holds`, { reason: 'r' }), held, 'sent again, it is the same')
  t.match(await follow(`${item}/holds`, { reason: 'r', _key: 'other' }), { message: 'Nothing changed.' })
  t.match(await follow(`${item}/unholds`, {}), { message: 'Released.' })
  t.match(await follow(`${item}/edits`, { name: 'Coffee' }), { message: 'Renamed.' })
  t.match(
    await follow(`${item}/holds`, { reason: 'r' }),
    { message: 'Held. It has changed since, and is at revision 4.' },
    'of a command that is old, it says so'
  )
  const changed = await follow(`${item}/price-changes`, { newPrice: '2', reason: 'r' })
  t.match(changed, { message: 'Price changed.' })
  const gone = await follow(`${item}/deletions`, {})
  t.match(gone, { location: home, message: 'Deleted. Its history', title: 'Deleted: Deals - API' })

  const { body, statusCode } = await app.inject({ url: item, headers: html })
  t.equal(statusCode, 404)
  t.match(body, `<a href="${item}/commands">Its history</a>`, 'what is gone leads to its log')
  t.notMatch((await app.inject({ url: `${home}/nowhere`, headers: html })).body, 'Its history')
  t.strictSame(Object.keys((await app.inject(item)).json()), ['type', 'title', 'status', 'detail', 'instance'])
})

t.test('a form that changed nothing does not stand in the way of another', async t => {
  const app = await pagesApp(t)
  const { id } = await createDeal(app)
  const { body } = await app.inject({ url: `${home}/${id}`, headers: html })
  const keys = [...body.matchAll(/<form method="post" action="([^"]+)"[^]*?name="_key" value="([^"]+)"/g)]
    .map(([, action, key]) => ({ action: action as string, key: key as string }))
  t.equal(new Set(keys.map(({ key }) => key)).size, 7)
  for (const noun of ['edits', 'deletions']) {
    const { action, key } = keys.find(({ action }) => action.endsWith(noun)) as { action: string, key: string }
    t.equal((await post(app, action, { _key: key })).statusCode, 303, noun)
  }
  t.equal((await app.inject(`${home}/${id}`)).statusCode, 404)
})

t.test('no cookie makes a page say what did not happen', async t => {
  const app = await pagesApp(t)
  const { id } = await createDeal(app)
  const { id: other } = await createDeal(app)
  const [entry] = await readLog(app, other)
  const url = `${home}/${id}`
  const read = async (cookie: string, base = url) => await app.inject({ url: base, headers: { ...html, cookie } })
  const evil = '<script>alert(1)</script>'
  for (const command of [entry?.id as string, 'nothing', evil, '', '%', '%ff', `${'a'.repeat(101)}`]) {
    for (const base of [url, home]) {
      const { statusCode, body } = await read(`dealbook-command=${command}`, base)
      t.equal(statusCode, 200, `${base} ${command}`)
      if (base === url || command !== entry?.id) t.equal(messageOf(body), undefined, `${base} ${command}`)
      t.notMatch(body, 'alert(1)')
    }
  }
  const own = `dealbook-command=${(await readLog(app, id))[0]?.id}`
  t.equal(messageOf((await read(own, `${url}?fields=name`)).body), 'Created.', 'beside parameters')
  t.equal(messageOf((await read(`my-${own}`)).body), undefined, 'a cookie of another name')
  const program = await app.inject({ url, headers: { cookie: own } })
  t.equal(program.headers['set-cookie'], undefined, 'programs have no such cookie')
  for (const base of [url, home]) {
    for (const headers of [{}, html]) {
      const { statusCode } = await app.inject({ url: `${base}?_command=${entry?.id}`, headers })
      t.equal(statusCode, 400, 'nor is there such a parameter')
    }
  }
})

t.test('whose command it was matters where the page is about no item', async t => {
  let principal = 'ann'
  const app = await pagesApp(t, { authorize: () => ({ principal }) })
  const { id } = await createDeal(app)
  const done = await post(app, `${home}/${id}/deletions`, { _key: 'k' })
  const follow = async () => messageOf((await app.inject({
    url: String(done.headers.location), headers: { ...html, cookie: cookieOf(done) }
  })).body)
  t.equal(await follow(), 'Deleted. Its history')
  principal = 'bob'
  t.equal(await follow(), undefined)
})

t.test('what cannot be undone is asked about first', async t => {
  const app = await pagesApp(t)
  const { id } = await createDeal(app, { name: 'O\'Neill & "Sons" <b>' })
  const item = `${home}/${id}`
  const { body: page } = await app.inject({ url: item, headers: html })
  const asking = [...page.matchAll(/<form method="post" action="[^"]*\/([\w-]+)"(.*?)<\/form>/gs)]
    .filter(([, , form]) => form?.includes('<input type="hidden" name="_confirm" value="ask">')).map(([, noun]) => noun)
  t.strictSame(asking, ['completions', 'cancellations', 'deletions'])
  t.match(page.slice(page.indexOf('<div class="apart">')), /\/cancellations".*\/deletions"/s, 'apart from the others')
  t.notMatch(page.slice(page.indexOf('<div class="apart">')), '/completions"')

  const entered = { reason: 'Line 1\nLine "2" <i>', amercement: '5', _key: 'k', _confirm: 'ask' }
  const asked = await post(app, `${item}/cancellations`, entered)
  t.equal(asked.statusCode, 200)
  for (const part of [
    '<h1 dir="auto">Cancel the deal?</h1>', `<a href="${item}">O&#39;Neill &amp; &quot;Sons&quot; &lt;b&gt;</a>`,
    'Cancel a deal for an amercement', 'This cannot be undone.',
    '<dt>Reason</dt><dd dir="auto">Line 1\nLine &quot;2&quot;',
    '<bdi class="before">Open</bdi> → <bdi>Cancelled</bdi>', `action="${item}/cancellations"`
  ]) t.ok(asked.body.includes(part), part)
  t.match(await readDeal(app, id), { status: 'open', revision: 1 }, 'nothing is done')
  t.match(asked.body, new RegExp(`<a class="button" href="${item}" autofocus>No, go back</a>\\s*<button`), 'safe first')
  const hidden = [...asked.body.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/gs)]
  const unescape = (text: string) => text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>')
  const form = Object.fromEntries(hidden.map(([, name, value]) => [name as string, unescape(value as string)]))
  t.strictSame(form, { _key: 'k', reason: 'Line 1\nLine "2" <i>', amercement: '5' }, 'what was entered goes along')
  t.equal((await post(app, `${item}/cancellations`, form)).statusCode, 303)
  t.match(await readDeal(app, id), { status: 'cancelled', amercement: 5, revision: 2 })
  t.match((await readLog(app, id)).at(-1), { action: 'CancelDeal', params: { reason: 'Line 1\nLine "2" <i>' } })

  await t.test('only where something would be done', async t => {
    const wrong = await post(app, `${item}/cancellations`, { ...entered, amercement: 'x' })
    t.equal(wrong.statusCode, 400)
    const same = await post(app, `${item}/cancellations`, { ...entered, _key: 'l' })
    t.equal(same.statusCode, 303, 'nothing would change')
    const refused = await post(app, `${item}/completions`, { _key: 'm', _confirm: 'ask' })
    t.equal(refused.statusCode, 409)
    t.match(refused.body, 'The deal is cancelled')
  })

  await t.test('a request without a page is not asked to confirm', async t => {
    const { id } = await createDeal(app)
    const answer = await post(app, `${home}/${id}/cancellations`, { reason: 'r', amercement: '1' }, 'application/json')
    t.equal(answer.statusCode, 201)
    const json = { method: 'POST', url: `${home}/${id}/deletions`, payload: {} } as const
    t.equal((await app.inject(json)).statusCode, 201)
    const program = await post(app, `${item}/deletions`, { _confirm: 'ask' }, 'application/json')
    t.strictSame([program.statusCode, program.json().errors[0].pointer], [400, '/_confirm'])
    const create = await post(app, home, { name: 'a', price: '1', _confirm: 'ask' })
    t.equal(create.statusCode, 400)
  })
})

t.test('what others changed since is shown before anything is done', async t => {
  const app = await pagesApp(t)
  const { id } = await createDeal(app, { name: 'Tea' })
  const item = `${home}/${id}`
  const { body: page } = await app.inject({ url: item, headers: html })
  const revisions = [...page.matchAll(/<form method="post"[^]*?name="_revision" value="(\d+)"[^]*?<\/form>/g)]
  t.strictSame(revisions.map(([, revision]) => revision), Array(7).fill('1'), 'every form of the item has it')
  await app.inject({ method: 'PUT', url: `${item}/edit`, payload: { name: 'Coffee' } })
  await app.inject({ method: 'PUT', url: `${item}/hold`, payload: { reason: 'Papers' } })
  const before = { deal: await readDeal(app, id), log: await readLog(app, id) }

  const sent = { name: 'Silk <b>', '_was.name': 'Tea', _key: 'k', _revision: '1' }
  const stale = await post(app, `${item}/edits`, sent)
  t.equal(stale.statusCode, 412)
  t.strictSame({ deal: await readDeal(app, id), log: await readLog(app, id) }, before, 'nothing is done')
  const [, refused = ''] = /<div class="refused" role="alert"[^>]*>(.*?)<div class="item/s.exec(stale.body) ?? []
  t.match(refused, 'Someone has changed it since you opened this page.')
  t.match(refused, /<h2>What has changed<\/h2>.*<strong>Held<\/strong>.*<strong>Renamed<\/strong>/s)
  t.notMatch(refused, '<strong>Created<', 'only what is new to the page')
  const [, form = ''] = new RegExp(`<form method="post" action="${item}/edits"(.*?)</form>`, 's').exec(stale.body) ?? []
  t.match(form, 'value="Silk &lt;b&gt;"', 'what was typed is kept')
  t.match(form, '<span class="theirs">Now: Coffee</span>')
  t.match(form, '<input type="hidden" name="_was.name" value="Coffee">')
  t.match(stale.body, /<details class="operation"[^>]* open>\s*<summary id="edit\.title">/, 'in an open form')
  const next = /name="_key" value="([^"]+)"/.exec(form)?.[1] as string
  t.match(form, '<input type="hidden" name="_revision" value="3">')
  t.not(next, 'k')
  t.equal((await post(app, `${item}/edits`, { ...sent, _key: next, _revision: '3' })).statusCode, 303)
  t.match(await readDeal(app, id), { name: 'Silk <b>', held: true, revision: 4 })

  await t.test('also before a question', async t => {
    const asked = await post(app, `${item}/deletions`, { _key: 'l', _revision: '3', _confirm: 'ask' })
    t.equal(asked.statusCode, 412)
    t.notMatch(asked.body, 'The deal will be deleted')
    const again = await post(app, `${item}/deletions`, { _key: 'l', _revision: '4', _confirm: 'ask' })
    t.equal(again.statusCode, 200)
    t.match(again.body, '<input type="hidden" name="_revision" value="4">', 'and goes along')
  })

  await t.test('sent again, it is the same command', async t => {
    const { statusCode } = await post(app, `${item}/edits`, { ...sent, _key: next, _revision: '3' })
    t.equal(statusCode, 303)
    t.match(await readDeal(app, id), { revision: 4 })
  })
})

t.test('who may not do it is not asked whether to', async t => {
  const app = await pagesApp(t, {
    authorize (_request, { action }) {
      if (action === 'DeleteDeal') throw new Problem('forbidden', 'Not you')
    }
  })
  const { id } = await createDeal(app)
  const answer = await post(app, `${home}/${id}/deletions`, { _key: 'k', _confirm: 'ask' })
  t.equal(answer.statusCode, 403)
  t.match(answer.body, 'Not you')
  t.equal((await app.inject(`${home}/${id}`)).statusCode, 200)
})

t.test('every page has forms of its own, and no tag that would bring an old one back', async t => {
  const app = await pagesApp(t)
  const { id } = await createDeal(app)
  const read = async () => await app.inject({ url: `${home}/${id}`, headers: html })
  const keysOf = (body: string) => [...body.matchAll(/name="_key" value="(.*?)"/g)].map(([, key]) => key)
  const [first, second] = [await read(), await read()]
  t.match(first.headers, { etag: undefined, 'last-modified': undefined, 'cache-control': 'private, no-store' })
  const keys = [...keysOf(first.body), ...keysOf(second.body)]
  t.ok(keys.length > 8)
  t.equal(new Set(keys).size, keys.length)
  const again = await app.inject({ url: `${home}/${id}`, headers: { ...html, 'if-none-match': '"1-html"' } })
  t.equal(again.statusCode, 200)
  const put = { method: 'PUT', url: `${home}/${id}/edit`, headers: { 'if-match': '"1-html"' } } as const
  t.equal((await app.inject({ ...put, payload: { name: 'Silk' } })).statusCode, 200, 'such a tag says the revision')
})

t.test('what was refused for another item is done once that allows it, without a change of its own', async t => {
  const boxes = defineFamily({
    name: 'boxes',
    singular: 'box',
    fields: Type.Object({
      id: Type.Integer(), open: Type.Boolean({ default: false }), size: Type.Integer({ default: 0 })
    }),
    create: ['open'],
    edit: ['open'],
    operations: {
      move: {
        name: 'move',
        verb: 'move',
        participle: 'moved',
        noun: 'moves',
        action: 'MoveBox',
        params: Type.Object({ to: Type.Integer() }),
        with: { to: { family: 'boxes', id: ({ to }) => to } },
        allowed: (_box, params, { items }) =>
          params === undefined || items.to?.open || 'That one is closed',
        apply: box => ({ ...box, size: box.size + 1 })
      }
    }
  })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(boxes, { storage: memoryStorage() })
  for (const open of [true, false]) await app.inject({ method: 'POST', url: '/boxes', payload: { open } })
  const form = /action="\/boxes\/1\/moves".*?name="_key" value="(.*?)"/s
  const shown = form.exec((await app.inject({ url: '/boxes/1', headers: html })).body)?.[1] as string
  const refused = await post(app, '/boxes/1/moves', { _key: shown, to: '2' })
  t.equal(refused.statusCode, 409)
  const next = form.exec(refused.body)?.[1] as string
  t.not(next, shown, 'the page that says so has another key')
  await app.inject({ method: 'PUT', url: '/boxes/2/edit', payload: { open: true } })
  const send = async (_key: string) => (await post(app, '/boxes/1/moves', { _key, to: '2' })).statusCode
  t.equal(await send(shown), 409, 'the same form is the same command')
  t.equal(await send(next), 303)
  t.equal(await send(next), 303, 'twice')
  t.match((await app.inject('/boxes/1')).json(), { size: 1 }, 'done once')
})
