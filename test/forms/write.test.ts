import type { FastifyReply, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import { compileFamily } from '../../lib/core/family/compile.js'
import type { Stored } from '../../lib/core/storage/storage.js'
import { FormBody } from '../../lib/http/body.js'
import { commands } from '../../lib/http/forms/rest-commands.js'
import {
  documentWord, makeCommand, makeWriteEndpoint, sendSeen, type Write, writeHandler
} from '../../lib/http/forms/write.js'
import { manyPart } from '../../lib/http/many/many.js'
import { type Mount, Neighbours } from '../../lib/http/mount.js'
import { customers, memoryStorage, Type } from '../../lib/index.js'
import { createDeal, dealsApp, home } from '../deals/app.js'

const family = { singular: 'box', readId: (text: string) => text === 'none' ? undefined : text }
const limits = { maxMembers: 9 } as never

function formOf (fields: Record<string, string>): FormBody {
  return new FormBody(Buffer.from(String(new URLSearchParams(fields))), limits)
}

const write: Write = {
  read: () => ({ action: 'LockBox', target: 1, params: {} }),
  answer: () => ({}) as FastifyReply
}

t.test('an endpoint has what its form gives, and nothing else', async t => {
  const given = {
    documented: { kind: 'operation', forms: ['verb'], action: 'LockBox' },
    consumes: ['text/csv'],
    word: 'lock',
    accepts: () => true
  } as const
  const mount = { home: '/boxes' } as Mount
  const make = (members: Partial<typeof given>) => {
    const { handler, ...others } = makeWriteEndpoint(mount, { path: '/:id', method: 'PUT', ...write, ...members })
    t.type(handler, 'function')
    return others
  }
  const least = { method: 'PUT', path: '/boxes/:id' }
  t.strictSame(make({}), least)
  for (const name of Object.keys(given) as (keyof typeof given)[]) {
    t.strictSame(make({ [name]: given[name] }), { ...least, [name]: given[name] }, name)
  }
})

t.test('only the recommended form has a path for each word in documents', async t => {
  const mount = { recommendedForm: 'noun' } as Mount
  const documented = { kind: 'operation', action: 'LockBox' }
  t.strictSame(documentWord(mount, 'verb', 'LockBox', 'lock'),
    { documented: { ...documented, forms: ['verb'] }, word: 'lock' })
  t.strictSame(documentWord(mount, 'noun', 'LockBox', 'locks'), { documented: { ...documented, forms: ['noun'] } })
})

t.test('the conditions and the key of a command are those of its request', async t => {
  const current = { id: 1, revision: 2, createdAt: '2030-01-01T00:00:00.000Z', updatedAt: '2030-01-01T12:00:00.000Z' }
  const [before, after] = ['Tue, 01 Jan 2030 11:00:00 GMT', 'Tue, 01 Jan 2030 13:00:00 GMT']
  type Row = readonly [
    headers: Record<string, string>, expected: string | undefined,
    others?: { id?: string, target?: undefined, preconditions?: 'required', form?: Record<string, string> }
  ]
  const rows: readonly Row[] = [
    [{}, undefined],
    [{ 'if-match': '"2"' }, 'holds'],
    [{ 'if-match': '"1"' }, 'precondition-failed'],
    [{ 'if-match': '"1"' }, 'precondition-failed', { preconditions: 'required' }],
    [{ 'if-match': '"2"' }, 'holds', { preconditions: 'required' }],
    [{}, 'precondition-required', { preconditions: 'required' }],
    [{ 'if-none-match': '"2"' }, 'precondition-failed'],
    [{ 'if-none-match': '"1"' }, 'holds'],
    [{ 'if-none-match': '"2"' }, 'holds', { id: 'c-1' }],
    [{ 'if-unmodified-since': before }, 'precondition-failed'],
    [{ 'if-unmodified-since': after }, 'holds'],
    [{}, 'holds', { form: { _revision: '2' } }],
    [{ 'if-match': '"2"' }, 'precondition-failed', { form: { _revision: '1' } }],
    [{}, undefined, { form: { a: 'b' } }]
  ]
  for (const [headers, expected, { id, preconditions, form } = {}] of rows) {
    const mount = { family, preconditions } as unknown as Mount
    const request = { headers, body: form && formOf(form) } as unknown as FastifyRequest
    const { precondition } = makeCommand({ mount, request }, { action: 'a', target: 1, params: {}, id })
    let found: string | undefined = precondition && 'holds'
    try { precondition?.(current as Stored) } catch (error) { found = (error as { code: string }).code }
    t.equal(found, expected, JSON.stringify([headers, id, preconditions, form]))
  }
  const mount = { family } as unknown as Mount
  const request = { headers: { 'idempotency-key': '"k"' }, body: {} } as unknown as FastifyRequest
  const sent = { action: 'LockBox', target: 1, params: { a: 1 } }
  t.strictSame(makeCommand({ mount, request }, sent, true), {
    ...sent,
    id: undefined,
    key: 'k',
    interpret: undefined,
    content: undefined,
    keepsItem: true,
    precondition: undefined,
    named: undefined,
    at: undefined
  })
  t.match(makeCommand({ mount, request }, { ...sent, id: 'c-1' }), { id: 'c-1', key: undefined, keepsItem: undefined })
})

t.test('only a form of a page, of a representation that takes it, is submitted', async t => {
  const request = (body: unknown, id?: string) =>
    ({ headers: {}, method: 'POST', raw: { url: '/boxes' }, body, params: { id } }) as unknown as FastifyRequest
  const send = async (body: unknown, { id, submits, takes = true }: {
    id?: string, submits?: string, takes?: boolean
  }): Promise<unknown> => {
    const submitted: unknown[] = []
    const submit = async (...[target, form]: unknown[]): Promise<void> => { submitted.push(target, form) }
    const representation = takes ? { submit } : {}
    const mount = {
      family, trustedOrigins: [], shown: 'shown', chooser: { choose: () => ({ representation, words: 'w' }) }
    } as unknown as Mount
    const read = (): never => { throw new Error('read') }
    const reply = {} as FastifyReply
    try {
      const handler = writeHandler(mount, { ...write, read, ...submits === undefined ? {} : { submits } })
      t.equal(await handler(request(body, id), reply), reply)
      const [{ representation: its, ...target }] = submitted as [{ representation: unknown }]
      t.equal(its, representation)
      t.equal(submitted[1], body)
      return target
    } catch (error) {
      return (error as Error).message
    }
  }
  const form = formOf({ reason: 'a' })
  const target = { action: 'LockBox', mount: 'shown', words: 'w' }
  t.strictSame(await send(form, { submits: 'LockBox', id: '1' }), { ...target, id: '1' })
  t.strictSame(await send(form, { submits: 'LockBox', id: 'none' }), target)
  t.equal(await send({}, { submits: 'LockBox', id: '1' }), 'read')
  t.equal(await send(form, { id: '1' }), 'read')
  t.equal(await send(form, { submits: 'LockBox', id: '1', takes: false }), 'read')

  const handle = writeHandler({
    family, trustedOrigins: [], chooser: { choose: () => ({ representation: {} }) }
  } as unknown as Mount, { ...write, answer: () => { throw new Error('answered') } })
  await t.rejects(handle(request(formOf({ _confirm: '' })), {} as FastifyReply), { code: 'invalid-body' })
  // Without a storage, it ends here.
  await t.rejects(handle(request(formOf({})), {} as FastifyReply), TypeError)
})

t.test('a storage that has replicas says what they must have', async t => {
  const seen = async (storage: unknown): Promise<unknown> => {
    const headers: string[] = []
    const reply = { header: (...given: string[]) => { headers.push(given.join(': ')) } } as unknown as FastifyReply
    const sending = sendSeen(reply, { storage: () => storage } as never)
    if (sending === undefined) return 'nothing to wait for'
    await sending
    return headers
  }
  const made = ['dealbook-seen: 1-a']
  t.equal(await seen({}), 'nothing to wait for')
  t.strictSame(await seen({ seen: async () => '1-a' }), made)
  t.strictSame(await seen({ seen: async () => undefined }), [])
  t.strictSame(await seen(Promise.resolve({ seen: async () => '1-a' })), made)
  t.strictSame(await seen(Promise.resolve({})), [])
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = { ...memoryStorage(), async seen () { await new Promise(setImmediate); return '2-b' } }
  app.register(customers.extend({ create: ['age', 'children'] }), { storage })
  const answer = await app.inject({ method: 'POST', url: '/customers', payload: { age: 1, children: 0 } })
  t.strictSame([answer.statusCode, answer.headers['dealbook-seen']], [201, '2-b'], 'the answer waits for it')
})

const fields = Type.Object({ id: Type.Integer(), label: Type.String() })
const lock = {
  name: 'lock',
  verb: 'lock',
  participle: 'locked',
  noun: 'locks',
  action: 'LockBox',
  params: Type.Object({}),
  apply: (box: object) => box
}

t.test('families at one prefix share the routes under /rest/commands', async t => {
  const neighbours = new Neighbours()
  const mountOf = (name: string, operations: object, others: object = {}): Mount => {
    const family = compileFamily({ name, singular: name.slice(0, -1), fields, operations } as never)
    return { family, neighbours, parts: { many: manyPart }, shown: name, ...others } as unknown as Mount
  }
  const declare = (mount: Mount) => commands.endpoints(mount)
  t.equal(commands.name, 'commands')
  t.strictSame(declare(mountOf('bags', { lock }, { unversioned: false })), [])
  t.equal(neighbours.commands.size, 0)
  const first = declare(mountOf('jars', {}))
  t.strictSame([...neighbours.puts.keys()], [], 'without operations, nothing can be put')
  const second = declare(mountOf('boxs', { lock }))
  t.strictSame(declare(mountOf('cans', { lock })), [])
  t.strictSame([[...neighbours.puts.keys()], [...neighbours.commands.keys()]], [['box', 'can'], ['jar', 'box', 'can']])
  const show = ({ method, path, sharedBy, documented }: typeof first[number]) => {
    const { targets, ...others } = documented as unknown as { targets: () => readonly { mount: unknown }[] }
    return [method, path, sharedBy, { ...others, of: targets().map(({ mount }) => mount).join() }]
  }
  const shared = { isShared: true, forms: ['commands'] }
  t.strictSame([...first, ...second].map(show), [
    ['POST', '/rest/commands', 'families', { kind: 'commands', ...shared, of: 'jars,boxs,cans' }],
    ['PUT', '/rest/commands/:command', 'families', { kind: 'command', ...shared, of: 'boxs,cans' }],
    ['GET', '/rest/commands/:command', 'families', { kind: 'entry', isShared: true, of: 'jars,boxs,cans' }]
  ])
})

t.test('each of many commands is an operation, a creation or a deletion', async t => {
  const neighbours = new Neighbours()
  const parts = { many: manyPart }
  const mountOf = (definition: object): Mount =>
    ({ family: compileFamily({ fields, ...definition } as never), neighbours, parts }) as unknown as Mount
  commands.endpoints(mountOf({ name: 'boxes', singular: 'box', operations: { lock }, create: ['label'] }))
  commands.endpoints(mountOf({ name: 'lids', singular: 'lid', operations: { lock } }))
  commands.endpoints(mountOf({ name: 'pots', singular: 'pot', create: ['label'], remove: false }))
  type Row = readonly [singular: string, sent: object, read: object]
  const flaw = (pointer: string) => ({ code: 'invalid-body', errors: [{ pointer }] })
  const targeted = { id: undefined, target: 1, params: {} }
  const rows: readonly Row[] = [
    ['box', { box: 1, action: 'LockBox', params: {} }, { ...targeted, action: 'LockBox' }],
    ['box', { id: 'c-1', box: 1, action: 'LockBox', params: {} }, { ...targeted, id: 'c-1', action: 'LockBox' }],
    ['box', { box: 1, action: 'DeleteBox', params: {} }, { ...targeted, action: 'DeleteBox' }],
    ['box', { id: 'c-1', action: 'CreateBox', params: { label: 'a' } },
      { id: 'c-1', action: 'CreateBox', params: { label: 'a' }, target: undefined }],
    ['box', { box: 1, action: 'Lock', params: {} }, flaw('/action')],
    ['box', { id: '\u0001', box: 1, action: 'LockBox', params: {} }, flaw('/id')],
    ['box', { id: '\u0001', action: 'CreateBox', params: { label: 'a' } }, flaw('/id')],
    ['lid', { lid: 1, action: 'LockBox', params: {} }, { ...targeted, action: 'LockBox' }],
    ['lid', { lid: 1, action: 'DeleteLid', params: {} }, flaw('/action')],
    ['lid', { lid: 1, params: {} }, flaw('/action')],
    ['pot', { pot: 1, action: 'DeletePot', params: {} }, flaw('/action')]
  ]
  for (const [singular, sent, expected] of rows) {
    let read: unknown
    try { read = neighbours.commands.get(singular)?.read(sent as never) } catch (error) { read = error }
    t.match(read, expected, JSON.stringify(sent))
  }
})

t.test('a replay is answered in the form in which it is sent', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const { id } = await createDeal(app)
  const hold = (key: string, reason: string, word = 'hold') => ({
    method: word === 'hold' ? 'PUT' : 'POST',
    url: `${home}/${id}/${word}`,
    payload: { reason },
    headers: { 'idempotency-key': key }
  } as const)
  const first = await app.inject(hold('k1', 'a', 'holds'))
  const refused = await app.inject(hold('k2', 'b'))
  t.strictSame([first.statusCode, refused.statusCode], [201, 409])
  await app.inject({ method: 'PUT', url: `${home}/${id}/unhold` })
  // Without the item of that moment, as it is now.
  const item = await app.inject(`${home}/${id}`)
  const rows: [request: ReturnType<typeof hold>, status: number, body: string][] = [
    [hold('k1', 'a', 'holds'), 201, first.body],
    [hold('k1', 'a'), 200, item.body],
    [hold('k2', 'b'), 409, refused.body]
  ]
  for (const [request, status, body] of rows) {
    const { statusCode, headers, body: answered } = await app.inject(request)
    t.strictSame([statusCode, headers['idempotent-replayed'], answered], [status, 'true', body], `${status}`)
  }
  await app.inject({ method: 'DELETE', url: `${home}/${id}` })
  t.match(await app.inject(hold('k1', 'a')), { statusCode: 204, body: '' }, 'the item is gone')
})
