// Every server is a separate process: it sends its URL and, on request, its cost. `countLog` returns how many changes
// of a deal it has logged.
import { once } from 'node:events'

export async function serve (url, known, countLog) {
  process.on('message', async question => {
    process.send(question === 'cost' ? costNow() : await countLog(question.log))
  })
  process.on('disconnect', () => process.exit(0))
  process.send({ url, customers: given.customers, ...known })
}

const costNow = () => ({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() })

/** The settings of the server: a file for its database, the PostgreSQL to use, and more. */
export const given = JSON.parse(process.argv[2])

export const anywhere = { port: 0, host: '127.0.0.1' }

/** For a Node server, once it listens. */
export async function urlOf (server) {
  // Fastify's default; Node's five seconds would close connections that wait for a slow server.
  server.keepAliveTimeout = 72_000
  if (!server.listening) await once(server, 'listening')
  return `http://${anywhere.host}:${server.address().port}`
}
