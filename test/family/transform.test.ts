import { type TSchema, Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { defineFamily, defineQuery, memoryStorage } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { storages } from '../storages.js'

const email = Type.String({ format: 'email', maxLength: 60, transform: ['trim', 'toLowerCase'] })

const members = defineFamily({
  name: 'members',
  singular: 'member',
  fields: Type.Object({
    id: Type.Integer(),
    email,
    code: Type.Union([Type.String({ pattern: '^[A-Z]+$', transform: ['toUpperCase'] }), Type.Null()]),
    note: Type.Optional(Type.String({ minLength: 1, transform: ['trimEnd', 'trimLeft'] })),
    invitedBy: Type.Optional(Type.String({ transform: ['toLowerCase'] }))
  }),
  create: ['email', 'code', 'note'],
  edit: ['email', 'code', 'note'],
  unique: [['email']],
  operations: {
    invite: {
      name: 'invite',
      verb: 'invite',
      participle: 'invited',
      noun: 'invitations',
      action: 'InviteMember',
      params: Type.Object({ by: email }),
      changes: ['invitedBy'],
      apply: (member, { by }) => ({ ...member, invitedBy: by })
    }
  },
  queries: { 'members-by-email': defineQuery({ field: 'email' }) }
})

async function membersApp (t: { teardown (fn: () => unknown): void }, storage: Storage) {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(members, { storage })
  await app.ready()
  return app
}

for (const { name, make } of storages) {
  t.test(`${name}: texts of clients are transformed before they are checked`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await membersApp(t, storage)
    const show = async () => (await app.inject('/members/1')).json()

    const made = await app.inject({
      method: 'POST', url: '/members', payload: { email: '  Ann@X.org ', code: 'ab', note: ' A b ' }
    })
    t.equal(made.statusCode, 201)
    t.match(made.json(), { email: 'ann@x.org', code: 'AB', note: 'A b' })
    const book = members.service({ storage })
    const sent = Object.freeze({ email: 'ANN@x.org', code: null })
    await t.rejects(book.create(sent), { code: 'taken' })
    t.equal(sent.email, 'ANN@x.org', 'what a caller gave stays as it is')

    const found = async (query: string) => (await app.inject(query)).json().items?.length ?? 0
    t.equal(await found('/members?email=Ann@X.org'), 1)
    t.equal(await found('/members?email.eq=%20ANN@X.ORG'), 1)
    t.equal(await found('/members?email.ne=Ann@X.org'), 0)
    t.equal(await found('/members?min-email=ANN@X.ORG&max-email=ANN@X.ORG'), 1)
    t.equal(await found('/members?or.email=Ann@X.org&or.code=ab'), 1)
    t.equal(await found('/members?code=ab'), 1)
    t.equal((await app.inject('/query/members-by-email/Ann@X.org')).statusCode, 200)
    t.equal((await book.find('email=Ann@X.org')).items.length, 1)
    t.equal((await book.find([{ field: 'email', op: 'eq', values: ['Ann@X.org'] }])).items.length, 0, 'as it is')

    const writes = [
      ['PUT', '/members/1/edit', { email: 'BEN@X.org' }, { email: 'ben@x.org' }],
      ['PATCH', '/members/1', { email: ' CAT@X.org', note: null }, { email: 'cat@x.org' }],
      ['PUT', '/members/1', { code: 'c' }, { code: 'C' }],
      ['PUT', '/members/1', { code: null }, { code: null }],
      ['PUT', '/members/1/invite', { by: 'DAN@x.org' }, { invitedBy: 'dan@x.org' }],
      ['POST', '/command/InviteMember/', { id: 1, by: 'EVE@x.org' }, { invitedBy: 'eve@x.org' }],
      ['PUT', '/members/1/commands/c-1', { action: 'EditMember', params: { code: 'd' } }, { code: 'D' }]
    ] as const
    for (const [method, url, payload, expected] of writes) {
      const { statusCode } = await app.inject({ method, url, payload })
      t.ok(statusCode < 300, `${method} ${url} ${statusCode}`)
      t.match(await show(), expected)
    }
    const { revision } = await show()
    await app.inject({ method: 'PUT', url: '/members/1/edit', payload: { email: 'Cat@X.org', code: 'd' } })
    t.equal((await show()).revision, revision, 'nothing changed')
    const again = await app.inject({
      method: 'PUT', url: '/members/1/commands/c-1', payload: { action: 'EditMember', params: { code: 'D' } }
    })
    t.equal(again.headers['idempotent-replayed'], 'true')

    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
    const form = { method: 'POST', url: '/members', headers, payload: 'email=+Fay%40X.org+&code=f&_key=a' } as const
    t.equal((await app.inject(form)).statusCode, 303)
    t.match((await app.inject('/members/2')).json(), { email: 'fay@x.org', code: 'F' })
  })
}

t.test('what is left is checked', async t => {
  const app = await membersApp(t, memoryStorage())
  const payload = { email: ' a ', code: '1', note: '  ' }
  const refused = await app.inject({ method: 'POST', url: '/members', payload })
  t.equal(refused.statusCode, 400)
  t.same(refused.json().errors.map(({ pointer }: { pointer: string }) => pointer), ['/email', '/code', '/note'])
  t.equal((await app.inject({ method: 'POST', url: '/members', payload: { email: 5 } })).statusCode, 400)
})

t.test('a text from before is unchanged when it is sent back', async t => {
  const storage = memoryStorage()
  await loadItems(storage, members, [{ id: 1, email: 'ann@x.org', code: null, invitedBy: 'Ben' }])
  const app = await membersApp(t, storage)
  const item = (await app.inject('/members/1')).json()
  const put = await app.inject({ method: 'PUT', url: '/members/1', payload: { ...item, email: 'Cat@X.org' } })
  t.match(put.json(), { email: 'cat@x.org', invitedBy: 'Ben' })
})

t.test('a transform that is not known, or has no text, is an error', async t => {
  const define = (text: TSchema) => () =>
    defineFamily({ name: 'a', singular: 'b', fields: Type.Object({ id: Type.Integer(), text }) })
  const known = /"text": the transform "upper" is unknown. It must be a list of trim, trimStart/
  t.throws(define(Type.String({ transform: ['trim', 'upper'] })), { message: known })
  t.throws(define(Type.String({ transform: 'trim' })), { message: /"trim" is unknown. It must be a list/ })
  const misplaced = { message: /"text" has transform, but is not a text field/ }
  t.throws(define(Type.Integer({ transform: ['trim'] })), misplaced)
  t.throws(define(Type.Array(Type.String({ transform: ['trim'] }))), misplaced)
  t.throws(define(Type.Object({ a: Type.String({ transform: ['trim'] }) })), misplaced)
  t.throws(define(Type.Union([Type.String({ transform: ['trim'] }), Type.Integer()])), misplaced)
  t.doesNotThrow(define(Type.Object({ transform: Type.String() })))
  for (const name of ['trim', 'trimStart', 'trimLeft', 'trimEnd', 'trimRight', 'toLowerCase', 'toUpperCase']) {
    t.doesNotThrow(define(Type.Optional(Type.String({ transform: [name] }))))
  }
})
