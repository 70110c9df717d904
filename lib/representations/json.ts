import type { Representation, View } from './representation.js'

/** The default representation: the document as it is. */
export const json: Representation = {
  name: 'json',
  extension: 'json',
  mediaTypes: ['application/json'],
  problemType: 'application/problem+json',
  one: writeDocument,
  page: writeDocument,
  problem: writeDocument,
  pageOfText: (items, others) => others === undefined
    ? `[${items}]`
    : `{"items":[${items}],${JSON.stringify(others).slice(1)}`
}

/** One JSON object per line, for collections. */
export const ndjson: Representation = {
  name: 'ndjson',
  extension: 'ndjson',
  mediaTypes: ['application/x-ndjson', 'application/ndjson'],
  rows: {
    head: () => '',
    row: item => `${JSON.stringify(item)}\n`
  }
}

function writeDocument (view: View): string {
  return JSON.stringify(view.document)
}
