import type { FastifyReply } from 'fastify'

/** Adds to the Link header, beside what is there already. */
export function addLink (reply: FastifyReply, link: string): FastifyReply {
  const before = reply.getHeader('link')
  return reply.header('link', before === undefined ? link : `${String(before)}, ${link}`)
}

/** One link as it stands in the header (RFC 8288). */
export function linkTo (url: string, rel: string): string {
  // Not all that a query may hold unencoded may stand between the angle brackets.
  const target = url.replace(/[<>"\s\\^`{|}]|[^\x21-\x7e]/gu, character => encodeURIComponent(character))
  return `<${target}>; rel="${rel}"`
}
