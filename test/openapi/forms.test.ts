import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyDefinition, FamilyOptions } from '../../lib/index.js'
import { defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { wholeDocument } from './whole.js'

type Json = Record<string, unknown>

interface Described {
  readonly summary: string
  readonly description: string
  readonly parameters?: readonly { readonly name: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Json>> }
  readonly responses: Readonly<Record<string, Json>>
  readonly deprecated?: boolean
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Json>> }
}

const put = {
  name: 'put',
  verb: 'put',
  participle: 'put',
  noun: 'puttings',
  action: 'PutBox',
  params: Type.Object({ shelf: Type.String() }),
  changes: ['shelf'],
  apply: (box: object, params: object) => ({ ...box, ...params })
}
const base = {
  name: 'boxes',
  singular: 'box',
  fields: Type.Object({
    id: Type.Integer(), label: Type.String({ default: '' }), shelf: Type.Optional(Type.String())
  })
}
const whole = { create: ['label'], edit: ['label'], remove: { restore: false }, operations: { put } }

/** What a document says of the writes of boxes: words, parameters, bodies and answers. */
async function describeBoxes (more: object, options: Partial<FamilyOptions> = {}) {
  const app = Fastify()
  await app.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } },
    refResolver: { buildLocalReference: json => String(json.$id) }
  })
  const family = defineFamily({ ...base, ...more } as unknown as FamilyDefinition)
  app.register(family, { storage: memoryStorage(), ...options })
  await app.ready()
  const { paths, components: { schemas } } = JSON.parse(JSON.stringify(app.swagger())) as Document
  await app.close()
  const namesIn = (value: unknown): string =>
    [...JSON.stringify(value).matchAll(/schemas\/dealbook\.(\w+)/g)].map(([, name]) => ` ${name}`).join('')
  const lines = Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods)
    .filter(([method]) => method !== 'get' || path === '/rest/commands/{command}')
    .map(([method, { summary, description, parameters = [], requestBody: { content } = { content: {} }, responses }]) =>
      [`${method} ${path}`, [
        `${summary}. ${description}`,
        parameters.map(({ name }) => name).join(' '),
        Object.entries(content).map(([type, body]) => type.replace('application/', '') + namesIn(body)).join(', '),
        Object.entries(responses).map(([status, answer]) => status + namesIn(answer)).join(', ')
      ]] as const))
  return {
    lines: Object.fromEntries(lines),
    schemaOf: (name: string) => schemas[`dealbook.${name}`],
    bodyOf: (method: string, path: string) =>
      paths[path]?.[method]?.requestBody?.content['application/json']?.['schema'],
    wordsAt: (method: string, path: string) => JSON.stringify(paths[path]?.[method]?.parameters ?? '')
      .match(/"enum":\[([^\]]*)/)?.[1]?.replaceAll('"', '')
  }
}

const both = ['json', 'x-www-form-urlencoded']
const create = [
  'Create a box. Send an Idempotency-Key to make retries safe.', 'idempotency-key prefer',
  both.map(type => `${type} NewBox`).join(', '),
  '201 LinkedBox, 303, 400 CreateBox400, 422 Box422, default OtherProblem'
]
const many = 'In this order, each for itself; with atomic all in one commit, or none.'
const chosen = 'You choose the id of the command, which makes retries safe.'
const inOrder = 'The bodies are in the order of the words.'
const refused = '404 Box404, 412 Box412, 422 Box422, default OtherProblem'

