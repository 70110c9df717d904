import swagger from '@fastify/swagger'
import type { TObject } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { InjectOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyDefinition, Storage } from '../../lib/index.js'
import { customers, deals, defineFamily, memoryStorage } from '../../lib/index.js'
import { wholeDocument } from '../openapi/whole.js'
import { anyStorage } from '../storages.js'

const archive = {
  name: 'archive',
  verb: 'archive',
  participle: 'archived',
  noun: 'archives',
  action: 'ArchiveTicket',
  params: Type.Object({})
}
const tickets = defineFamily({
  name: 'tickets',
  singular: 'ticket',
  fields: Type.Object({
    id: Type.Integer(),
    title: Type.String({ minLength: 1, maxLength: 100, description: 'What it is about' }),
    plain: Type.String({ default: '' }),
    note: Type.Optional(Type.String({ minLength: 2, maxLength: 4000 })),
    room: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
    size: Type.Optional(Type.Union([Type.Literal('small'), Type.Literal('large')])),
    due: Type.Optional(Type.String({ format: 'date' })),
    seen: Type.Optional(Type.String({ format: 'date-time' })),
    urgent: Type.Boolean({ default: false }),
    tags: Type.Optional(Type.Array(Type.String())),
    owner: Type.String({ default: 'nobody' }),
    archived: Type.Boolean({ default: false })
  }),
  create: ['title', 'note', 'size', 'due', 'tags'],
  edit: ['title', 'plain', 'note', 'room', 'size', 'due', 'seen', 'urgent', 'tags'],
  operations: { archive: { ...archive, changes: ['archived'], apply: ticket => ({ ...ticket, archived: true }) } },
  attributes: { fields: ['archived'], read: () => ({ operation: 'archive', params: {} }) }
})

interface Said {
  readonly id: number
  readonly params: object
  readonly command: string
}

/** The forms in which an edit is said by JSON. */
const forms: Readonly<Record<string, (said: Said) => InjectOptions>> = {
  verb: ({ id, params }) => ({ method: 'PUT', url: `/tickets/${id}/edit`, payload: params }),
  participle: ({ id, params }) => ({ method: 'PUT', url: `/tickets/${id}/edited`, payload: params }),
  update: ({ id, params }) => ({ method: 'PUT', url: `/tickets/${id}`, payload: { action: 'EditTicket', params } }),
  PUT: ({ id, params }) => ({ method: 'PUT', url: `/tickets/${id}`, payload: params }),
  PATCH: ({ id, params }) => ({ method: 'PATCH', url: `/tickets/${id}`, payload: params }),
  noun: ({ id, params }) => ({ method: 'POST', url: `/tickets/${id}/edits`, payload: params }),
  command: ({ id, params, command }) =>
    ({ method: 'PUT', url: `/tickets/${id}/commands/${command}`, payload: { action: 'EditTicket', params } }),
  commands: ({ id, params, command }) =>
    ({ method: 'PUT', url: `/rest/commands/${command}`, payload: { ticket: id, action: 'EditTicket', params } }),
  action: ({ id, params }) => ({ method: 'POST', url: '/command/EditTicket/', payload: { id, ...params } })
}

const given = { title: 'Leak', note: 'In the roof', size: 'small' as const, tags: ['a'] }
const before = { ...given, plain: '', room: null, urgent: false, owner: 'nobody', archived: false }
const { note: _note, size: _size, tags: _tags, ...bare } = before

/** What is sent, and what the ticket is after it. */
const edits: Readonly<Record<string, readonly [params: object, after: object]>> = {
  'one member': [{ title: 'Flood' }, { ...before, title: 'Flood' }],
  several: [{ note: 'Now', room: 7, urgent: true }, { ...before, note: 'Now', room: 7, urgent: true }],
  'members that were not there': [
    { due: '2030-01-31', seen: '2030-01-31T12:00:00+01:00' },
    { ...before, due: '2030-01-31', seen: '2030-01-31T11:00:00.000Z' }
  ],
  'what is taken away': [{ note: null, size: null, tags: null }, bare],
  'what is nested': [{ tags: [] }, { ...before, tags: [] }],
  'an empty text': [{ plain: 'a' }, { ...before, plain: 'a' }]
}

