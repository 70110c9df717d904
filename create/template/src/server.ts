import { sqliteStorage } from 'fastify-dealbook/sqlite'
import { buildApp } from './app.js'

const { PORT = '3000', HOST = '127.0.0.1', DATABASE = 'tickets.db', LOG_LEVEL = 'warn' } = process.env

const storage = sqliteStorage({ file: DATABASE })
const app = buildApp(storage, { logger: { level: LOG_LEVEL }, requestTimeout: 30_000 })
app.addHook('onClose', () => storage.close())
// Open requests are finished first.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close())
console.log(`${await app.listen({ port: Number(PORT), host: HOST })}/rest/v1/tickets`)
