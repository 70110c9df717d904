import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import { formatNames, getFormat } from '../../lib/core/values/formats.js'
import { defineFamily, memoryStorage } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'

const long = (count: number) => 'a'.repeat(count)

/** By format: texts that have it, and texts that do not. */
const table: Record<string, [valid: string[], invalid: string[]]> = {
  date: [['2024-02-29', '0001-01-01'], ['2023-02-29', '2026-3-1', '0000-01-01', '2026-03-31T00:00:00Z', '']],
  'date-time': [
    ['2026-03-31T12:00:00Z', '2026-03-31t12:00:00.123456z', '2026-03-31T23:59:59-11:30'],
    ['2026-03-31', '2026-03-31T12:00:00', '2026-03-31T24:00:00Z', '2026-03-31 12:00:00Z', '2016-12-31T23:59:60Z']
  ],
  time: [
    ['12:00:00Z', '23:59:59.5+01:00', '00:00:00z'],
    ['12:00:00', '12:00Z', '24:00:00Z', '12:60:00Z', '22:59:60Z', '12:00:00+24:00', '12:00:00 Z', '']
  ],
  duration: [
    ['P1Y', 'P3DT12H', 'PT36H', 'P2W', 'P1Y2M3DT4H5M6S', 'P1Y2D', 'PT1H2S', 'P0D'],
    ['P', 'PT', 'P1DT', '1D', 'P1', 'P1S', 'P1D2W', 'P2D1Y', 'PT1D', 'p1d', 'P1.5D', '']
  ],
  email: [
    ['ann@example.org', 'ann.b+c@example.org', 'a@localhost', `${long(64)}@example.org`, "o'neil@example.org"],
    ['not an email', 'ann', '@example.org', 'ann@', '.ann@example.org', 'ann.@example.org', 'a..b@example.org',
      'a b@example.org', 'a@b@c', 'ann@-example.org', 'ann@example..org', `${long(65)}@example.org`,
      `a@${Array(64).fill(long(3)).join('.')}`, 'änn@example.org', '"a@b"', '']
  ],
  hostname: [
    ['www.example.org', 'localhost', '1.2.3', 'a-b.c', 'xn--bcher-kva.example', `${long(63)}.org`, 'EXAMPLE.org'],
    ['', '.', 'a.', '.a', 'a..b', '-a.org', 'a-.org', 'a_b.org', 'a b', 'ä.org', `${long(64)}.org`,
      Array(64).fill(long(3)).join('.')]
  ],
  ipv4: [['192.0.2.1', '0.0.0.0', '255.255.255.255'], ['256.0.0.1', '1.2.3', '1.2.3.4.5', '01.2.3.4', '0x7f.1.1.1']],
  ipv6: [
    ['::', '::1', '2001:db8::1', '2001:DB8:0:0:0:0:0:1', '::ffff:192.0.2.1'],
    ['1::2::3', '12345::', '::1%eth0', '1:2:3:4:5:6:7', '192.0.2.1', '[::1]', '']
  ],
  uri: [
    ['https://example.org', 'https://ann:b@example.org:8080/a/b?c=d&e#f?/', 'http://[2001:db8::1]:80/', 'urn:isbn:123',
      'mailto:ann@example.org', 'file:///a', 'http://a/%C3%A4', 'tel:+1-2', 'a:', 'http://a:/'],
    ['example.org', '/a', '//example.org/a', 'http://exa mple.org', 'http://a:b', 'http://a:1:2', 'http://[::1',
      'http://[1]/', 'http://a]b/', 'https://ä.org', 'http://a/%zz', 'http://a/%4', 'http://a/<b>', 'http://a/#b#c',
      ':a', '1a:b', 'http://a/{b}', 'http://a/"', 'http://a\\b', '']
  ],
  'uri-reference': [
    ['', '/a', 'a/b?c#d', '//example.org/a', '#a', '?a', '../a:b', 'https://example.org', './a:b'],
    ['a b', '\\a', '/ä', '#a#b', '//a:b', '%a']
  ],
  'json-pointer': [['', '/', '/a/0', '/a~0b/~1', '/ä'], ['a', '#/a', '/~', '/~2', '/a~']],
  regex: [
    ['^a+$', '', '(?<a>b)\\k<a>', '\\p{L}', long(2000)],
    ['(', '[', 'a**', '\\p{Nothing}', '(?<a', long(2001)]
  ],
  uuid: [
    ['01890a5d-ac96-774b-bcce-b302099a8057', '01890A5D-AC96-774B-BCCE-B302099A8057'],
    ['01890a5dac96774bbcceb302099a8057', '01890a5d-ac96-774b-bcce-b302099a805', '01890a5g-ac96-774b-bcce-b302099a8057',
      '{01890a5d-ac96-774b-bcce-b302099a8057}', '']
  ]
}