t.test('of all forms, one is described in full', async t => {
  const { lines, bodyOf, wordsAt, schemaOf } = await describeBoxes(whole)
  t.strictSame(lines, {
    'post /boxes': create,
    'delete /boxes/{id}': [
      'Delete a box. Its log is kept.', 'id if-match idempotency-key', '',
      '204, 404 Box404, 409 DeleteBox409, 412 Box412, 422 Box422, default OtherProblem'
    ],
    'put /boxes/{id}/put': [
      'put. Allowed in every state.', 'id if-match idempotency-key', 'json PutBoxParams',
      `200 LinkedBox, 204, 400 PutBox400, ${refused}`
    ],
    'put /boxes/{id}/edit': [
      'Edit the box. Allowed in every state.', 'id if-match idempotency-key', 'json EditBoxParams',
      `200 LinkedBox, 204, 400 EditBox400, ${refused}`
    ],
    'put /boxes/{id}/{word}': [
      `Change a box (form participle). ${inOrder}`, 'id word idempotency-key', 'json EditBoxParams', '200 LinkedBox'
    ],
    'post /boxes/{id}/{word}': [
      `Change a box (form noun). ${inOrder}`, 'id word idempotency-key',
      both.map(type => `${type} BoxNounParams`).join(', '), '200 UnchangedBox, 201 BoxCommand'
    ],
    'put /boxes/{id}': [
      'Change a box (forms update and attributes). With an action: runs that operation. Without an action: sets the ' +
        'members that you send.',
      'id idempotency-key', 'json BoxAction BoxChanges', '200 LinkedBox'
    ],
    'patch /boxes/{id}': [
      'Change members of a box (form attributes). A JSON merge patch (RFC 7396). It can change label.',
      'id idempotency-key', 'merge-patch+json BoxChanges, json BoxChanges', '200 LinkedBox'
    ],
    'put /boxes/{id}/commands/{command}': [
      `Change a box (form command). ${chosen}`, 'id command', 'json BoxAction', '200 BoxCommand, 201 BoxCommand'
    ],
    'put /rest/commands/{command}': [
      `Change an item of any family (form commands). ${chosen}`, 'command', 'json PutBoxCommand EditBoxCommand',
      '200 BoxCommand, 201 BoxCommand'
    ],
    'get /rest/commands/{command}': [
      'Read a command. The request and its outcome.', 'command', '', '200 BoxCommand, default OtherProblem'
    ],
    'post /rest/commands': [
      `Send many commands (form commands). ${many}`, 'idempotency-key', 'json SentBoxCommand SentCreateBox',
      '200 BoxResult'
    ],
    'post /command/{word}': [
      `Change an item of any family by its action. ${inOrder}`, 'word idempotency-key',
      'json PutBoxProperties EditBoxProperties NewBox DeleteBoxProperties', '200'
    ]
  })
  t.equal(wordsAt('put', '/boxes/{id}/{word}'), 'edited', 'the participle of put is its verb')
  t.equal(wordsAt('post', '/boxes/{id}/{word}'), 'puttings,edits,deletions')
  t.equal(wordsAt('post', '/command/{word}'), 'PutBox,EditBox,CreateBox,DeleteBox')

  t.match(bodyOf('post', '/rest/commands'), {
    additionalProperties: false,
    required: ['commands'],
    properties: { commands: { type: 'array', minItems: 1 }, atomic: { type: 'boolean', default: false } }
  })
  t.match(schemaOf('SentBoxCommand'), {
    additionalProperties: false,
    required: ['box', 'action'],
    properties: {
      id: { description: 'The id of the command' },
      box: { type: 'integer' },
      action: { enum: ['PutBox', 'EditBox', 'DeleteBox'] },
      params: { anyOf: [{ $ref: /PutBoxParams/ }, { $ref: /EditBoxParams/ }, { $ref: /DeleteBoxParams/ }] },
      revision: { description: 'The revision you know' }
    }
  })
  t.match(schemaOf('SentCreateBox'), {
    additionalProperties: false,
    required: ['action', 'params'],
    properties: { id: { type: 'string' }, action: { enum: ['CreateBox'] }, params: { $ref: /NewBox/ } }
  })
  t.match(schemaOf('BoxResult'), {
    required: ['status'],
    properties: {
      status: { description: 'As of the command alone' },
      replayed: { description: 'Whether it ran before' },
      command: { $ref: /BoxCommand/ },
      item: { $ref: /LinkedBox/ },
      problem: { $ref: /Problem/ }
    }
  })
  t.equal(schemaOf('SentCommands400'), undefined, 'only where it is used')
  t.match(schemaOf('PutBoxProperties'), { required: ['id', 'shelf'], properties: { id: { type: 'integer' } } })
  t.match(schemaOf('PutBoxCommand'), { required: ['box', 'action', 'params'] })
  t.strictSame(Object.keys(schemaOf('BoxChanges')?.['properties'] as object),
    ['id', 'label', 'shelf', 'revision', 'createdAt', 'updatedAt', 'links'])
  t.notMatch(JSON.stringify(schemaOf('BoxChanges')), 'default', 'what is not sent stays')
})

