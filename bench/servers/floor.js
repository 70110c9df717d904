// The floor: Fastify that sends our responses, with all headers, from constants.
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import { anywhere, given, serve } from './serve.js'

const { page, numbered, one, operation } = JSON.parse(readFileSync(given.bytes, 'utf8'))
const app = Fastify()
const send = ({ headers, body }) => (_request, reply) => reply.headers(headers).send(body)
const [sendPage, sendNumbered] = [send(page), send(numbered)]
app.get('/customers', (request, reply) => (request.query.page === undefined ? sendPage : sendNumbered)(request, reply))
app.get('/customers/:id', send(one))
app.put('/rest/v1/deals/:id/change-price', send(operation))
await serve(await app.listen(anywhere), { ids: ['1'] }, () => 0)
