import type { FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import { customers } from './customers.js'
import { deals } from './deals/deals.js'
import type { FamilyOptions } from './http/plugin/options.js'

/** The options of both families; the version is that of the deals. */
export type DealbookOptions = FamilyOptions & { readonly version: string }

// fp: each family has a scope already, and others may share the prefix.
const plugin: FastifyPluginAsync<DealbookOptions> = async (app, { version, ...options }) => {
  await app.register(customers, options)
  await app.register(deals, { ...options, version })
}

/**
 * Both families in one register call.
 *
 * @example
 * app.register(dealbook, { storage, prefix: '/crm', version: 'v1' })
 */
export const dealbook = fp(plugin, { fastify: '5.x || 6.x', name: 'fastify-dealbook' })
