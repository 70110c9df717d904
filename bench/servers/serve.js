// Every server is a process of its own: it says where it listens, and what it has cost when asked. `countLog` says how
// many changes of a deal it has written down.
import { once } from 'node:events'

export async function serve (url, ids, countLog) {
  process.on('message', async question => {
    process.send(question === 'cost' ? process.cpuUsage() : await countLog(question.log))
  })
  process.on('disconnect', () => process.exit(0))
  process.send({ url, ids })
}

/** What the server was told: a file for its database, the PostgreSQL to use, and more. */
export const given = JSON.parse(process.argv[2])

export const anywhere = { port: 0, host: '127.0.0.1' }

/** Of a server of Node, once it listens. */
export async function urlOf (server) {
  if (!server.listening) await once(server, 'listening')
  return `http://${anywhere.host}:${server.address().port}`
}
