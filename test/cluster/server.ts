// One of two processes on a database: families, a consumer, webhooks and a follower, which report to the parent.
import Fastify from 'fastify'
import { defineFamily, type FollowedCommand, Type } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { consume } from '../../lib/tools/index.js'
import { makeWebhooks } from '../../lib/webhooks/webhooks.js'

const counters = defineFamily({
  name: 'counters',
  singular: 'counter',
  fields: Type.Object({ id: Type.String(), total: Type.Integer({ default: 0 }) }),
  create: ['id'],
  operations: {
    add: {
      name: 'add',
      verb: 'add',
      participle: 'added',
      noun: 'additions',
      action: 'AddToCounter',
      params: Type.Object({ amount: Type.Integer() }),
      allowed: () => true,
      apply: (counter, { amount }) => ({ ...counter, total: counter.total + amount })
    }
  }
})

const tickets = defineFamily({
  name: 'tickets',
  singular: 'ticket',
  fields: Type.Object({ id: Type.Integer(), title: Type.String() }),
  create: ['title']
})

/** What the parent gets: once it listens, and for each command. */
export interface Report {
  readonly listening?: true
  readonly followed?: Pick<FollowedCommand, 'id' | 'cursor'>
  readonly consumed?: string
}

function report (message: Report): void {
  process.send?.(message)
}

const { STORAGE = '', SCHEMA = '', PORT = '', AFTER } = process.env
const storage = postgresStorage({ connectionString: STORAGE, schema: SCHEMA })
const app = Fastify({ logger: { level: 'warn' }, forceCloseConnections: true })
app.register(counters, { storage })
app.register(tickets, { storage })
app.register(makeWebhooks({ allowPrivate: true, retryDelay: 500, maxRetryDelay: 1000 }), { storage })
await app.listen({ port: Number(PORT), host: '127.0.0.1' })

const stop = new AbortController()
const { signal } = stop

async function follow (): Promise<void> {
  const start = AFTER === undefined ? {} : { after: AFTER }
  for await (const { id, cursor } of counters.service({ storage }).follow({ ...start, signal })) {
    report({ followed: { id, cursor } })
  }
}

const working = [
  follow(),
  consume(storage, {
    name: 'audit', families: [counters, tickets], signal, handler: ({ id }) => { report({ consumed: id }) }
  })
]

process.once('SIGTERM', async () => {
  stop.abort()
  await app.close()
  await Promise.all(working)
  await storage.close()
  process.disconnect()
})
report({ listening: true })