t.test('of the forms that are mounted, the first is described in full', async t => {
  const commands = '200 BoxCommand, 201 BoxCommand, 204, 400 BoxAction400, 404 Box404, 412 Box412, 422 BoxAction422, ' +
    'default OtherProblem'
  const table: [NonNullable<FamilyOptions['forms']>, Record<string, readonly string[]>][] = [
    [['commands'], {
      'put /rest/commands/{command}': [
        `Change an item of any family. ${chosen}`, 'command if-match prefer', 'json PutBoxCommand EditBoxCommand',
        commands
      ],
      'post /rest/commands': [
        `Send many commands. ${many}`, 'idempotency-key prefer', 'json SentBoxCommand SentCreateBox',
        '200 BoxResult, 400 SentCommands400, 422 SentCommands422, default OtherProblem'
      ]
    }],
    [['command'], {
      'put /boxes/{id}/commands/{command}': [
        `Change a box. ${chosen}`, 'id command if-match prefer', 'json BoxAction', commands
      ]
    }],
    [['noun'], {
      'post /boxes/{id}/deletions': [
        'Delete a box. Allowed in every state.', 'id if-match idempotency-key prefer',
        both.map(type => `${type} DeleteBoxParams`).join(', '),
        '200 UnchangedBox, 201 BoxCommand, 204, 303, 404 Box404, 409 DeleteBox409, 412 Box412, 422 Box422, ' +
          'default OtherProblem'
      ]
    }],
    [['participle'], {
      'put /boxes/{id}/put': [
        'put. Allowed in every state.', 'id if-match idempotency-key', 'json PutBoxParams',
        `200 LinkedBox, 204, 400 PutBox400, ${refused}`
      ]
    }],
    [['update', 'attributes'], {
      'put /boxes/{id}': [
        'Change a box. With an action: runs that operation. Without an action: sets the members that you send.',
        'id if-match idempotency-key', 'json BoxAction BoxChanges', `200 LinkedBox, 204, 400 BoxAction400, ${refused}`
      ]
    }]
  ]
  for (const [forms, expected] of table) {
    const { lines, schemaOf } = await describeBoxes(whole, { forms })
    t.match(lines, expected, String(forms))
    if (!forms.includes('commands')) continue
    t.match(schemaOf('SentCommands400'), { examples: [{ errors: [{ pointer: '/commands/3/params/reason' }] }] })
    const example = { detail: /order-17-hold/, errors: [{ pointer: '/commands/3' }] }
    t.match(schemaOf('SentCommands422'), { examples: [example] })
  }
})

