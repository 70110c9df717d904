import type { FastifyPluginAsync } from 'fastify'
import type { FamilyOptions } from '../../../../lib/index.js'
import { customers } from '../../../../lib/index.js'

const plugin: FastifyPluginAsync<FamilyOptions> = async (app, { storage }) => {
  app.register(customers, { storage })
}

export default plugin