async function startApp (storage: Storage) {
  const app = Fastify()
  app.register(tickets, { storage })
  await app.ready()
  const read = async (id: number) => {
    const { createdAt, updatedAt, id: _id, links, ...ticket } = (await app.inject(`/tickets/${id}`)).json()
    return ticket
  }
  const create = async (): Promise<number> =>
    (await app.inject({ method: 'POST', url: '/tickets', payload: given })).json().id
  const lastOf = async (id: number) => (await app.inject(`/tickets/${id}/commands`)).json().items.at(-1)
  return { app, read, create, lastOf }
}

for (const { name, make } of anyStorage) {
  t.test(`${name}: an edit is one thing, whatever form says it`, async t => {
    const { storage, dispose } = await make()
    const { app, read, create, lastOf } = await startApp(storage)
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    const book = tickets.service({ storage })
    let made = 0
    for (const [what, [params, after]] of Object.entries(edits)) {
      for (const [form, say] of Object.entries(forms)) {
        const id = await create()
        const { statusCode, body } = await app.inject(say({ id, params, command: `c-${++made}` }))
        t.ok(statusCode === 200 || statusCode === 201, `${what} as ${form}: ${statusCode} ${body}`)
        t.strictSame(await read(id), { ...after, revision: 2 }, `${what} as ${form}`)
        t.match(await lastOf(id), { action: 'EditTicket', outcome: 'done', revision: 2 }, `${what} as ${form}: its log`)
        // Of a ticket as it is now, nothing is left to edit.
        const again = await app.inject(say({ id, params, command: `c-${++made}` }))
        t.ok(again.statusCode === 200 || again.statusCode === 201, `${what} as ${form}, again`)
        t.equal((await read(id)).revision, 2, `${what} as ${form}: unchanged`)
      }
      const id = await create()
      const done = await book.run('edit', id, params)
      t.match(done, { changed: true, item: { ...after, revision: 2 } }, `${what} by the service`)
      t.match(await book.run('edit', id, params), { changed: false }, `${what} by the service, again`)
      t.match(await book.run('edit', id), { changed: false }, 'nothing at all')
    }
  })
}

t.test('the attribute form', async t => {
  const { app, read, create, lastOf } = await startApp(memoryStorage())
  t.teardown(() => app.close())
  const id = await create()
  const whole = (await app.inject(`/tickets/${id}`)).json()
  const send = async (method: 'PUT' | 'PATCH', payload: object) =>
    (await app.inject({ method, url: `/tickets/${id}`, payload })).json()

  for (const method of ['PUT', 'PATCH'] as const) {
    const title = `by ${method}`
    const { revision } = await read(id)
    t.match(await send(method, { ...whole, ...await read(id), id, updatedAt: undefined, title }), { title })
    t.strictSame((await lastOf(id)).params, { title }, 'the log has only what differs')
    t.match(await send(method, { title: 'Other', archived: true }), {
      status: 400,
      detail: /^\/archived is changed by the operation archive, and a different member by edit; send two requests/,
      errors: [{ pointer: '/archived' }, { pointer: '/title', detail: /^is changed by the operation edit, .*archive;/ }]
    })
    t.match(await send(method, { title: 'Other', owner: 'ann' }), {
      status: 400, errors: [{ pointer: '/owner', detail: 'cannot be changed' }]
    })
    t.match(await send(method, { owner: null }), { status: 400, errors: [{ pointer: '/owner' }] })
    t.equal((await read(id)).revision, revision + 1, 'nothing of that was done')
  }
  t.match(await send('PATCH', { archived: true, title: 'by PATCH' }), { archived: true }, 'one that is as it is')
})

t.test('what is wrong is named by its pointer', async t => {
  const { app, read, create } = await startApp(memoryStorage())
  t.teardown(() => app.close())
  const id = await create()
  const table: readonly (readonly [params: object, pointer: string, detail: RegExp | string])[] = [
    [{ title: '' }, '/title', 'must not be empty'],
    [{ title: null }, '/title', 'must be a string'],
    [{ note: 'n' }, '/note', 'must have at least 2 characters'],
    [{ note: 7 }, '/note', 'must be one of string, null'],
    [{ room: 0 }, '/room', 'must be at least 1'],
    [{ room: 'x' }, '/room', 'must be one of integer, null'],
    [{ size: 'huge' }, '/size', 'must be one of small, large, null'],
    [{ due: '2030-02-30' }, '/due', /date/],
    [{ tags: ['a', 1] }, '/tags/1', 'must be a string'],
    [{ urgent: 'true' }, '/urgent', 'must be a boolean'],
    [{ owner: 'ann' }, '/owner', /is unknown\. .*Allowed are title, plain/],
    [{ titel: 'a' }, '/titel', /Did you mean "title"/]
  ]
  for (const [params, pointer, detail] of table) {
    for (const form of ['verb', 'noun', 'update', 'command'] as const) {
      const answer = await app.inject(forms[form]?.({ id, params, command: 'c' }) as InjectOptions)
      const at = (form === 'update' || form === 'command' ? '/params' : '') + pointer
      t.match(answer.json(), { status: 400, errors: [{ pointer: at, detail }] }, `${JSON.stringify(params)} as ${form}`)
      t.equal(answer.json().errors.length, 1)
    }
  }
  t.strictSame(await read(id), { ...before, revision: 1 })
})

