import type { Representation, View } from './representation.js'

/** The default representation: the document as it is. */
export const json: Representation = {
  name: 'json',
  extension: 'json',
  mediaTypes: ['application/json'],
  problemType: 'application/problem+json',
  one: write,
  page: write,
  problem: write,
  pageOfText: (items, others) => others === undefined ? `[${items}]` : `{"items":[${items}],${JSON.stringify(others).slice(1)}`
}

function write (view: View): string {
  return JSON.stringify(view.document)
}
