// Code of an expert on Fastify and PostgreSQL: a pool, named statements, BEGIN … COMMIT for every write.
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import Fastify from 'fastify'
import { customerOf } from '../scenarios.js'
import { changeSchema, listSchema, singleSchema } from './expert-schemas.js'
import { anywhere, given, serve } from './serve.js'

const pg = createRequire(import.meta.resolve('fastify-dealbook'))('pg')
const { connectionString, schema } = given.postgres
// As many connections as ours; numbers as numbers, as any expert would configure it.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
const pool = new pg.Pool({ connectionString, max: 10, options: `-c search_path=${schema} -c datestyle=ISO` })

await pool.query(`
  CREATE TABLE customers (
    id bigint PRIMARY KEY, age bigint NOT NULL, children bigint NOT NULL, revision bigint NOT NULL
  );
  CREATE TABLE deals (
    id text PRIMARY KEY, name text NOT NULL, price double precision NOT NULL, held boolean NOT NULL,
    status text NOT NULL, revision bigint NOT NULL, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL
  );
  CREATE TABLE commands (
    id text PRIMARY KEY, deal text NOT NULL, action text NOT NULL, params json NOT NULL, revision bigint NOT NULL,
    created_at timestamptz NOT NULL
  )`)
const people = Array.from({ length: given.customers }, (_, index) => customerOf(index + 1))
const column = name => people.map(person => person[name])
await pool.query(
  'INSERT INTO customers SELECT *, 1 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])',
  ['id', 'age', 'children'].map(column)
)
const ids = Array.from({ length: given.deals }, () => randomUUID())
await pool.query(`
  INSERT INTO deals SELECT id, 'a deal', 1, false, 'open', 1, now(), now() FROM unnest($1::text[]) AS id`, [ids])

const statement = (name, text) => values => ({ name, text, values })
const keyed = statement('keyed', `
  SELECT id, age, children FROM customers WHERE id > $1 AND age >= $2 AND age <= $3 ORDER BY id LIMIT 51`)
const numbered = statement('numbered', 'SELECT id, age, children FROM customers ORDER BY id LIMIT 51 OFFSET $1')
const single = statement('single', 'SELECT id, age, children, revision FROM customers WHERE id = $1')
const dealById = statement('deal', 'SELECT * FROM deals WHERE id = $1 FOR UPDATE')
const setPrice = statement('price', 'UPDATE deals SET price = $1, revision = $2, updated_at = $3 WHERE id = $4')
const record = statement('record', 'INSERT INTO commands VALUES ($1, $2, $3, $4, $5, $6)')

const app = Fastify()
app.get('/customers', { schema: listSchema }, async (request, reply) => {
  const { page = 1, gt, 'min-age': least = 0, 'max-age': most = 1000 } = request.query
  const { rows: items } = await pool.query(gt === undefined ? numbered([(page - 1) * 50]) : keyed([gt, least, most]))
  const more = items.length > 50
  if (more) items.pop()
  const next = `/customers?gt=${items.at(-1)?.id}`
  reply.header('vary', 'Accept').header('link', `<${request.url}>; rel="self", <${next}>; rel="next"`)
  return { items, page, pageSize: 50, links: { self: request.url, first: '/customers', ...(more ? { next } : {}) } }
})
app.get('/customers/:id', { schema: singleSchema }, async (request, reply) => {
  const [found] = (await pool.query(single([request.params.id]))).rows
  if (found === undefined) return reply.code(404).send({ title: 'not found', status: 404 })
  const etag = `"${found.revision}-json"`
  reply.header('etag', etag).header('vary', 'Accept')
  return request.headers['if-none-match'] === etag ? reply.code(304).send() : found
})
app.put('/rest/v1/deals/:id/change-price', { schema: changeSchema }, async (request, reply) => {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const { deal, refused } = await change(client, request.params.id, request.body)
    await client.query(refused === undefined ? 'COMMIT' : 'ROLLBACK')
    return deal ?? reply.code(refused).send({ title: 'not possible', status: refused })
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
})

async function change (client, id, params) {
  const [found] = (await client.query(dealById([id]))).rows
  if (found === undefined) return { refused: 404 }
  if (found.status !== 'open' || found.held) return { refused: 409 }
  const at = new Date().toISOString()
  const revision = found.revision + 1
  await client.query(setPrice([params.newPrice, revision, at, id]))
  await client.query(record([randomUUID(), id, 'ChangeDealPrice', JSON.stringify(params), revision, at]))
  const { created_at: createdAt, updated_at: _, ...deal } = found
  return { deal: { ...deal, price: params.newPrice, revision, createdAt: createdAt.toISOString(), updatedAt: at } }
}

await serve(await app.listen(anywhere), { ids }, async id => {
  const { rows } = await pool.query('SELECT FROM commands WHERE deal = $1', [id])
  return rows.length
})
