// Every server is a process of its own: it says where it listens, and what it has cost when asked. `countLog` says how
// many changes of a deal it has written down.
import { once } from 'node:events'

export async function serve (url, known, countLog) {
  process.on('message', async question => {
    process.send(question === 'cost' ? costNow() : await countLog(question.log))
  })
  process.on('disconnect', () => process.exit(0))
  process.send({ url, customers: given.customers, ...known })
}

const costNow = () => ({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() })

/** What the server was told: a file for its database, the PostgreSQL to use, and more. */
export const given = JSON.parse(process.argv[2])

export const anywhere = { port: 0, host: '127.0.0.1' }

/** Of a server of Node, once it listens. */
export async function urlOf (server) {
  // As Fastify has it; Node's own five seconds cut connections that wait for a slow server.
  server.keepAliveTimeout = 72_000
  if (!server.listening) await once(server, 'listening')
  return `http://${anywhere.host}:${server.address().port}`
}
