// Express 5 with routes by hand over the statements of the expert, with more input checks than usual.
import express from 'express'
import { inTransaction, openDatabase, prepareChange, prepareReads } from './expert-sqlite.js'
import { anywhere, serve, urlOf } from './serve.js'

const { db, ids, countLog } = openDatabase()
const reads = prepareReads(db)
const change = prepareChange(db)

const app = express()
app.use(express.json())
app.get('/customers', (request, response) => {
  const { page = '1', gt, 'min-age': least = '-1e9', 'max-age': most = '1e9' } = request.query
  const numbers = [page, gt ?? '0', least, most].map(Number)
  if (numbers.some(Number.isNaN)) return response.status(400).json({ title: 'not a number', status: 400 })
  const [number, ...range] = numbers
  const items = gt === undefined ? reads.numbered(number) : reads.keyed(...range)
  const more = items.length > 50
  if (more) items.pop()
  const next = more ? { next: `/customers?gt=${items.at(-1).id}` } : {}
  response.json({ items, page: number, pageSize: 50, links: { self: request.url, first: '/customers', ...next } })
})
app.get('/customers/:id', (request, response) => {
  const found = reads.single(Number(request.params.id))
  if (found === undefined) return response.status(404).json({ title: 'not found', status: 404 })
  response.json(found)
})
app.put('/rest/v1/deals/:id/change-price', (request, response) => {
  const { newPrice, reason } = request.body
  if (!(newPrice >= 0) || typeof reason !== 'string') return response.status(400).json({ title: 'wrong', status: 400 })
  const { deal, refused } = inTransaction(db, () => change(request.params.id, { newPrice, reason }))
  if (refused !== undefined) return response.status(refused).json({ title: 'not possible', status: refused })
  response.json(deal)
})
await serve(await urlOf(app.listen(anywhere.port, anywhere.host)), { ids }, countLog)
