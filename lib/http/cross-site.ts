import type { FastifyRequest } from 'fastify'
import { Problem } from '../problems.js'

/**
 * Refuses what a page of another site can make a browser send without asking first: a POST as a form sends it, or without
 * a body. Everything else (JSON, PUT, DELETE) a browser sends across sites only after a preflight that the host answers.
 */
export function refuseCrossSite (request: FastifyRequest, trusted: readonly string[]): void {
  if (request.method !== 'POST' || /^application\/(json|merge-patch\+json)\b/i.test(request.headers['content-type'] ?? '')) return
  const { origin, 'sec-fetch-site': site, host } = request.headers
  if (origin !== undefined && trusted.includes(origin)) return
  const foreign = site === undefined
    ? origin !== undefined && hostOf(origin) !== host
    : site !== 'same-origin' && site !== 'none'
  if (foreign) throw new Problem('cross-site', `A page of ${origin ?? 'another site'} may not send this; trusted origins are set by the option trustedOrigins`)
}

function hostOf (origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/.exec(origin)?.[1]
}
