import type { Representation } from './representation.js'

/** One JSON object to a line, for collections. */
export const ndjson: Representation = {
  name: 'ndjson',
  extension: 'ndjson',
  mediaTypes: ['application/x-ndjson', 'application/ndjson'],
  rows: {
    head: () => '',
    row: item => `${JSON.stringify(item)}\n`
  }
}