t.test('other words, and a rule', async t => {
  const fields = Type.Object({ id: Type.Integer(), text: Type.String(), sent: Type.Boolean({ default: false }) })
  const letters = defineFamily({
    name: 'letters',
    singular: 'letter',
    fields,
    create: ['text', 'sent'],
    edit: {
      fields: ['text'],
      verb: 'rewrite',
      participle: 'rewritten',
      noun: 'rewritings',
      action: 'RewriteLetter',
      allowed: letter => !letter.sent
    }
  })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(letters, { storage: memoryStorage() })
  await app.inject({ method: 'POST', url: '/letters', payload: { text: 'a' } })
  await app.inject({ method: 'POST', url: '/letters', payload: { text: 'a', sent: true } })
  const words = [['PUT', 'rewrite'], ['PUT', 'rewritten'], ['POST', 'rewritings'], ['PATCH', '']] as const
  for (const [method, url] of words) {
    const at = (id: number) => `/letters/${id}${url === '' ? '' : `/${url}`}`
    t.ok((await app.inject({ method, url: at(1), payload: { text: url } })).statusCode < 300, url)
    t.match((await app.inject({ method, url: at(2), payload: { text: url } })).json(),
      { status: 409, operation: 'edit', allowed: [] }, `${url}, of what was sent`)
  }
  t.equal((await app.inject({ method: 'PUT', url: '/letters/1/edit', payload: { text: 'b' } })).statusCode, 404)
  t.notMatch((await app.inject('/letters/2.html')).body, 'rewritings', 'no form where it is not allowed')

  t.throws(() => defineFamily({
    name: 'letters',
    singular: 'letter',
    fields,
    edit: ['text'],
    operations: { revise: { ...archive, name: 'revise', noun: 'edits', apply: letter => letter } }
  }), { message: /the operation "edit" uses the word "edits", which belongs to the operation "revise"/ })
})

t.test('an extension edits more, and may use other words', async t => {
  const ours = deals.extend({
    fields: Type.Object({ region: Type.Optional(Type.String()) }),
    edit: ['region']
  })
  const strict = ours.extend({ edit: { fields: [], noun: 'corrections', allowed: deal => deal.status === 'open' } })
  const storage = memoryStorage()
  const book = ours.service({ storage })
  const { item: { id } } = await book.create({ name: 'Tea', price: 1 })
  t.match(await book.run('edit', id, { name: 'Silk', region: 'north' }), { item: { name: 'Silk', region: 'north' } })
  t.match(await book.run('edit', id, { region: null }), { item: { name: 'Silk', region: undefined } })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(strict, { storage, version: 'v1' })
  const edit = async (name: string) =>
    (await app.inject({ method: 'POST', url: `/rest/v1/deals/${id}/corrections`, payload: { name } })).json()
  t.match(await edit('Tea'), { action: 'EditDeal', outcome: 'done' })
  await book.run('complete', id)
  t.match(await edit('Silk'), { status: 409, operation: 'edit', state: 'completed' })

  t.throws(() => ours.extend({ edit: ['name'] }), { message: /the field of edit "name" already exists/ })
  t.throws(() => ours.extend({ edit: 'name' as never }), {
    message: /^extend "deals": "edit" must be a list of names, or an object/
  })
  t.throws(() => ours.extend({ edit: ['held'] }), { message: /edit has "held", which is already in attributes/ })
  t.doesNotThrow(() => customers.extend({ edit: ['age'] }), 'what could only be read')
})

