// A PostgreSQL for the run, started from here so that it has the core that this process has.
import { startServer } from '../../build/test/postgres/server.js'

const server = await startServer({ durable: true })
process.on('disconnect', end)
process.once('message', async () => {
  await end()
  process.send('ended')
})
process.send(server.url)

async function end () {
  process.off('disconnect', end)
  await server.dispose()
}
