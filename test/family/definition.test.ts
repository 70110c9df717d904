import type { TObject, TSchema, TString } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import Fastify, { type FastifyPluginAsync } from 'fastify'
import t from 'tap'
import * as typebox1 from 'typebox'
import type { FamilyDefinition, FamilyOptions } from '../../lib/index.js'
import { deals, defineFamily, defineQuery, memoryStorage } from '../../lib/index.js'

const fields = Type.Object({
  id: Type.String(),
  title: Type.String(),
  pages: Type.Optional(Type.Integer()),
  tags: Type.Optional(Type.Array(Type.String()))
})
const base: FamilyDefinition = { name: 'books', singular: 'book', fields, create: ['title'] }
const lend = {
  name: 'lend',
  verb: 'lend',
  participle: 'lent',
  noun: 'loans',
  action: 'LendBook',
  params: Type.Object({}),
  apply: (book: unknown) => book
}
const sell = { ...lend, name: 'sell', verb: 'sell', participle: 'sold', noun: 'sales', action: 'SellBook' }
const withOperation = (change: object): Partial<FamilyDefinition> => ({
  operations: { lend: { ...lend, ...change } } as never
})
const withTwoOperations = (change: object): Partial<FamilyDefinition> => ({
  operations: { lend, sell: { ...sell, ...change } } as never
})
const field = (name: string): Partial<FamilyDefinition> => ({
  fields: Type.Object({ ...fields.properties, [name]: Type.Optional(Type.String()) }) as TObject
})

