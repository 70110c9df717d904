// Code of an expert for only these four requests, on Fastify and SQLite. With "json", SQLite makes the JSON of reads;
// with "group", the writes of one turn are committed together.
import Fastify from 'fastify'
import { changeSchema, listSchema, singleSchema } from './expert-schemas.js'
import { inGroups, inTransaction, openDatabase, prepareChange, prepareReads } from './expert-sqlite.js'
import { anywhere, given, serve } from './serve.js'

const { way } = given
const { db, ids, countLog } = openDatabase()
const reads = prepareReads(db)
const change = prepareChange(db)
const commit = way === 'group' ? inGroups(db) : run => inTransaction(db, run)
const json = 'application/json; charset=utf-8'

const app = Fastify()
app.get('/customers', { schema: listSchema }, way === 'json' ? listAsText : listAsRows)
app.get('/customers/:id', { schema: singleSchema }, way === 'json' ? oneAsText : oneAsRow)
app.put('/rest/v1/deals/:id/change-price', { schema: changeSchema }, async (request, reply) => {
  const { deal, refused } = await commit(() => change(request.params.id, request.body))
  return deal ?? reply.code(refused).send({ title: 'not possible', status: refused })
})
await serve(await app.listen(anywhere), { ids }, countLog)

async function listAsRows (request, reply) {
  const { page = 1, gt, 'min-age': least = -Infinity, 'max-age': most = Infinity } = request.query
  const items = gt === undefined ? reads.numbered(page) : reads.keyed(gt, least, most)
  const more = items.length > 50
  if (more) items.pop()
  const next = `/customers?gt=${items.at(-1)?.id}`
  reply.header('vary', 'Accept').header('link', `<${request.url}>; rel="self", <${next}>; rel="next"`)
  return { items, page, pageSize: 50, links: { self: request.url, first: '/customers', ...(more ? { next } : {}) } }
}

async function listAsText (request, reply) {
  const { page = 1, gt, 'min-age': least = -Infinity, 'max-age': most = Infinity } = request.query
  const { items, count, last } = gt === undefined ? reads.numberedJson(page) : reads.keyedJson(gt, least, most)
  const next = `/customers?gt=${last}`
  reply.header('vary', 'Accept').header('link', `<${request.url}>; rel="self", <${next}>; rel="next"`)
  reply.header('content-type', json).serializer(text => text)
  const more = count === 50 ? `,"next":"${next}"` : ''
  const links = `{"self":${JSON.stringify(request.url)},"first":"/customers"${more}}`
  return `{"items":${items},"page":${page},"pageSize":50,"links":${links}}`
}

async function oneAsRow (request, reply) {
  const found = reads.single(request.params.id)
  return answerAtOnce(found, request, reply) ?? found
}

async function oneAsText (request, reply) {
  const found = reads.singleJson(request.params.id)
  const answered = answerAtOnce(found, request, reply)
  if (answered !== undefined) return answered
  reply.header('content-type', json).serializer(text => text)
  return found.item
}

/** Handles 404 and 304; otherwise sets the headers. */
function answerAtOnce (found, request, reply) {
  if (found === undefined) return reply.code(404).send({ title: 'not found', status: 404 })
  const etag = `"${found.revision}-json"`
  reply.header('etag', etag).header('vary', 'Accept')
  return request.headers['if-none-match'] === etag ? reply.code(304).send() : undefined
}
