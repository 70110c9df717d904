import type { FastifyReply, FastifyRequest } from 'fastify'

const feedback = 'dealbook-command'

// A cookie, so that the address of the page stays the one to share. It ends with the page that shows it.
export function setFeedback (reply: FastifyReply, url: string, command: string): void {
  writeFeedback(reply, new URL(url, 'http://localhost').pathname, command, 60)
}

function writeFeedback (reply: FastifyReply, path: string, command: string, seconds: number): void {
  const isSecure = reply.request.protocol === 'https'
  reply.header('set-cookie', `${feedback}=${encodeURIComponent(command)}; Path=${path.replaceAll(';', '%3B')}; ` +
    `Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`)
}

/** The command whose outcome the page shows. */
export function readFeedback ({ headers: { cookie = '' } }: FastifyRequest): string | undefined {
  const text = cookie.includes(feedback) ? new RegExp(`(?:^|;\\s*)${feedback}=([^;]*)`).exec(cookie)?.[1] : undefined
  // It is empty once it has ended.
  return text === undefined || text === '' ? undefined : new URLSearchParams(`id=${text}`).get('id') ?? undefined
}

export function endFeedback (reply: FastifyReply, url: string): void {
  writeFeedback(reply, new URL(url, 'http://localhost').pathname, '', 0)
}
