import type { FastifyPluginAsync } from 'fastify'
import type { FamilyOptions } from '../../../../lib/index.js'
import { invoices } from '../../../family/invoices.js'

const plugin: FastifyPluginAsync<FamilyOptions> = async (app, { storage }) => {
  app.register(invoices, { storage })
}

export default plugin
