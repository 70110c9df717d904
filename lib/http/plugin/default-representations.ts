import { html } from '../../html/html.js'
import { csv, json, ndjson, xml } from '../../representations/formats.js'
import type { Representation } from '../../representations/representation.js'

/**
 * The representations that a mount has by itself, the first being the default.
 *
 * @example
 * app.register(customers, { storage, representations: [...representations, yaml] })
 */
export const representations: readonly Representation[] = [json, xml, html(), csv, ndjson]

/** What is wrong with a host's own list of representations; undefined if nothing is. */
export function findRepresentationsFlaw (list: unknown): string | undefined {
  if (!Array.isArray(list) || !list.some(each => each?.problem !== undefined)) {
    return 'must be a list of representations, one of which shows problems'
  }
  const flaw = findWordFlaw(list, 'name') ?? findWordFlaw(list, 'extension')
  if (flaw !== undefined) return flaw
  for (const representation of list as readonly Representation[]) {
    const flaw = findFlaw(representation)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

function findWordFlaw (list: readonly Representation[], member: 'name' | 'extension'): string | undefined {
  const words = list.map(each => each[member])
  const odd = words.find(word => !/^[A-Za-z0-9_-]+$/.test(word))
  if (odd !== undefined) return `has the ${member} "${odd}", which must be letters, digits, hyphens and underscores`
  const repeated = words.find((word, index) => words.indexOf(word) < index)
  if (repeated === undefined) return undefined
  return `must not have the same one twice: two of them have the ${member} "${repeated}"`
}

function findFlaw ({ name, mediaTypes, one, page, rows }: Representation): string | undefined {
  if (!Array.isArray(mediaTypes) || mediaTypes.length === 0) return `is wrong: "${name}" needs a media type`
  const odd = mediaTypes.find(type => !/^[\w.+-]+\/[\w.+-]+$/.test(type))
  if (odd !== undefined) return `is wrong: "${name}" has the media type "${odd}", which must be like application/xml`
  return one === undefined && page === undefined && rows === undefined ? `is wrong: "${name}" shows nothing` : undefined
}