t.test('every format that can be checked', async t => {
  t.strictSame(Object.keys(table).sort(), [...formatNames].sort())
  for (const [name, [valid, invalid]] of Object.entries(table)) {
    const format = getFormat(name)
    for (const text of valid) t.equal(format?.test(text), true, `${name}: ${text}`)
    for (const text of invalid) t.equal(format?.test(text), false, `${name}: not ${text}`)
    t.match(format?.rule, /^must be an? .*[a-z]|^must be the name/)
    // Every rule gives an example, which is none of its exceptions.
    const example = /, such as (\S+?)(?: or |$)/.exec(format?.rule ?? '')?.[1]
    if (name !== 'regex') t.equal(format?.test(example ?? ''), true, `the example for ${name}: ${example}`)
  }
})

t.test('a long text holds up nothing', async t => {
  const beginnings = ['', 'a@', '"', 'http://', '//', '{', '[', 'P', '1', '/']
  for (const name of formatNames) {
    for (const part of ['a', 'a.', '1:', '/', '~0', '%41', '{a}', '{a,', '\\p{L}', 'ä', '(', ':', '@', '-']) {
      const text = part.repeat(200_000 / part.length)
      // With a square in its cost, each of these would take many minutes.
      for (const beginning of beginnings) getFormat(name)?.test(`${beginning}${text}\0`)
    }
    t.equal(getFormat(name)?.test(`${'a'.repeat(200_000)}\0`), false, name)
  }
})

const people = defineFamily({
  name: 'people',
  singular: 'person',
  fields: Type.Object({
    id: Type.Integer(),
    email: Type.String({ format: 'email' }),
    site: Type.Optional(Type.String({ format: 'uri' })),
    addresses: Type.Optional(Type.Array(Type.String({ format: 'ipv4' })))
  }),
  create: ['email', 'site', 'addresses'],
  operations: {
    move: {
      name: 'move',
      verb: 'move',
      participle: 'moved',
      noun: 'moves',
      action: 'MovePerson',
      params: Type.Object({ to: Type.String({ format: 'email' }) }),
      apply: (person, { to }) => ({ ...person, email: to })
    }
  }
})

t.test('what has not the format is refused, wherever it is sent', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  app.register(people, { storage })
  const create = async (payload: object) => await app.inject({ method: 'POST', url: '/people', payload })
  const rule = 'must be an email address, such as ann@example.org'

  t.equal((await create({ email: 'ann@example.org', site: 'https://a.org', addresses: ['192.0.2.1'] })).statusCode, 201)
  const refused = (await create({ email: 'not an email' })).json()
  t.match(refused, { status: 400, errors: [{ pointer: '/email', detail: rule }] })
  t.match((await create({ email: 'a@b', site: 'a.org', addresses: ['192.0.2.1', '1'] })).json(), {
    status: 400,
    errors: [
      { pointer: '/site', detail: 'must be a URI with a scheme, such as https://example.org/a' },
      { pointer: '/addresses/1', detail: 'must be an IPv4 address, such as 192.0.2.1' }
    ]
  })
  const move = await app.inject({ method: 'PUT', url: '/people/1/move', payload: { to: 'nowhere' } })
  t.match(move.json(), { status: 400, errors: [{ pointer: '/to', detail: rule }] })
  const form = await app.inject({
    method: 'POST',
    url: '/people',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
    payload: 'email=nobody'
  })
  t.equal(form.statusCode, 400)
  t.match(form.body, rule)
  await t.rejects(people.service({ storage }).create({ email: 'nobody' }), { code: 'invalid-body' })
  const service = { revision: 1, createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' }
  const loading = loadItems(storage, people, [{ id: 9, email: 'nobody', ...service }])
  await t.rejects(loading, { message: `people, item 1: /email ${rule}` })
})

t.test('a format that is not known is an error at definition', async t => {
  const define = (schema: object) => defineFamily({
    name: 'people',
    singular: 'person',
    fields: Type.Object({ id: Type.Integer(), mail: Type.Unsafe(schema) })
  })
  for (const schema of [
    { type: 'string', format: 'emial' },
    { type: 'array', items: { type: 'string', format: 'emial' } },
    { anyOf: [{ type: 'string', format: 'emial' }, { type: 'null' }] },
    { type: 'object', properties: { a: { type: 'string', format: 'emial' } } }
  ]) {
    t.throws(() => define(schema), {
      code: 'FST_DEALBOOK_INVALID_DEFINITION',
      message: /"emial" is unknown\. Did you mean "email"\? Known formats are date, .*regex; for others, use pattern/
    })
  }
  t.throws(() => define({ type: 'string', format: 'constructor' }), /the format "constructor" is unknown/)
  const named = { type: 'object', properties: { format: { type: 'string' } }, default: { format: 'emial' } }
  t.doesNotThrow(() => define(named), 'a member of this name')
})
