// The floor: Fastify sending the bytes that ours sends, from constants.
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import { serve } from './serve.js'

const { page, numbered, one, changed } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const app = Fastify()
const send = body => (_request, reply) => reply.header('content-type', 'application/json; charset=utf-8').send(body)
app.get('/customers', (request, reply) => send(request.query.page === undefined ? page : numbered)(request, reply))
app.get('/customers/:id', send(one))
app.put('/rest/v1/deals/:id/change-price', send(changed))
await serve(app, ['1'])
