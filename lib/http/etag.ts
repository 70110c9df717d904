import { createHash } from 'node:crypto'
import type { Representation } from '../representations/representation.js'

/** A strong tag: the stored revision and the representation; of the content where no revision is stored. */
export function etagOf ({ revision }: { readonly revision: number }, document: object, { name }: Representation): string {
  const state = revision > 0 ? revision : createHash('sha256').update(JSON.stringify(document)).digest('base64url').slice(0, 22)
  return `"${state}-${name}"`
}
