import type { FastifyReply, FastifyRequest } from 'fastify'

/** The path and the query string of a request, as they were sent. */
export function splitUrl (request: FastifyRequest): { path: string, search: string } {
  const url = request.raw.url as string
  const mark = url.indexOf('?')
  return mark === -1 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark + 1) }
}

/** Adds to the Link header, beside what is there already. */
export function addLink (reply: FastifyReply, link: string): FastifyReply {
  const before = reply.getHeader('link')
  return reply.header('link', before === undefined ? link : `${String(before)}, ${link}`)
}

/** One link as it stands in the header (RFC 8288). */
export function formatLink (url: string, rel: string): string {
  // Not all that a query may hold unencoded may stand between the angle brackets.
  const target = url.replace(/[<>"\s\\^`{|}]|[^\x21-\x7e]/gu, character => encodeURIComponent(character))
  return `<${target}>; rel="${rel}"`
}
