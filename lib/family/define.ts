import type { TProperties } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import type { FastifyPluginAsync } from 'fastify'
import { retire, retiring } from '../http/retirement.js'
import { mountEndpoints, mountUnknown } from '../http/routes.js'
import { isolate } from '../http/scope.js'
import { endpointsOf, unknownWord, unversionedEndpoints } from './endpoints.js'
import { extendDefinition } from './extension.js'
import type { FamilyExtension } from './extension.js'
import type { FamilyDefinition, OperationParams, QueryDefinition } from './model/definition.js'
import { compileFamily } from './model/family.js'
import type { Family } from './model/family.js'
import { makeMount } from './mount/mount.js'
import type { FamilyOptions } from './mount/options.js'
import { joinUnversioned } from './mount/unversioned.js'
import { sendProblem } from './read/send.js'

/** A family as a Fastify plugin, to be registered any number of times. */
export interface FamilyPlugin<P extends TProperties = TProperties, O extends OperationParams = OperationParams> extends FastifyPluginAsync<FamilyOptions> {
  readonly definition: FamilyDefinition<P, O>
  readonly family: Family
  /**
   * The family with a host's fields, operations and queries, as a plugin of its own.
   *
   * @example
   * const ourDeals = deals.extend({
   *   fields: Type.Object({ region: Type.String() }),
   *   create: ['region']
   * })
   */
  extend<X extends TProperties = {}, N extends OperationParams = {}> (extension: FamilyExtension<P, X, N>): FamilyPlugin<P & X, O & N>
}

/**
 * Makes a resource family: an encapsulated Fastify plugin that publishes its items.
 *
 * @example
 * const books = defineFamily({
 *   name: 'books', singular: 'book',
 *   fields: Type.Object({ id: Type.Integer(), title: Type.String(), year: Type.Integer() })
 * })
 * app.register(books, { storage, prefix: '/library' })   // GET /library/books?min-year=1990
 */
export function defineFamily<P extends TProperties, O extends OperationParams> (definition: FamilyDefinition<P, O>): FamilyPlugin<P, O> {
  const family = compileFamily(definition as unknown as FamilyDefinition)
  const plugin: FastifyPluginAsync<FamilyOptions> = async (app, options) => {
    // /crm and /crm/ are one place.
    const prefix = app.prefix.replace(/\/+$/, '')
    const mount = await makeMount(family, prefix, options)
    isolate(app, (error, request, reply) => sendProblem(mount.chooser, error, request, reply))
    const own = endpointsOf(mount).map(endpoint => retiring(endpoint, mount.retirement))
    const shared = options.unversioned === false ? [] : unversionedEndpoints(mount, joinUnversioned(app, prefix, family.name))
    mountEndpoints(app, [...own, ...shared], mount.bodyLimit)
    if (family.writable) {
      mountUnknown(app, `${mount.home}/:id/:word`, (request, reply) => {
        retire(reply, mount.retirement)
        return unknownWord(mount, request)
      })
    }
  }
  const wrapped = fp(plugin, { fastify: '5.x', name: `fastify-dealbook-${family.name}`, encapsulate: true })
  return Object.assign(wrapped, {
    definition,
    family,
    extend<X extends TProperties, N extends OperationParams> (extension: FamilyExtension<P, X, N>): FamilyPlugin<P & X, O & N> {
      // Inside, definitions are of no particular family; the types are for those who write them.
      const extended = extendDefinition(definition as unknown as FamilyDefinition, extension as unknown as FamilyExtension<TProperties, TProperties, OperationParams>)
      return defineFamily(extended) as unknown as FamilyPlugin<P & X, O & N>
    }
  })
}

/**
 * Declares a result of `GET /query/{result_name}/{parameter}`: the items whose field equals the parameter.
 *
 * @example
 * queries: { 'invoices-by-customer': defineQuery({ field: 'customer' }) }
 */
export function defineQuery (definition: QueryDefinition): QueryDefinition {
  return definition
}
