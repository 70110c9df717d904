import { isUtf8 } from 'node:buffer'
import { Problem } from '../problems.js'
import { hashText } from '../values/ids.js'
import { findJsonFlaws } from '../values/json.js'

/** Reads a JSON body strictly. No bytes are the empty object, so that an operation without parameters needs no body. */
export function readJson (bytes: Buffer): unknown {
  if (bytes.length === 0) return {}
  if (!isUtf8(bytes)) throw new Problem('malformed-json', 'The body is not valid UTF-8')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw new Problem('malformed-json', (error as Error).message)
  }
  const errors = [...findJsonFlaws(value)]
  if (errors.length === 0) return value
  throw new Problem('invalid-body', 'Something in the body cannot be kept as it is', { errors: errors.slice(0, 20) })
}

/** What a person entered in an HTML form. */
export class FormBody {
  /** Field by field, line ends as line feeds. */
  readonly entries: ReadonlyMap<string, string>
  /** The revision that the person saw, as an entity tag, where the form says it. */
  readonly revision: string | undefined
  /** The same form with the same content has the same key; a form that is not ours has none. */
  readonly key: string | undefined

  constructor (bytes: Buffer) {
    if (!isUtf8(bytes)) throw new Problem('invalid-body', 'The form is not valid UTF-8')
    // No browser leaves a brace as it is in a form, but curl -d says of JSON that it is one.
    if (bytes[0] === 0x7b) {
      const detail = 'This is JSON, but said to be a form; send it with content-type: application/json'
      throw new Problem('unsupported-media-type', detail)
    }
    const entries = new Map<string, string>()
    for (const [name, text] of new URLSearchParams(bytes.toString('utf8'))) {
      if (entries.has(name)) {
        const errors = [{ pointer: `/${name}`, detail: 'is given twice' }]
        throw new Problem('invalid-body', `${name} is given twice`, { errors })
      }
      // Browsers send every line end of a text as CR LF.
      entries.set(name, text.replaceAll('\r\n', '\n'))
    }
    const key = entries.get('_key')
    entries.delete('_key')
    const revision = entries.get('_revision')
    entries.delete('_revision')
    this.revision = revision === undefined ? undefined : `"${revision}"`
    this.entries = entries
    // With the content, so that a form that was corrected is another request.
    this.key = key === undefined ? undefined : hashText(JSON.stringify([key, ...entries]))
  }
}
