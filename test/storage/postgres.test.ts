import t from 'tap'
import { storageConformance } from '../../lib/storage/conformance.js'
import { postgresStorage } from '../../lib/storage/postgres.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

const connectionString = await postgresUrl()

storageConformance(t.test, () => {
  const schema = newSchema()
  let storage = postgresStorage({ connectionString, schema, poolSize: 4 })
  return {
    storage,
    async reopen () {
      await storage.close()
      storage = postgresStorage({ connectionString, schema, poolSize: 4 })
      return storage
    },
    async dispose () {
      await storage.close()
      await dropSchema(schema)
    }
  }
})