/** What is wrong with a definition, and what the error must say. */
const clashes: readonly (readonly [string, Partial<FamilyDefinition>, RegExp])[] = [
  [
    'two nouns',
    withTwoOperations({ noun: 'loans' }),
    /"sell" uses the word "loans", which belongs to the operation "lend"/
  ],
  ['two verbs', withTwoOperations({ verb: 'lend' }), /"sell" uses the word "lend"/],
  ["a participle that is another's verb", withTwoOperations({ participle: 'lend' }), /"sell" uses the word "lend"/],
  ["a verb that is another's noun", withTwoOperations({ verb: 'loans' }), /"sell" uses the word "loans"/],
  ['two actions', withTwoOperations({ action: 'LendBook' }), /"sell" uses the word "LendBook"/],
  ["a noun that is the log's", withOperation({ noun: 'commands' }), /"commands", which belongs to the log/],
  [
    'an action that is creating',
    withOperation({ action: 'CreateBook' }),
    /"CreateBook", which belongs to creating and deleting/
  ],
  ['an action that is deleting', withOperation({ action: 'DeleteBook' }), /"DeleteBook"/],
  ['a key that is not the name', { operations: { loan: lend } as never }, /"loan" is named "lend"/],
  ['a verb with a capital', withOperation({ verb: 'Lend' }), /verb "Lend"/],
  ['a noun with a slash', withOperation({ noun: 'lo/ans' }), /noun "lo\/ans"/],
  ['an empty participle', withOperation({ participle: '' }), /participle ""/],
  ['an action with a hyphen', withOperation({ action: 'Lend-Book' }), /action "Lend-Book"/],
  [
    "a parameter that is the item's id",
    withOperation({ params: Type.Object({ id: Type.String() }) }),
    /parameter "id"/
  ],
  [
    'a change of what is no field',
    withOperation({ changes: ['colour'] }),
    /"lend" changes "colour", which is not a field/
  ],
  ['a field that every object has', field('constructor'), /"constructor" is named like a member of every object/],
  ['a field that is a method of objects', field('toString'), /"toString" is named like a member/],
  [
    'a parameter that every object has',
    withOperation({ params: Type.Object({ valueOf: Type.Optional(Type.String()) }) }),
    /parameter "valueOf", which is named like a member/
  ],
  ['a field that is a place', field('after'), /"after" is named like a query parameter/],
  ['a field that is a group', field('or2'), /"or2" is named like a query parameter/],
  [
    'an order by no field',
    { order: ['-titel'] },
    /the order names "titel", which is not a field. Did you mean "title"\?/
  ],
  ['a title that is none', { title: 'titel' }, /the title is "titel", .* Did you mean "title"\?/],
  ['a title that is nested', { title: 'tags' }, /the title is "tags", which is not a field that is a text/],
  ['a title that is no text', { title: 1 as never }, /"title" must be a string/],
  ['a list of what is none', { list: ['title', 'page'] }, /the list names "page", .* Did you mean "pages"\?/],
  ['a list of the same twice', { list: ['title', 'title'] }, /the list names "title" twice/],
  ['a list of nothing', { list: [] }, /the list must name a field/],
  ['an order by what is nested', { order: ['tags'] }, /the order names "tags"/],
  ['an order twice by one field', { order: ['title', '-title'] }, /the order names "title" twice/],
  ['an order that is no list', { order: '-title' as never }, /order.* a list of names/],
  ['an order of what is no text', { order: [1] as never }, /order.* a list of names/],
  ['a field that is a query parameter', field('page'), /"page" is named like a query parameter/],
  ['a field that is the format', field('format'), /"format"/],
  ["a field that is the service's", field('revision'), /"revision" belongs to the service/],
  ['a field that says the form', field('action'), /"action" belongs to the service/],
  ['a field that is the links', field('links'), /"links" belongs to the service/],
  ['a field with a hyphen', field('min-age'), /"min-age" must be letters/],
  ['a name with a capital', { name: 'Books' }, /name "Books"/],
  ['the name of the log', { name: 'commands' }, /belongs to the log/],
  ['a singular that is a member of commands', { singular: 'action' }, /singular "action" is a member of every command/],
  ['a singular that is the links', { singular: 'links' }, /singular "links"/],
  ['no id', { fields: Type.Object({ title: Type.String() }) as TObject }, /must have an id/],
  [
    'an id that is optional',
    { fields: Type.Object({ id: Type.Optional(Type.String()), title: Type.String() }) as TObject },
    /must have an id/
  ],
  [
    'an id that is true or false',
    { fields: Type.Object({ id: Type.Boolean(), title: Type.String() }) as TObject },
    /must have an id/
  ],
  ['creation with a field twice', { create: ['title', 'title'] }, /create has "title" twice/],
  ['creation with what is no field', { create: ['titel' as never] }, /create has "titel", which is not a field/],
  ['creation without what is needed', { create: [] }, /"title" needs a default/],
  [
    'a query by what is no field',
    { queries: { 'books-by-colour': defineQuery({ field: 'colour' }) } },
    /"colour", which is not a field/
  ],
  [
    'a query by what cannot be filtered',
    { queries: { 'books-by-tags': defineQuery({ field: 'tags' }) } },
    /"tags", which is not a field that can be filtered/
  ],
  [
    'a field whose pattern is none',
    { fields: Type.Object({ ...fields.properties, isbn: Type.Optional(Type.String({ pattern: '(' })) }) as TObject },
    /fields cannot be used: .*\(/
  ],
  [
    'a parameter whose pattern is none',
    withOperation({ params: Type.Object({ to: Type.String({ pattern: '[' }) }) }),
    /params of the operation "lend" cannot be used: .*\[/
  ],
  [
    'a reference to no schema',
    { fields: Type.Object({ ...fields.properties, isbn: Type.Optional(Type.Ref('nowhere')) }) as TObject },
    /fields cannot be used: .*nowhere/
  ],
  [
    'a pattern in a list',
    withOperation({ params: Type.Object({ to: Type.Array(Type.String({ pattern: '[' })) }) }),
    /params of the operation "lend" cannot be used: .*\[/
  ],
  ...[
    Type.String({ maxLength: '3' as unknown as number }), Type.Number({ multipleOf: 0 }), Type.String({ enum: 'abc' }),
    Type.Unsafe<string>({ type: 'string', enum: [] }), Type.String({ $ref: '#/nowhere' }), Type.Unsafe({ anyOf: [] }),
    Type.Object({ a: undefined as unknown as TString }), Type.Object({}, { patternProperties: { '[': Type.String() } })
  ].map(size => [
    `a keyword that is none: ${JSON.stringify(size)}`,
    { fields: Type.Object({ ...fields.properties, size }) as TObject },
    /fields cannot be used: /
  ] as const),
  [
    'a default that is not the only value',
    { fields: Type.Object({ ...fields.properties, size: Type.Literal(true, { default: false }) }) as TObject },
    /the default of the field "size" must be equal to constant/
  ],
  [
    'a transform that is none',
    { fields: Type.Object({ ...fields.properties, size: Type.String({ transform: '' as never }) }) as TObject },
    /"size": the transform "" is unknown\. It must be a list of trim, /
  ],
  [
    'a default that does not fit',
    { fields: Type.Object({ ...fields.properties, size: Type.Integer({ default: 'large' }) }) as TObject },
    /the default of the field "size" must be an integer/
  ],
  [
    'a default that cannot be stored',
    { fields: Type.Object({ ...fields.properties, size: Type.String({ default: 'a\u0000' }) }) as TObject },
    /the default of the field "size" must not contain/
  ],
  [
    'an id with a default',
    { fields: Type.Object({ ...fields.properties, id: Type.String({ default: 'a' }) }) as TObject },
    /the id cannot have a default/
  ],
  ['search in a number', { search: ['pages'] }, /search has "pages", which is not a free text field/],
  ['search in what is none', { search: ['titel'] }, /search has "titel", .* Did you mean "title"\?/],
  ['search twice in one field', { search: ['title', 'title'] }, /search has "title" twice/],
  [
    'a state without conditions',
    { states: { lent: 'good' } },
    /the state "lent" needs a filter, .*or define the function/
  ],
  [
    'a state of an unknown tone',
    { states: { lent: 'god' as never } },
    /"lent" has the tone "god"\. Did you mean "good"/
  ],
  [
    'a state by what is no field',
    { states: { lent: { filter: 'titel=a' } } },
    /"lent" has a filter that cannot be used: "titel=a" is not a condition on a field\. Did you mean "title"\?/
  ],
  ['a state by a misspelt bound', { states: { lent: { filter: 'min-pagse=1' } } }, /Did you mean "min-pages"\?/],
  ['a state by a misspelt comparison', { states: { lent: { filter: 'paegs>=1' } } }, /Did you mean "pages"\?/],
  ['a state by a setting', { states: { lent: { filter: 'sort=id' } } }, /"sort=id" is not a condition on a field/],
  ['a state by alternatives', { states: { lent: { filter: 'or.pages=1&or.title=a' } } }, /"or.pages=1" is not a cond/],
  ['a state by a search', { states: { lent: { filter: 'title.has=a' } } }, /"title.has=a" searches in a text/],
  ['a state by a pattern', { states: { lent: { filter: 'title.regex=a' } } }, /"title.regex=a" searches in a text/],
  [
    'a state by several days',
    { states: { lent: { filter: 'createdAt=2026-01-01&createdAt=2026-01-03' } } },
    /the state "lent" has a filter that cannot be used: it has alternatives/
  ],
  ['a state by a wrong value', { states: { lent: { filter: 'pages=many' } } }, /: pages must be an integer/],
  ['a state by nothing', { states: { lent: { filter: '' } } }, /: it has no condition/],
  ['a state without a name', { states: { '': { filter: 'pages=1' } } }, /a state has no name/],
  ['labels of no language', { labels: { 'not a tag': {} } }, /labels "not a tag": its name must be a language/],
  [
    'a label of what is no field',
    { labels: { de: { fields: { titel: 'Titel' } } } },
    /labels "de": fields has "titel", which is not a field or a parameter\. Did you mean "title"\?/
  ],
  [
    'a label of what is no operation',
    { labels: { de: { operations: { lend: 'Verleihen' } } } },
    /labels "de": operations has "lend", which is not an operation/
  ],
  ['a query named like the family', { queries: { books: defineQuery({ field: 'title' }) } }, /"books" already exists/]
]

/** Members that are unknown, missing or of another kind, as only JavaScript lets people write them. */
const members: readonly (readonly [string, object, RegExp])[] = [
  ['an unknown member', { operatons: {} }, /"books": unknown member "operatons"\. Did you mean "operations"\?$/],
  ['one that is like no other', { colour: 1 }, /"books": unknown member "colour"\.$/],
  ['no name', { name: undefined }, /"name" is missing; it must be a string, such as invoices/],
  ['no singular', { singular: undefined }, /"singular" is missing; it must be a string, such as invoice/],
  ['a name that is no text', { name: 7 }, /"name" must be a string, such as invoices/],
  ['create that is a name', { create: 'title' }, /"create" must be a list of names/],
  ['create with schemas', { create: [Type.String()] }, /"create" must be a list of names/],
  ['operations in a list', { operations: [lend] }, /"operations" must be an object/],
  ['a state that is a text', { state: 'here' }, /"state" must be a function/],
  ['states in a list', { states: ['lent'] }, /"states" must be an object/],
  [
    'a state that is a number',
    { states: { lent: 1 } },
    /the state "lent": must be one of neutral, good, .*, or an obj/
  ],
  ['a misspelt filter', { states: { lent: { filer: '' } } }, /the state "lent": unknown member "filer"\. Did you mean/],
  [
    'a tone that is none',
    { states: { lent: { tone: 'red' } } },
    /the state "lent": "tone" must be "neutral", .*"done"/
  ],
  ['search by name', { search: 'title' }, /"search" must be a list of names/],
  ['labels that are texts', { labels: { de: 'Bücher' } }, /labels "de": must be an object with plural, singular/],
  ['an unknown label', { labels: { de: { plurals: 'Bücher' } } }, /labels "de": unknown member "plurals"/],
  [
    'a label that is empty',
    { labels: { de: { plural: '' } } },
    /labels "de": "plural" must be a non-empty string/
  ],
  ['labels of fields in a list', { labels: { de: { fields: ['Titel'] } } }, /labels "de": "fields" must be an object/],
  ['a label that is a number', { labels: { de: { fields: { title: 1 } } } }, /"fields" must be an object with texts/],
  [
    'an operation without a label',
    { labels: { de: { operations: { edit: { done: 'Geändert' } } } } },
    /labels "de": the operation "edit": "label" is missing; it must be a non-empty string, such as "Hold"/
  ],
  ['an id that is made already', { makeId: 'a' }, /"makeId" must be a function/],
  ['a version', { versioned: 'v1' }, /"versioned" must be true or false/],
  ['an operation that is a function', { operations: { lend: () => {} } }, /operation "lend": must be an object with/],
  ['no noun', withOperation({ noun: undefined }), /the operation "lend": "noun" is missing; .* such as payments/],
  ['no participle', withOperation({ participle: undefined }), /"lend": "participle" is missing; .* such as paid/],
  ['no verb', withOperation({ verb: undefined }), /"lend": "verb" is missing/],
  ['no action', withOperation({ action: undefined }), /"lend": "action" is missing; .* such as PayInvoice/],
  ['no name of an operation', withOperation({ name: undefined }), /"lend": "name" is missing/],
  ['no apply', withOperation({ apply: undefined }), /"lend": "apply" is missing; it must be a function, such as/],
  ['a misspelt apply', withOperation({ aply: () => {} }), /"lend": unknown member "aply"\. Did you mean "apply"\?/],
  ['a danger that is no yes or no', withOperation({ danger: 'yes' }), /"lend": "danger" must be true or false$/],
  ['a final that is none', withOperation({ final: 1 }), /"lend": "final" must be true or false$/],
  ['a misspelt allowed', withOperation({ alowed: () => true }), /unknown member "alowed"\. Did you mean "allowed"\?/],
  ['allowed once for all', withOperation({ allowed: true }), /"lend": "allowed" must be a function/],
  ['a change by name', withOperation({ changes: 'title' }), /"lend": "changes" must be a list of names/],
  ['a query by name', { queries: { 'by-title': 'title' } }, /the query "by-title": must be an object with field/],
  ['a query without a field', { queries: { 'by-title': {} } }, /the query "by-title": "field" is missing/],
  ['attributes without a reader', { attributes: { fields: [] } }, /attributes: "read" is missing/],
  ['a field that is nearly one', { create: ['titel'] }, /"titel", which is not a field .*\. Did you mean "title"\?/],
  ['a change of what is nearly one', withOperation({ changes: ['titel'] }), /not a field\. Did you mean "title"\?/],
  ['a query by what is nearly one', { queries: { q: { field: 'titel' } } }, /filtered\. Did you mean "title"\?/]
]

t.test('members that are unknown, missing or of another kind are named', async t => {
  for (const [name, change, message] of members) {
    const define = () => defineFamily({ ...base, ...change } as never)
    t.throws(define, { code: 'FST_DEALBOOK_INVALID_DEFINITION', message }, name)
  }
  for (const nothing of [undefined, null, [], 'books']) {
    t.throws(() => defineFamily(nothing as never), { message: /must be an object with name, singular, fields/ })
    t.throws(() => deals.extend(nothing as never), { message: /^extend "deals": must be an object with fields/ })
  }
  t.throws(() => deals.extend({ create: 'name' } as never), { message: /"create" must be a list of names/ })
})

const withField = (schema: unknown): Partial<FamilyDefinition> => ({
  fields: Type.Object({ ...fields.properties, due: schema as TSchema }) as TObject
})
const Foreign = typebox1.Type
const secret = Type.String({ writeOnly: true })

type SchemaRow = readonly [string, Partial<FamilyDefinition>, RegExp]

/** What is no schema of ours, and what the error must say. */
const schemas: readonly SchemaRow[] = [
  ['no fields', { fields: undefined as never }, /fields must be a Type\.Object\(\{ … \}\)/],
  ['fields by name only', { fields: { id: 'integer' } as never }, /fields must be a Type\.Object.*fastify-dealbook/],
  ['a JSON schema', { fields: JSON.parse(JSON.stringify(fields)) }, /fields must be a Type\.Object/],
  ['an array', { fields: [fields] as never }, /fields must be a Type\.Object/],
  [
    'fields of typebox 1.x',
    { fields: Foreign.Object({ id: Foreign.String(), title: Foreign.Optional(Foreign.String()) }) as never },
    /fields comes from the package "typebox" \(1\.x\); import Type from fastify-dealbook, which re-exports @sinclair/
  ],
  [
    'one field of it',
    withField(Foreign.Optional(Foreign.String())),
    /fields: "due" comes from the package "typebox" \(1\.x\)/
  ],
  [
    'parameters of it',
    withOperation({ params: Foreign.Object({}) }),
    /params of the operation "lend" comes from the package "typebox"/
  ],
  ['no parameters', withOperation({ params: undefined }), /params of the operation "lend" must be a Type\.Object/],
  [
    'an intersection',
    { fields: Type.Intersect([fields, Type.Object({ a: Type.String() })]) as never },
    /fields is a Type\.Intersect; Type\.Composite makes one object of several/
  ],
  ['a union', { fields: Type.Union([fields, fields]) as never }, /fields must be a Type\.Object/],
  ['a field that is none', withField('string'), /fields: "due" is not a schema, such as Type\.String\(\)/],
  ['a field left empty', withField(undefined), /fields: "due" is not a schema/],
  [
    'a date',
    withField(Type.Date()),
    /fields: "due" is a Date, which JSON does not have; write Type\.String\(\{ format: 'date-time' \}\) or Type\.String/
  ],
  ['one that may be left out', withField(Type.Optional(Type.Date())), /"due" is a Date/],
  ['one in a list', withField(Type.Array(Type.Date())), /"due" is a Date/],
  ['one in an object', withField(Type.Object({ default: Type.Date() })), /"due" is a Date/],
  ['one in a union', withField(Type.Union([Type.Null(), Type.Date()])), /"due" is a Date/],
  ['a BigInt', withField(Type.BigInt()), /"due" is a bigint, which JSON does not have; write Type\.Integer\(\)/],
  ['a regular expression', withField(Type.RegExp(/a/)), /"due" is a RegExp, .* write Type\.String\(\{ pattern \}\)/],
  ['a function', withField(Type.Function([], Type.String())), /"due" is a Function, which JSON does not have$/],
  [
    'a parameter that is a date',
    withOperation({ params: Type.Object({ on: Type.Date() }) }),
    /params of the operation "lend": "on" is a Date/
  ],
  [
    'a transformed value',
    withField(Type.Transform(Type.String()).Decode(Number).Encode(String)),
    /"due" is a Type\.Transform, but values are stored unchanged/
  ],
  ...([
    [Type.Object({ code: secret }), 'due.code'],
    [Type.Optional(Type.Array(Type.Object({ keys: Type.Array(secret) }))), 'due.keys'],
    [Type.Union([Type.Object({ code: secret }), Type.Null()]), 'due.code'],
    [Type.Record(Type.String(), secret), 'due'],
    [Type.Union([secret, Type.Integer()]), 'due']
  ] as const).map(([schema, path]): SchemaRow => [
    `a secret at ${path}`,
    withField(schema),
    new RegExp(`fields: "due" has writeOnly below it, at "${path}"; only a whole field can be writeOnly`)
  ]),
  [
    'a member in a list that every object has',
    withField(Type.Array(Type.Object({ constructor: Type.Optional(Type.String()) }))),
    /fields: "due" has the member "constructor" below it, which is named like a member of every object/
  ],
  [
    'the same in a parameter',
    withOperation({ params: Type.Object({ to: Type.Object({ toString: Type.String() }) }) }),
    /params of the operation "lend": "to" has the member "toString" below it/
  ],
  [
    'a secret in a parameter',
    withOperation({ params: Type.Object({ to: Type.Object({ pin: secret }) }) }),
    /params of the operation "lend": "to" has writeOnly below it, at "to\.pin"; only a whole field/
  ]
]

t.test('what is no schema of ours is refused in our words', async t => {
  for (const schema of [secret, Type.Object({ code: secret }, { writeOnly: true })]) {
    t.ok(defineFamily({ ...base, ...withField(Type.Optional(schema)) } as never), 'a whole field can be writeOnly')
  }
  for (const [name, change, message] of schemas) {
    t.throws(() => defineFamily({ ...base, ...change }), { code: 'FST_DEALBOOK_INVALID_DEFINITION', message }, name)
  }
  for (const extension of [
    { fields: Foreign.Object({ a: Foreign.Optional(Foreign.String()) }) },
    { fields: Type.Intersect([fields, fields]) },
    { fields: { a: Type.String() } }
  ]) {
    t.throws(() => defineFamily(base).extend(extension as never), { code: 'FST_DEALBOOK_INVALID_EXTENSION' })
  }
  const composed = Type.Composite([fields, Type.Object({ type: Type.String({ default: 'Date' }) })])
  t.doesNotThrow(() => defineFamily({ ...base, fields: composed as TObject }), 'what is one')
})

t.test('a definition in which names clash is an error that says which', async t => {
  t.doesNotThrow(() => defineFamily({ ...base, operations: { lend, sell } as never }), 'where nothing clashes')
  for (const [name, change, says] of clashes) {
    const error = { code: 'FST_DEALBOOK_INVALID_DEFINITION', message: says }
    t.throws(() => defineFamily({ ...base, ...change }), error, name)
  }
})

t.test('families at one prefix whose names clash stop the boot', async t => {
  const storage = memoryStorage()
  const boots = async (...families: FastifyPluginAsync<FamilyOptions>[]): Promise<void> => {
    const app = Fastify()
    for (const family of families) app.register(family, { storage })
    await app.ready()
  }
  const books = defineFamily({ ...base, operations: { lend } as never })
  const plain = defineFamily({ ...base, name: 'novels' })
  await t.rejects(
    boots(books, defineFamily({ ...base, name: 'novels', operations: { lend } as never })),
    /(book|LendBook|CreateBook)"? belongs to books/
  )
  await t.rejects(boots(books, plain), /"book" belongs to books/)
  await t.resolves(boots(books, defineFamily({ ...base, name: 'novels', singular: 'novel' })))
})

t.test('the version of deals is required, and unknown forms are refused', async t => {
  const storage = memoryStorage()
  await t.rejects(async () => { await Fastify().register(deals, { storage }).ready() }, /"version" is required/)
  await t.rejects(async () => {
    await Fastify()
      .register(deals, { storage, version: 'v1', forms: ['verbs' as never] })
      .ready()
  }, /"forms" must be a list of these: verb, participle/)
  await t.rejects(async () => { await Fastify().register(deals, { storage, version: 'a/b' }).ready() }, /"version"/)
})

t.test('only the forms that are asked for are mounted', async t => {
  const urls = {
    verb: '/hold',
    participle: '/holded',
    update: '',
    noun: '/holds',
    attributes: '',
    command: '/commands/c1',
    commands: ''
  } as const
  for (const form of Object.keys(urls) as (keyof typeof urls)[]) {
    const app = Fastify()
    app.register(deals, { storage: memoryStorage(), version: 'v1', forms: [form] })
    const { id } = (
      await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'a', price: 1 } })
    ).json<{ id: string }>()
    const action = { action: 'HoldDeal', params: { reason: 'a' } }
    const said = {
      verb: await app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}/hold`, payload: action.params }),
      participle: await app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}/holded`, payload: action.params }),
      noun: await app.inject({ method: 'POST', url: `/rest/v1/deals/${id}/holds`, payload: action.params }),
      update: await app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}`, payload: action }),
      attributes: await app.inject({
        method: 'PUT',
        url: `/rest/v1/deals/${id}`,
        payload: { held: true, holdReason: 'a' }
      }),
      command: await app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}/commands/c1`, payload: action }),
      commands: await app.inject({ method: 'PUT', url: '/rest/commands/c2', payload: { deal: id, ...action } })
    }
    for (const [name, { statusCode }] of Object.entries(said)) {
      t.equal(statusCode < 300, name === form, `${name} where only ${form} is mounted: ${statusCode}`)
    }
  }
})