t.test('what cannot be edited is an error at definition', async t => {
  const base: FamilyDefinition = {
    name: 'notes',
    singular: 'note',
    fields: Type.Object({ id: Type.Integer(), text: Type.String(), done: Type.Boolean() }) as TObject,
    create: ['text', 'done']
  }
  const table: readonly (readonly [edit: unknown, message: RegExp, more?: object])[] = [
    [['id'], /edit has "id", which only the service sets/],
    [['revision'], /edit has "revision", which only the service sets/],
    [['createdAt'], /edit has "createdAt"/],
    [['txet'], /edit has "txet", which is not a field\. Did you mean "text"\?/],
    [['constructor'], /edit has "constructor", which is not a field/],
    [[7], /"edit" must be a list of names, or an object/],
    [['text', 'text'], /edit has "text" twice/],
    [[], /edit must have a field/],
    ['text', /"edit" must be a list of names, or an object/],
    [null, /"edit" must be a list of names, or an object/],
    [{}, /edit: "fields" is missing; it must be a list of names, such as \['note'\]/],
    [{ fields: 'text' }, /edit: "fields" must be a list of names/],
    [{ fields: ['text'], allowed: true }, /edit: "allowed" must be a function/],
    [{ fields: ['text'], vreb: 'a' }, /edit: unknown member "vreb"\. Did you mean "verb"\?/],
    [{ fields: ['text'], name: 'amend' }, /edit: unknown member "name"/],
    [{ fields: ['text'], verb: 'A' }, /the operation "edit" has the verb "A"/],
    [['done'], /"done", which is already in attributes/, { attributes: { fields: ['done'], read: () => ({}) } }],
    [['text'], /edit defines the operation "edit"/, { operations: { edit: { ...archive, apply: () => ({}) } } }]
  ]
  for (const [edit, message, more] of table) {
    const error = { code: 'FST_DEALBOOK_INVALID_DEFINITION', message }
    t.throws(() => defineFamily({ ...base, edit, ...more } as FamilyDefinition), error, JSON.stringify(edit))
  }
})

t.test('the form of a page is filled in, and sends what was touched', async t => {
  const storage = memoryStorage()
  const { app, read } = await startApp(storage)
  t.teardown(() => app.close())
  const book = tickets.service({ storage })
  const page = async () => (await app.inject('/tickets/1.html')).body
  const send = async (entries: Record<string, string>, accept = 'text/html') => await app.inject({
    method: 'POST',
    url: '/tickets/1/edits',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept },
    payload: new URLSearchParams(entries).toString()
  })
  await book.create({ ...given, title: 'Two\nlines', note: 'a\r\nb' })
  const shown = await page()
  for (const part of [
    'aria-labelledby="edit.title"',
    '<summary id="edit.title">Edit the ticket</summary>',
    '<input type="hidden" name="_revision" value="1">',
    '>\nTwo\nlines</textarea>\n<input type="hidden" name="_was.title" value="Two\nlines">',
    'name="title" required',
    '<input id="edit-plain" name="plain" type="text" dir="auto">',
    '<option value="small" selected>Small</option>',
    '<option value="false" selected>No</option>',
    '<input id="edit-room" name="room" type="text" inputmode="numeric">',
    'dir="auto">\na</textarea>\n<input type="hidden" name="_was.tags" value="a">'
  ]) t.ok(shown.includes(part), part)
  const ids = [...shown.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
  t.equal(new Set(ids).size, ids.length, 'every id is there once, also with a field that is a title')

  // As a browser sends it: all that it was shown, line ends as CR LF.
  const was: Record<string, string> = {
    title: 'Two\r\nlines',
    plain: '',
    note: 'a\r\nb',
    room: '',
    size: 'small',
    due: '',
    seen: '',
    urgent: 'false',
    tags: 'a'
  }
  const fill = (changes: Record<string, string>, revision: number) => ({
    ...was,
    ...changes,
    _revision: String(revision),
    ...Object.fromEntries(Object.entries(was).map(([name, text]) => [`_was.${name}`, text]))
  })
  t.equal((await send(fill({}, 1))).statusCode, 303)
  t.match(await read(1), { title: 'Two\nlines', note: 'a\r\nb', size: 'small', revision: 1 }, 'untouched')
  t.equal((await send(fill({ room: '7', urgent: 'true', due: '2030-01-31' }, 1))).statusCode, 303)
  t.match(await read(1), { note: 'a\r\nb', room: 7, urgent: true, due: '2030-01-31', tags: ['a'], revision: 2 })
  const { items } = await book.log(1)
  t.strictSame(items.at(-1)?.params, { room: 7, due: '2030-01-31', urgent: true }, 'only what was touched is logged')

  const stale = await send(fill({ note: 'mine' }, 1))
  t.equal(stale.statusCode, 412)
  t.match(stale.body, 'Someone has changed it since you opened this page.')
  t.match(stale.body, />\nmine<\/textarea>/, 'what was entered')
  t.match(stale.body, /name="room"[^>]* value="7"/, 'what is there now')

  t.equal((await send(fill({ note: '', size: '' }, 2))).statusCode, 303)
  t.match(await read(1), { note: undefined, size: undefined, revision: 3 }, 'what was emptied is gone')
  const refused = await send(fill({ title: '', room: 'x', note: 'n' }, 3))
  t.equal(refused.statusCode, 400)
  t.match(refused.body, /id="edit-title-error">Title must not be empty/)
  t.match(refused.body, /id="edit-room-error">Room must be a whole number/)
  t.match(refused.body, /id="edit-note-error">Note must have at least 2/)

  t.equal((await send(fill({ tags: 'a\r\n\r\n b \r\n' }, 3))).statusCode, 303)
  t.match(await read(1), { tags: ['a', 'b'], revision: 4 }, 'a list has one line for each')

  t.match((await send({ note: 'by hand', room: '' }, 'application/json')).json(),
    { params: { note: 'by hand', room: null } }, 'by a program: what is left out stays, what is empty goes')
  t.match(await read(1), { note: 'by hand', room: null, title: 'Two\nlines', revision: 5 })
  t.match((await send({ urgent: '', plain: '' }, 'application/json')).json(),
    { status: 400, errors: [{ pointer: '/urgent' }] }, 'what must be there cannot be emptied')
})

