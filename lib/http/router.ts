import type { FastifyInstance } from 'fastify'

/** Whether the host's router is told so, under `routerOptions` or, in the old way, beside it. */
export function isRouterSet (
  { initialConfig }: FastifyInstance,
  name: 'ignoreTrailingSlash' | 'useSemicolonDelimiter'
): boolean {
  const { routerOptions } = initialConfig as { readonly routerOptions?: Partial<Record<typeof name, boolean>> }
  return routerOptions?.[name] === true || (initialConfig as Partial<Record<typeof name, boolean>>)[name] === true
}
