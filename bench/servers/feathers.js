// Feathers 5 on Koa, with its adapter for Knex: a page counts all that match, as its pagination does. Lean: without the
// schemas and resolvers that its generator adds. The operation is a separate service, with one transaction.
import { randomUUID } from 'node:crypto'
import { Conflict } from '@feathersjs/errors'
import { feathers } from '@feathersjs/feathers'
import { KnexService } from '@feathersjs/knex'
import { bodyParser, errorHandler, koa, rest } from '@feathersjs/koa'
import knex from 'knex'
import { openDatabase } from './expert-sqlite.js'
import { anywhere, given, serve, urlOf } from './serve.js'

const { ids, countLog } = openDatabase()
const Model = knex({
  client: 'better-sqlite3',
  connection: { filename: given.file },
  useNullAsDefault: true,
  pool: {
    min: 1,
    max: 1,
    // Its driver does not wait for the disk in WAL mode by default.
    afterCreate (connection, done) {
      connection.pragma('synchronous = FULL')
      done()
    }
  }
})

class PriceChanges {
  update (id, { newPrice, reason }) {
    return Model.transaction(async trx => {
      const params = { transaction: { trx } }
      const found = await app.service('deals').get(id, params)
      if (found.status !== 'open' || found.held === 1) throw new Conflict('not possible')
      const at = new Date().toISOString()
      const revision = found.revision + 1
      const deal = await app.service('deals').patch(id, { price: newPrice, revision, updated_at: at }, params)
      await app.service('commands').create({
        id: randomUUID(),
        deal: id,
        action: 'ChangeDealPrice',
        params: JSON.stringify({ newPrice, reason }),
        revision,
        created_at: at
      }, params)
      return { ...deal, held: deal.held === 1 }
    })
  }
}

const app = koa(feathers())
app.use(errorHandler())
app.use(bodyParser())
app.configure(rest())
for (const name of ['customers', 'deals', 'commands']) {
  app.use(name, new KnexService({ Model, name, paginate: { default: 50, max: 1000 } }))
}
app.use('price-changes', new PriceChanges())
await serve(await urlOf(await app.listen(anywhere.port, anywhere.host)), { ids }, countLog)
