import type { FastifyInstance } from 'fastify'

/** Settings of a host's router that change which request comes to which route, and what each is unless said. */
const defaults = {
  caseSensitive: true as boolean,
  ignoreDuplicateSlashes: false as boolean,
  ignoreTrailingSlash: false as boolean,
  maxParamLength: 100 as number,
  useSemicolonDelimiter: false as boolean
}

type Settings = typeof defaults

/** A setting of the host's router, said under `routerOptions` or, in the old way, beside it. */
export function readRouterSetting<N extends keyof Settings> (app: FastifyInstance, name: N): Settings[N] {
  const old = app.initialConfig as Partial<Settings>
  const now = app.initialConfig.routerOptions as Partial<Settings> | undefined
  // Fastify fills in what is not said, so that only another value than the usual one was certainly said.
  return [now?.[name], old[name]].find(value => value !== undefined && value !== defaults[name]) ?? defaults[name]
}

/** Two paths that are one to the host's router are the same text. */
export function unifyPath (app: FastifyInstance, path: string): string {
  const single = readRouterSetting(app, 'ignoreDuplicateSlashes') ? path.replace(/\/\/+/g, '/') : path
  return readRouterSetting(app, 'caseSensitive') ? single : single.toLowerCase()
}
