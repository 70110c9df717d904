import type { FastifyRequest } from 'fastify'
import { Problem } from '../problems.js'

/**
 * Refuses what a page of another site can make a browser send without asking first: a POST as a form sends it, or without
 * a body. Everything else (JSON, PUT, DELETE) a browser sends across sites only after a preflight that the host answers.
 */
export function refuseCrossSite (request: FastifyRequest, trusted: readonly string[]): void {
  if (request.method !== 'POST' || json.test(request.headers['content-type'] ?? '')) return
  const { origin, 'sec-fetch-site': site, host } = request.headers
  if (origin !== undefined && trusted.includes(origin)) return
  const isForeign = site === undefined
    ? origin !== undefined && readHost(origin) !== host
    : site !== 'same-origin' && site !== 'none'
  if (!isForeign) return
  const page = `A page of ${origin ?? 'another site'}`
  throw new Problem('cross-site', `${page} may not send this; trusted origins are set by the option trustedOrigins`)
}

const json = /^application\/(json|merge-patch\+json)\b/i

function readHost (origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/.exec(origin)?.[1]
}
