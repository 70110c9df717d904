import type { FastifyReply } from 'fastify'

/** Adds to the Link header, beside what is there already. */
export function addLink (reply: FastifyReply, link: string): FastifyReply {
  const before = reply.getHeader('link')
  return reply.header('link', before === undefined ? link : `${String(before)}, ${link}`)
}
