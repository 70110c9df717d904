import { FastifyOtelInstrumentation } from '@fastify/otel'
import { trace } from '@opentelemetry/api'
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import type { FastifyInstance, FastifyServerOptions, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { Committed, FamilyOptions, Storage } from '../../lib/index.js'
import { deals, memoryStorage } from '../../lib/index.js'
import { createDeal, home } from '../deals/app.js'

type Test = { teardown (fn: () => unknown): void }

async function startDeals (
  t: Test,
  options: Partial<FamilyOptions>,
  server: FastifyServerOptions = {},
  before?: (app: FastifyInstance) => Promise<void>
): Promise<FastifyInstance> {
  const app = Fastify(server)
  t.teardown(() => app.close())
  await before?.(app)
  app.register(deals, { storage: memoryStorage(), version: 'v1', ...options })
  await app.ready()
  return app
}

interface Line { readonly level: number, readonly msg: string, readonly [member: string]: unknown }

function captureLog (level: string): { lines: Line[], texts: string[], server: FastifyServerOptions } {
  const lines: Line[] = []
  const texts: string[] = []
  const write = (text: string) => {
    texts.push(text)
    lines.push(JSON.parse(text) as Line)
  }
  return { lines, texts, server: { logger: { level, stream: { write } } } }
}

t.test('the request log says what became of every command, and nothing of what was sent', async t => {
  const { lines, texts, server } = captureLog('info')
  const app = await startDeals(t, { authorize: () => ({ principal: 'Confidential Person' }) }, server)
  const { id } = await createDeal(app, { name: 'SECRET name' })
  const reason = 'SECRET reason'
  const hold = { action: 'HoldDeal', params: { reason } }
  const table: [InjectOptions, object | undefined][] = [
    [
      { method: 'PUT', url: `${home}/${id}/hold`, payload: { reason } },
      { action: 'HoldDeal', outcome: 'done', revision: 2 }
    ],
    [
      { method: 'PUT', url: `${home}/${id}/hold`, payload: { reason } },
      { action: 'HoldDeal', outcome: 'unchanged', revision: 2 }
    ],
    [
      { method: 'PUT', url: `${home}/${id}/complete`, payload: { comment: reason } },
      { action: 'CompleteDeal', outcome: 'refused', revision: 2 }
    ],
    [
      { method: 'PUT', url: `${home}/${id}/commands/c1`, payload: { action: 'UnholdDeal' } },
      { action: 'UnholdDeal', outcome: 'done', revision: 3 }
    ],
    [
      { method: 'PUT', url: `${home}/${id}/commands/c1`, payload: { action: 'UnholdDeal' } },
      { action: 'UnholdDeal', outcome: 'done', revision: 3, replayed: true }
    ],
    [{ method: 'PUT', url: `${home}/${id}/commands/c1`, payload: hold }, undefined],
    [
      { method: 'PATCH', url: `${home}/${id}`, payload: { held: true, holdReason: reason } },
      { action: 'HoldDeal', outcome: 'done', revision: 4 }
    ],
    [
      {
        method: 'POST',
        url: `${home}/${id}/holds`,
        payload: `{"reason":"${reason}`,
        headers: { 'content-type': 'application/json' }
      },
      undefined
    ],
    [{ method: 'POST', url: `${home}/${id}/holds`, payload: { SECRET: reason } }, undefined],
    [
      {
        method: 'POST',
        url: `${home}/${id}/holds`,
        payload: `reason=${reason}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
      },
      { outcome: 'unchanged' }
    ],
    [
      { method: 'DELETE', url: `${home}/${id}` },
      { action: 'DeleteDeal', outcome: 'done', revision: 5 }
    ]
  ]
  t.match(
    lines.filter(({ msg }) => msg === 'command'),
    [{ level: 30, family: 'deals', action: 'CreateDeal', id, outcome: 'done', revision: 1, reqId: /./ }]
  )
  for (const [request, expected] of table) {
    lines.length = 0
    await app.inject(request)
    const [said, ...more] = lines.filter(({ msg }) => msg === 'command')
    t.strictSame(more, [], 'once')
    if (expected === undefined) t.equal(said, undefined, `${request.method} ${String(request.url)}`)
    else {
      t.match(said, { family: 'deals', id, ...expected }, `${request.method} ${String(request.url)}`)
      const { level, time, pid, hostname, reqId, msg, replayed, ...members } = said as Line
      t.equal(replayed, 'replayed' in expected ? true : undefined, 'replayed or not')
      t.strictSame(Object.keys(members).sort(), ['action', 'family', 'id', 'outcome', 'revision'], 'and nothing else')
    }
  }
  t.ok(texts.length > 20, 'the log was written')
  t.notMatch(texts.join(''), /SECRET|Confidential/, 'no body, no parameters, no principal')
})

t.test('what fails is logged without what was sent', async t => {
  const { texts, lines, server } = captureLog('info')
  const broken: Storage = { ...memoryStorage(), commit: async () => { throw new Error('the disk is full') } }
  const app = await startDeals(t, { storage: broken }, server)
  t.equal((await app.inject({ method: 'POST', url: home, payload: { name: 'SECRET', price: 1 } })).statusCode, 503)
  t.match(lines.filter(({ level }) => level >= 50), [{ err: { message: 'the disk is full' } }])
  t.notMatch(texts.join(''), 'SECRET')
})

t.test('onCommitted is called for every change after the commit, and for nothing else', async t => {
  const told: Committed[] = []
  const order: string[] = []
  const inner = memoryStorage()
  const storage: Storage = { ...inner, commit: async changes => { await inner.commit(changes); order.push('commit') } }
  const app = await startDeals(t, {
    storage,
    authorize: () => ({ principal: 'ann' }),
    onCommitted (change, request) {
      order.push('told')
      told.push(change)
      t.equal(request.headers['user-agent'], 'lightMyRequest')
    }
  })
  const { id } = await createDeal(app)
  t.match(told, [
    {
      family: 'deals',
      action: 'CreateDeal',
      id,
      principal: 'ann',
      revision: 1,
      before: undefined,
      after: { id, name: 'Ten tons of tea', revision: 1 },
      at: /^\d{4}-.*Z$/
    }
  ])
  t.strictSame(order, ['commit', 'told'])

  const hold = { action: 'HoldDeal', params: { reason: 'a' } }
  await app.inject({ method: 'PUT', url: `${home}/${id}/commands/c1`, payload: hold })
  t.match(told[1], {
    action: 'HoldDeal',
    command: 'c1',
    params: { reason: 'a' },
    revision: 2,
    before: { held: false, revision: 1 },
    after: { held: true, holdReason: 'a', revision: 2 }
  })
  const silent: [string, InjectOptions, number][] = [
    ['a replay', { method: 'PUT', url: `${home}/${id}/commands/c1`, payload: hold }, 200],
    ['what changed nothing', { method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } }, 200],
    ['what changed nothing, recorded', { method: 'PUT', url: `${home}/${id}/commands/c2`, payload: hold }, 201],
    ['a refusal', { method: 'PUT', url: `${home}/${id}/complete`, payload: {} }, 409],
    [
      'a refusal, recorded',
      { method: 'PUT', url: `${home}/${id}/commands/c3`, payload: { action: 'CompleteDeal' } },
      409
    ],
    ['a body that is not valid', { method: 'PUT', url: `${home}/${id}/hold`, payload: {} }, 400]
  ]
  for (const [name, request, status] of silent) {
    t.equal((await app.inject(request)).statusCode, status, name)
    t.equal(told.length, 2, name)
  }
  await app.inject({ method: 'DELETE', url: `${home}/${id}` })
  t.match(told[2], { action: 'DeleteDeal', revision: 3, before: { held: true, revision: 2 }, after: undefined })
})

t.test('onCommitted is not told of what could not be committed', async t => {
  let told = 0
  const app = await startDeals(t, {
    storage: {
      ...memoryStorage(),
      commit: async () => {
        throw new Error('no')
      }
    },
    onCommitted: () => {
      told++
    }
  })
  t.equal((await app.inject({ method: 'POST', url: home, payload: { name: 'a', price: 1 } })).statusCode, 503)
  t.equal(told, 0)
})

t.test('the failure of onCommitted is logged, and fails nothing', async t => {
  const failures: [string, NonNullable<FamilyOptions['onCommitted']>][] = [
    [
      'a throw',
      () => {
        throw new Error('no queue')
      }
    ],
    [
      'a rejection',
      async () => {
        throw new Error('no queue')
      }
    ],
    [
      'a late rejection',
      async () => {
        await new Promise(resolve => {
          setImmediate(resolve)
        })
        throw new Error('no queue')
      }
    ]
  ]
  for (const [name, onCommitted] of failures) {
    const { lines, server } = captureLog('error')
    const app = await startDeals(t, { onCommitted }, server)
    const answer = await app.inject({ method: 'POST', url: home, payload: { name: 'a', price: 1 } })
    t.equal(answer.statusCode, 201, name)
    t.equal((await app.inject(String(answer.headers.location))).statusCode, 200, name)
    await new Promise(resolve => { setImmediate(resolve) })
    t.match(
      lines,
      [{ level: 50, msg: 'onCommitted failed', err: { message: 'no queue' }, family: 'deals', action: 'CreateDeal' }],
      name
    )
  }
})

t.test('a response does not wait for onCommitted', async t => {
  const app = await startDeals(t, { onCommitted: async () => await new Promise<void>(() => {}) })
  const { id } = await createDeal(app)
  t.equal((await app.inject({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } })).statusCode, 200)
})

t.test('with @fastify/otel, decide and commit are spans of the request', async t => {
  const exporter = new InMemorySpanExporter()
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  provider.register()
  t.teardown(() => provider.shutdown())
  const instrumentation = new FastifyOtelInstrumentation({ ignorePaths: ({ url }) => url.endsWith('/complete') })
  instrumentation.setTracerProvider(provider)
  const inner = memoryStorage()
  const storage: Storage = {
    ...inner,
    commit: async changes => {
      // As the instrumentation of a database driver does.
      trace.getTracer('driver').startSpan('INSERT').end()
      if (changes.some(change => change.type === 'insert' && change.item.name === 'broken')) {
        throw new Error('the disk is full')
      }
      await inner.commit(changes)
    }
  }
  const app = await startDeals(t, { storage }, {}, async app => { await app.register(instrumentation.plugin()) })
  const spansOf = async (request: InjectOptions) => {
    exporter.reset()
    const answer = await app.inject(request)
    const spans = exporter.getFinishedSpans()
    const byName = (name: string) => spans.find(span => span.name === name)
    return { answer, spans, byName }
  }

  const made = await spansOf({ method: 'POST', url: home, payload: { name: 'tea', price: 1 } })
  t.equal(made.answer.statusCode, 201)
  const id = made.answer.json().id as string
  for (const { byName } of [
    made,
    await spansOf({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } })
  ]) {
    const root = byName('request')
    t.ok(root, 'the request has a span')
    for (const name of ['dealbook decide', 'dealbook commit']) {
      t.equal(byName(name)?.parentSpanContext?.spanId, root?.spanContext().spanId, `${name} is a child of it`)
      t.equal(byName(name)?.spanContext().traceId, root?.spanContext().traceId)
      t.equal(byName(name)?.status.code, 0)
    }
    t.equal(
      byName('INSERT')?.parentSpanContext?.spanId,
      byName('dealbook commit')?.spanContext().spanId,
      'what the storage does is below the commit'
    )
  }

  const unchanged = await spansOf({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } })
  t.ok(unchanged.byName('dealbook decide'))
  t.notOk(unchanged.byName('dealbook commit'), 'where nothing is committed there is no span of it')

  const failed = await spansOf({ method: 'POST', url: home, payload: { name: 'broken', price: 1 } })
  t.equal(failed.answer.statusCode, 503)
  t.match(failed.byName('dealbook commit'), { status: { code: 2 }, events: [{ name: 'exception' }] })

  const ignored = await spansOf({ method: 'PUT', url: `${home}/${id}/complete`, payload: {} })
  t.equal(ignored.answer.statusCode, 409, 'a route that the host does not trace works as well')
  t.strictSame(ignored.spans.filter(({ name }) => name.startsWith('dealbook')), [])
})
