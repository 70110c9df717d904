import { readFileSync } from 'node:fs'
import type { InjectOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions, Storage } from '../../lib/index.js'
import { defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'

type Json = Record<string, unknown>

const words = (name: string) => ({ name, verb: name, participle: `${name}ed`, noun: `${name}s` })
const fields = Type.Object({
  id: Type.Integer(),
  label: Type.String({ maxLength: 9 }),
  shelf: Type.Optional(Type.String()),
  due: Type.Optional(Type.String({ format: 'date-time' })),
  locked: Type.Boolean({ default: false }),
  reason: Type.Optional(Type.String()),
  owner: Type.String({ default: 'ann' })
})

const boxes = defineFamily({
  name: 'boxes',
  singular: 'box',
  fields,
  create: ['label'],
  edit: ['label', 'shelf', 'due'],
  operations: {
    lock: {
      ...words('lock'),
      action: 'LockBox',
      params: Type.Object({ reason: Type.String() }),
      changes: ['locked', 'reason'],
      allowed: box => !box.locked,
      apply: (box, { reason }) => ({ ...box, locked: true, reason })
    },
    unlock: {
      ...words('unlock'),
      action: 'UnlockBox',
      params: Type.Object({}),
      changes: ['locked', 'reason'],
      danger: true,
      apply: ({ reason, ...box }) => ({ ...box, locked: false })
    },
    give: {
      ...words('give'),
      action: 'GiveBox',
      params: Type.Object({ to: Type.String() }),
      changes: ['owner'],
      apply: (box, { to }) => ({ ...box, owner: to })
    },
    look: { ...words('look'), action: 'LookBox', params: Type.Object({}), apply: box => box }
  },
  attributes: {
    fields: ['locked', 'reason'],
    read ({ locked, reason }) {
      if (!locked) return { operation: 'unlock', params: {} }
      if (reason === undefined) return { field: 'reason', detail: 'is required with locked' }
      return { operation: reason === 'odd' ? 'lokc' : 'lock', params: { reason } }
    }
  }
})

// Without `attributes`, and with longer labels.
const plain = defineFamily({
  ...boxes.definition,
  fields: Type.Object({ ...fields.properties, label: Type.String() }),
  edit: undefined,
  attributes: undefined
} as never)
const lids = defineFamily({
  name: 'lids',
  singular: 'lid',
  fields: Type.Object({ id: Type.Integer(), size: Type.Integer() }),
  create: ['size'],
  edit: ['size'],
  remove: false
})

// Nobody creates them here.
const jars = defineFamily({
  name: 'jars',
  singular: 'jar',
  fields: Type.Object({ id: Type.Integer(), full: Type.Boolean() }),
  operations: {
    fill: { ...words('fill'), action: 'FillJar', params: Type.Object({}), apply: jar => ({ ...jar, full: true }) }
  }
})

const shown = [
  'location', 'content-location', 'etag', 'idempotent-replayed', 'preference-applied', 'dealbook-seen', 'retry-after'
]

/** Sends requests such as `PUT /boxes/1/lock {"reason":"a"} | if-match: "1"` and writes down the answers. */
async function * tell (
  requests: readonly string[],
  options: Partial<FamilyOptions>
): AsyncGenerator<string, void, void> {
  const app = Fastify()
  let made = 0
  const common = {
    storage: memoryStorage(),
    clock: () => new Date('2030-01-01T12:00:00Z'),
    makeCommandId: () => `made-${++made}`,
    ...options
  }
  app.register(boxes, common)
  app.register(lids, common)
  app.register(jars, common)
  app.register(plain, { ...common, prefix: '/plain' })
  for (const request of requests) {
    const { statusCode, body, headers } = await app.inject(readRequest(request))
    const told = shown.filter(name => headers[name] !== undefined).map(name => `| ${name}: ${String(headers[name])}`)
    const cookie = String(headers['set-cookie'] ?? '').replace(/; Max-Age.*/, '')
    const parts = [String(statusCode), show(body), ...told, cookie && `| ${cookie}`]
    const text = parts.filter(part => part !== '').join(' ')
    yield text.replace(/-(json|html)-[^"]+"/, '-$1-*"').replace(/made-\d+/g, 'made')
  }
}

/** What is not JSON is a form of a page. */
function readRequest (text: string): InjectOptions {
  const [sent = '', ...lines] = text.split(' | ')
  const [, method, url = '', payload = ''] = /^(\w+) (\S+) ?(.*)$/.exec(sent) ?? []
  const types = /^[[{"]/.test(payload)
    ? { 'content-type': 'application/json' }
    : { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
  const given = Object.fromEntries(lines.map(line => [line.replace(/:.*/, ''), line.replace(/^[^:]*: /, '')]))
  return { method: method as 'PUT', url, payload, headers: { ...payload === '' ? {} : types, ...given } }
}

function show (body: string): string {
  if (body === '') return ''
  if (body.startsWith('<')) {
    const alert = /role="alert"[^>]*>(.*?)<\/(?:div|section)>/s.exec(body)?.[1] ?? ''
    const entered = Array.from(body.matchAll(/(?:value="|>\n)(entered[^"<]*)/g), ([, text]) => text)
    const back = /href="([^"]*)"[^>]*>No, go back/.exec(body)?.[1] ?? ''
    const parts = [`<${/<title>([^<]*)/.exec(body)?.[1]}>`, back, alert.replaceAll(/<[^>]*>/g, ' '), ...entered]
    return parts.join(' ').replaceAll(/\s+/g, ' ').trim()
  }
  const { items, ...document } = JSON.parse(body)
  return items === undefined ? showOne(document) : items.map(showResult).join(' / ')
}

/** Of a problem, what it says; else all members but for times and links. */
function showOne ({ detail, errors, ...others }: Json): string {
  if (errors !== undefined) {
    return (errors as Json[]).map(({ pointer, parameter, detail }) => `${pointer ?? parameter} ${detail}`).join('; ')
  }
  if (detail !== undefined) return detail as string
  const hidden = ['createdAt', 'updatedAt', 'links']
  return JSON.stringify(others, (name, value) => hidden.includes(name) ? undefined : value).replaceAll('"', '')
}

function showResult ({ status, replayed, command, item, problem }: Json): string {
  const shown = [command, item, problem].flatMap(each => each === undefined ? [] : showOne(each as Json))
  return [status, ...replayed === undefined ? [] : [`replayed: ${String(replayed)}`], ...shown].join(' ')
}

interface Step { readonly request: string, readonly answer: string }

/** By their titles. */
const stories = new Map(readFileSync('test/forms/stories.txt', 'utf8').split(/^# /m).slice(1).map(story => {
  const [title = '', ...lines] = story.trim().split('\n')
  const steps = lines.flatMap((line, index): Step[] =>
    line.startsWith('  ') ? [{ request: lines[index - 1] as string, answer: line.trim() }] : [])
  return [title, steps]
}))

const setups: Readonly<Record<string, () => Partial<FamilyOptions>>> = {
  json: () => ({}),
  pages: () => ({}),
  many: () => ({}),
  guarded: () => ({
    authorize ({ headers }, { action }) {
      if (!String(headers['x-may']).split(' ').includes(action)) throw new Problem('forbidden', `You may not ${action}`)
      return { principal: 'ann' }
    }
  }),
  narrowed: () => ({
    authorize ({ headers }, { family, action, id, params }) {
      if (action === 'read' && (id === 2 || params['command'] === 'k3')) throw new Problem('forbidden', 'Not this one')
      if (action === 'read' && id === 3) throw new Error('Out of order')
      const label = headers['x-label']
      const isNarrowed = family === 'boxes' && label !== undefined
      return { principal: 'ann', where: isNarrowed ? [{ field: 'label', op: 'eq', values: [String(label)] }] : [] }
    }
  }),
  required: () => ({ preconditions: 'required' }),
  seen: () => ({ storage: storageWithTokens() }),
  chosen () {
    const storage = storageWithTokens()
    return { storage: async () => storage }
  }
}

function storageWithTokens (): Storage {
  let tokens = 0
  return { ...memoryStorage(), seen: async () => ++tokens === 3 ? undefined : `token-${tokens}` }
}

for (const [title, makeOptions] of Object.entries(setups)) {
  t.test(`${title}: what is sent, and what is answered`, async t => {
    const steps = stories.get(title) ?? []
    const answers = tell(steps.map(({ request }) => request), makeOptions())
    for (const { request, answer } of steps) {
      const { value } = await answers.next()
      t.equal(value, answer, request)
      // The rest depends on it.
      if (value !== answer) break
    }
    await answers.return()
    t.ok(steps.length > 0)
  })
}

t.test('every story has its application', async t => {
  t.strictSame([...stories.keys()].sort(), Object.keys(setups).sort())
})

/** The lines of the host's log that have this message. */
async function readLines (requests: readonly string[], message: string): Promise<Json[]> {
  const lines: Json[] = []
  const app = Fastify({ logger: { stream: { write: (line: string) => { lines.push(JSON.parse(line)) } } } })
  app.register(boxes, { storage: memoryStorage() })
  for (const request of requests) await app.inject(readRequest(request))
  return lines.filter(({ msg }) => msg === message)
    .map(({ level, time, pid, hostname, reqId, msg, ...members }) => members)
}

t.test('each command is logged, without what was sent', async t => {
  const lock = { family: 'boxes', action: 'LockBox', id: 1, outcome: 'done', revision: 2 }
  t.strictSame(await readLines([
    'POST /boxes {"label":"a"}', 'PUT /boxes/1/commands/k1 {"action":"LockBox","params":{"reason":"a"}}',
    'PUT /boxes/1/commands/k1 {"action":"LockBox","params":{"reason":"a"}}', 'PUT /boxes/1/lock {"reason":"b"}',
    'DELETE /boxes/1'
  ], 'command'), [
    { ...lock, action: 'CreateBox', revision: 1 }, lock, { ...lock, replayed: true }, { ...lock, outcome: 'refused' },
    { ...lock, action: 'DeleteBox', revision: 3 }
  ])
})

t.test('attributes that mean an operation which there is not are a mistake of the host', async t => {
  const lines = await readLines([
    'POST /boxes {"label":"a"}', 'PATCH /boxes/1 {"locked":true,"reason":"odd"}'
  ], 'An internal error occurred; it was logged')
  const message = 'fastify-dealbook, boxes: there is no operation "lokc". Did you mean "lock"?'
  t.match(lines, [{ err: { code: 'FST_DEALBOOK_UNKNOWN_OPERATION', message } }])
})