t.test('a page where nothing can be edited as text, and one with an old value', async t => {
  const make = (size: TObject['properties'][string]) => defineFamily({
    name: 'things',
    singular: 'thing',
    fields: Type.Object({ id: Type.Integer(), size, tags: Type.Array(Type.Array(Type.String())) }) as TObject,
    create: ['size', 'tags'] as never,
    edit: ['tags'] as never
  })
  const storage = memoryStorage()
  const things = make(Type.String())
  await things.service({ storage }).create({ size: 'medium', tags: [] })
  const sizes = Type.Union([Type.Literal('small'), Type.Literal('large')])
  const stricter = defineFamily({ ...make(sizes).definition, edit: ['size'] } as unknown as FamilyDefinition)
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(things, { storage, prefix: '/a' })
  app.register(stricter, { storage, prefix: '/b' })
  t.notMatch((await app.inject('/a/things/1.html')).body, 'Edit the thing')
  t.match((await app.inject('/b/things/1.html')).body, '<option value="medium" selected>Medium</option>')
  const sent = await app.inject({
    method: 'POST',
    url: '/b/things/1/edits',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
    payload: 'size=medium&_was.size=medium'
  })
  t.equal(sent.statusCode, 303, 'what stays as it was need not fit')
})

t.test('OpenAPI describes it', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
  app.register(tickets, { storage: memoryStorage() })
  await app.ready()
  type Method = { requestBody: { content: Record<string, { schema: { properties: object, required?: string[] } }> } }
  const { paths } = wholeDocument<{ paths: Record<string, Record<string, Method>> }>(app)
  for (const path of ['/tickets/{id}/edit', '/tickets/{id}/{word}', '/command/{word}']) t.ok(paths[path], path)
  t.match(JSON.stringify(paths['/tickets/{id}/{word}']), /"edits".*"edited"/)
  t.match(JSON.stringify(paths['/command/{word}']), '"EditTicket"')
  const { properties, required } = paths['/tickets/{id}/edit']?.put?.requestBody.content['application/json']
    ?.schema as { properties: Record<string, object>, required?: string[] }
  t.equal(required, undefined, 'all may be left out')
  t.match(properties.note, { anyOf: [{ type: 'string' }, { type: 'null' }] })
  t.match(properties.title, { type: 'string', description: 'What it is about' })
  t.notOk('default' in (properties.urgent as object), 'what is left out stays')
  const patch = JSON.stringify(paths['/tickets/{id}']?.patch)
  t.match(patch, 'archived, title, plain, note')
  t.match(patch, '"note":{"anyOf":[')
  t.match(JSON.stringify(paths['/tickets/{id}']?.put), 'EditTicket')
})
