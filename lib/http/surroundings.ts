import type { FastifyInstance } from 'fastify'

type Class = { readonly props: readonly unknown[], readonly prototype: object }

// Those that have no part in a request.
const otherHooks = ['onRegister', 'onReady', 'onListen', 'preClose', 'onClose']

/**
 * Says what happens to a request in one scope and not in the other: hooks, or what a scope around one of them has
 * decorated requests, replies or itself with. Undefined where it is all the same, so that a request to a route of one
 * may be answered by the other.
 */
export function findDifference (one: FastifyInstance, other: FastifyInstance): string | undefined {
  const [hooks, otherHooks] = [readHooks(one), readHooks(other)]
  const around = [...scopesAround(one), ...scopesAround(other)]
  const apart = around.filter(scope => around.indexOf(scope) === around.lastIndexOf(scope))
  // What cannot be compared is the same only where it is one.
  if (hooks === undefined || otherHooks === undefined) return apart.length === 0 ? undefined : 'scopes'
  for (const [name, list] of hooks) if (!isSameList(list, otherHooks.get(name) ?? [])) return `${name} hooks`
  return apart.some(scope => isDecorated(scope, one)) ? 'decorators' : undefined
}

/** Fastify keeps what is a scope's own under symbols. */
function readInternal (scope: object, description: string): unknown {
  const symbol = Object.getOwnPropertySymbols(scope).find(symbol => symbol.description === description)
  return symbol === undefined ? undefined : (scope as Record<symbol, unknown>)[symbol]
}

function readHooks (scope: object): Map<string, readonly unknown[]> | undefined {
  const hooks = readInternal(scope, 'fastify.hooks')
  if (typeof hooks !== 'object' || hooks === null) return undefined
  return new Map(Object.entries(hooks).filter(([name]) => !otherHooks.includes(name)))
}

function isSameList (one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((element, index) => element === other[index])
}

/** The scopes that a scope was made in, from the inside: each is the prototype of the next. */
function scopesAround (scope: object): object[] {
  const parent = Object.getPrototypeOf(scope) as object | null
  return parent === null || parent === Object.prototype ? [] : [parent, ...scopesAround(parent)]
}

const ofFastify = /^(fastify\.|registered-plugin$)/

/** @param bare a scope in which nothing was decorated, to tell what Fastify itself gives to each */
function isDecorated (scope: object, bare: object): boolean {
  const isAdded = (name: string | symbol, among: object) => !Object.hasOwn(among, name)
  if (Object.getOwnPropertyNames(scope).some(name => isAdded(name, bare))) return true
  // As @fastify/middie and @fastify/express keep the middlewares of a scope, of which one may be what guards it.
  if (Object.getOwnPropertySymbols(scope).some(symbol => !ofFastify.test(symbol.description ?? ''))) return true
  return ['fastify.Request', 'fastify.Reply'].some(description => {
    const [own, parents, plain] = [scope, Object.getPrototypeOf(scope) as object, bare]
      .map(each => readInternal(each, description) as Class) as [Class, Class, Class]
    return own.props.some(prop => !parents.props.includes(prop)) ||
      Reflect.ownKeys(own.prototype).some(key => isAdded(key, plain.prototype))
  })
}