t.test('what a family cannot do is not described', async t => {
  const attributes = { fields: ['shelf'], read: () => ({ operation: 'put', params: {} }) }
  const made = ['post /boxes', 'post /rest/commands', 'post /command/{word}']
  const changed = [
    'put /boxes/{id}', 'patch /boxes/{id}', 'put /boxes/{id}/commands/{command}', 'post /boxes/{id}/{word}',
    'put /rest/commands/{command}', 'get /rest/commands/{command}', 'post /rest/commands', 'post /command/{word}'
  ]
  const puts = [...changed, 'put /boxes/{id}/put']
  const edits = [...changed, 'put /boxes/{id}/edit', 'put /boxes/{id}/{word}']
  type Word = string | undefined
  const table: [object, string[], Word?, Word?, Word?, Word?][] = [
    [{}, []],
    [{ create: ['label'], remove: false }, made, 'CreateBox', undefined, 'json SentCreateBox'],
    [{ create: ['label'], remove: { restore: false } }, [...made, 'delete /boxes/{id}', 'post /boxes/{id}/{word}'],
      'CreateBox,DeleteBox', undefined, 'json SentBoxCommand SentCreateBox'],
    [{ create: ['label'] }, [
      ...made, 'delete /boxes/{id}', 'post /boxes/{id}/{word}', 'put /boxes/{id}', 'put /boxes/{id}/restore',
      'put /boxes/{id}/{word}', 'put /boxes/{id}/commands/{command}', 'put /rest/commands/{command}',
      'get /rest/commands/{command}'
    ], 'RestoreBox,CreateBox,DeleteBox', undefined, 'json SentBoxCommand SentCreateBox', 'json'],
    [{ operations: { put } }, puts, 'PutBox', 'none', 'json SentBoxCommand', 'json PutBoxCommand'],
    [{ operations: { put }, attributes }, puts, 'PutBox', 'shelf', 'json SentBoxCommand', 'json PutBoxCommand'],
    [{ edit: ['label', 'shelf'] }, edits, 'EditBox', 'label, shelf', 'json SentBoxCommand', 'json EditBoxCommand']
  ]
  for (const [more, paths, actions, members, sent, single] of table) {
    const { lines, wordsAt, bodyOf, schemaOf } = await describeBoxes(more)
    const said = Object.keys(more).join(' and ')
    t.strictSame(Object.keys(lines).sort(), [...paths].sort(), said)
    t.equal(wordsAt('post', '/command/{word}'), actions)
    t.equal(lines['patch /boxes/{id}']?.[0]?.match(/It can change (.*)\.$/)?.[1], members, said)
    t.equal(JSON.stringify(schemaOf('BoxChanges') ?? '').includes('null'), 'edit' in more, 'an edit removes members')
    t.equal(lines['post /rest/commands']?.[2], sent, said)
    const listed = sent?.split(' ').slice(1).map(name => ({ $ref: `#/components/schemas/dealbook.${name}` }))
    const body = bodyOf('post', '/rest/commands')
    if (listed !== undefined) t.match(body, { properties: { commands: { items: { anyOf: listed } } } }, said)
    t.equal(lines['put /rest/commands/{command}']?.[2], single, said)
  }
})

t.test('of two versions, the one that answers without a version is described', async t => {
  const old = { deprecation: '2026-01-01' }
  const lids = { ...base, name: 'lids', singular: 'lid', create: ['label'] } as unknown as FamilyDefinition
  const wider = { ...put, params: Type.Object({ shelf: Type.String(), row: Type.Integer() }) }
  const table: [object, object, object | undefined, boolean | undefined, boolean | undefined][] = [
    [{}, {}, undefined, false, undefined],
    [{}, { unversioned: true }, undefined, true, undefined],
    [{ unversioned: false }, {}, undefined, true, undefined],
    [old, {}, undefined, false, true],
    [old, { unversioned: true }, undefined, true, undefined],
    [old, {}, { forms: ['commands'] }, false, undefined],
    [old, {}, old, false, true],
    [{ unversioned: false }, { unversioned: false }, undefined, undefined, undefined]
  ]
  for (const [first, second, third, isSecond, isDeprecated] of table) {
    const app = Fastify()
    await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
    const storage = memoryStorage()
    const make = (operation: object) =>
      defineFamily({ ...base, ...whole, operations: { put: operation } } as unknown as FamilyDefinition)
    app.register(make(put), { storage, version: 'v1', ...first })
    app.register(make(wider), { storage, version: 'v2', ...second })
    if (third !== undefined) app.register(defineFamily(lids), { storage, ...third })
    await app.ready()
    const { paths } = wholeDocument<Document>(app)
    const said = JSON.stringify([first, second, third])
    const ofMany = JSON.stringify(app.swagger()).includes('/commands/3')
    t.notOk(ofMany, `the first family describes the shared paths ${said}`)
    await app.close()
    for (const [method, path] of [['post', '/command/{word}'], ['put', '/rest/commands/{command}']] as const) {
      const { requestBody } = paths[path]?.[method] ?? {}
      t.equal(requestBody && JSON.stringify(requestBody).includes('"row"'), isSecond, `${path} ${said}`)
    }
    t.equal(paths['/command/{word}']?.['post']?.deprecated, isDeprecated, said)
    const body = paths['/rest/commands/{command}']?.['put']?.requestBody?.content['application/json']?.['schema']
    if (isSecond !== undefined) t.match(body, { anyOf: { length: 2 } }, `put and edit, of one version ${said}`)
  }
})
