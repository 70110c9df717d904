// What an expert writes by hand for these four requests alone: schemas, prepared statements, one transaction per write.
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import Fastify from 'fastify'
import { customers, deals } from '../scenarios.js'
import { serve } from './serve.js'

const require = createRequire(import.meta.resolve('fastify-dealbook'))
const hasSqlite = process.versions.node >= '22.13'
const { DatabaseSync } = hasSqlite ? await import('node:sqlite') : require('@photostructure/sqlite')

const db = new DatabaseSync(process.argv[2])
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
db.exec(`
  CREATE TABLE customers (
    id INTEGER PRIMARY KEY, age INTEGER NOT NULL, children INTEGER NOT NULL, revision INTEGER NOT NULL
  );
  CREATE TABLE deals (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, price REAL NOT NULL, held INTEGER NOT NULL, status TEXT NOT NULL,
    revision INTEGER NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE commands (
    id TEXT PRIMARY KEY, deal TEXT NOT NULL, action TEXT NOT NULL, params TEXT NOT NULL, revision INTEGER NOT NULL,
    created_at TEXT NOT NULL
  ) WITHOUT ROWID;
`)
db.exec('BEGIN')
const addCustomer = db.prepare('INSERT INTO customers VALUES (?, ?, ?, 1)')
for (let id = 1; id <= customers; id++) addCustomer.run(id, 18 + id * 37 % 73, id * 13 % 5)
const addDeal = db.prepare('INSERT INTO deals VALUES (?, ?, 1, 0, ?, 1, ?, ?)')
const now = new Date().toISOString()
const ids = Array.from({ length: deals }, () => randomUUID())
for (const id of ids) addDeal.run(id, 'a deal', 'open', now, now)
db.exec('COMMIT')

const keyed = db.prepare(`
  SELECT id, age, children FROM customers WHERE id > ? AND +age >= ? AND +age <= ? ORDER BY id LIMIT 51`)
const numbered = db.prepare('SELECT id, age, children FROM customers ORDER BY id LIMIT 51 OFFSET ?')
const single = db.prepare('SELECT id, age, children, revision FROM customers WHERE id = ?')
const dealById = db.prepare('SELECT * FROM deals WHERE id = ?')
const setPrice = db.prepare(`
  UPDATE deals SET price = ?, revision = revision + 1, updated_at = ? WHERE id = ? AND revision = ?`)
const record = db.prepare('INSERT INTO commands VALUES (?, ?, ?, ?, ?, ?)')

const integer = { type: 'integer' }
const string = { type: 'string' }
const customer = { type: 'object', properties: { id: integer, age: integer, children: integer } }
const links = { type: 'object', properties: { self: string, first: string, next: string } }
const page = {
  type: 'object',
  properties: { items: { type: 'array', items: customer }, page: integer, pageSize: integer, links }
}
const deal = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    name: { type: 'string' },
    price: { type: 'number' },
    held: { type: 'boolean' },
    status: { type: 'string' },
    revision: { type: 'integer' },
    createdAt: { type: 'string' },
    updatedAt: { type: 'string' }
  }
}

const app = Fastify()
app.get('/customers', {
  schema: {
    querystring: {
      type: 'object',
      properties: {
        page: { type: 'integer', minimum: 1 },
        gt: integer,
        'min-age': integer,
        'max-age': integer,
        maxpagesize: { type: 'integer', minimum: 1, maximum: 1000 }
      }
    },
    response: { 200: page }
  }
}, async (request, reply) => {
  const { page = 1, gt, 'min-age': least = -Infinity, 'max-age': most = Infinity } = request.query
  const items = gt === undefined ? numbered.all((page - 1) * 50) : keyed.all(gt, least, most)
  const more = items.length > 50
  if (more) items.pop()
  const next = `/customers?gt=${items.at(-1)?.id}`
  reply.header('vary', 'Accept').header('link', `<${request.url}>; rel="self", <${next}>; rel="next"`)
  return { items, page, pageSize: 50, links: { self: request.url, first: '/customers', ...(more ? { next } : {}) } }
})
app.get('/customers/:id', {
  schema: { params: { type: 'object', properties: { id: integer } }, response: { 200: customer } }
}, async (request, reply) => {
  const found = single.get(request.params.id)
  if (found === undefined) return reply.code(404).send({ title: 'not found', status: 404 })
  const etag = `"${found.revision}-json"`
  reply.header('etag', etag).header('vary', 'Accept')
  return request.headers['if-none-match'] === etag ? reply.code(304).send() : found
})
app.put('/rest/v1/deals/:id/change-price', {
  schema: {
    body: {
      type: 'object',
      required: ['newPrice', 'reason'],
      additionalProperties: false,
      properties: { newPrice: { type: 'number', minimum: 0 }, reason: { type: 'string', minLength: 1 } }
    },
    response: { 200: deal }
  }
}, async (request, reply) => {
  const { id } = request.params
  db.exec('BEGIN IMMEDIATE')
  try {
    const found = dealById.get(id)
    if (found === undefined || found.status !== 'open' || found.held === 1) {
      db.exec('ROLLBACK')
      return reply.code(found === undefined ? 404 : 409).send({})
    }
    const at = new Date().toISOString()
    setPrice.run(request.body.newPrice, at, id, found.revision)
    record.run(randomUUID(), id, 'ChangeDealPrice', JSON.stringify(request.body), found.revision + 1, at)
    db.exec('COMMIT')
    return {
      ...found,
      held: false,
      price: request.body.newPrice,
      revision: found.revision + 1,
      createdAt: found.created_at,
      updatedAt: at
    }
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
})
await serve(app, ids)
