import type { FastifyPluginAsync } from 'fastify'
import type { FamilyOptions } from '../../../../lib/index.js'
import { deals } from '../../../../lib/index.js'

const plugin: FastifyPluginAsync<FamilyOptions> = async (app, { storage }) => {
  app.register(deals, { storage, version: 'v1' })
}

export default plugin
