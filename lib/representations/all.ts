import { csv } from './csv.js'
import { html } from './html/html.js'
import { json } from './json.js'
import { ndjson } from './ndjson.js'
import type { Representation } from './representation.js'
import { xml } from './xml.js'

/**
 * The representations that a mount has by itself, the first being the default.
 *
 * @example
 * app.register(customers, { storage, representations: [...representations, yaml] })
 */
export const representations: readonly Representation[] = [json, xml, html(), csv, ndjson]
