import type { FastifyReply } from 'fastify'

/** Adds a link to the Link header (RFC 8288), beside what is there already. */
export function addLink (reply: FastifyReply, url: string, rel: string): void {
  addFormatted(reply, formatLink(url, rel, isPlain(url)))
}

// A client or a proxy that meets more than it can take of headers takes nothing of the answer.
const maxLength = 4000

const rels = ['self', 'first', 'next', 'prev'] as const
// A list of plain rows has these nowhere else.
const neededRels = ['next', 'prev'] as const

/** Adds the links of a page; of very long ones, those that lead on. */
export function addPageLinks (reply: FastifyReply, links: Partial<Record<typeof rels[number], string>>): void {
  const { self = '' } = links
  // The others have nothing that this one does not have, but for places, which are plain.
  const areAllPlain = isPlain(self)
  let all = ''
  for (const rel of rels.length * self.length < maxLength ? rels : neededRels) {
    const url = links[rel]
    if (url === undefined || all.length + url.length > maxLength) continue
    all += `${all === '' ? '' : ', '}${formatLink(url, rel, areAllPlain)}`
  }
  if (all !== '') addFormatted(reply, all)
}

function addFormatted (reply: FastifyReply, link: string): void {
  const before = reply.getHeader('link')
  reply.header('link', before === undefined ? link : `${String(before)}, ${link}`)
}

// Not all that a query may hold unencoded may be between the angle brackets.
const plain = /^[!#-;=?-[\]_a-z~]*$/

function isPlain (url: string): boolean {
  return plain.test(url)
}

function formatLink (url: string, rel: string, isPlain: boolean): string {
  return `<${isPlain ? url : encodeOthers(url)}>; rel="${rel}"`
}

function encodeOthers (url: string): string {
  return url.replace(/[<>"\s\\^`{|}]|[^\x21-\x7e]/gu, character => encodeURIComponent(character))
}
