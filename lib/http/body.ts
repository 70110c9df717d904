import { isUtf8 } from 'node:buffer'
import { findJsonFlaws } from '../values/json.js'
import { Problem } from '../problems.js'

/** Reads a JSON body strictly. No bytes at all are the empty object, so that an operation without parameters needs no body. */
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
  if (errors.length > 0) throw new Problem('invalid-body', 'Something in the body cannot be kept as it is', { errors: errors.slice(0, 20) })
  return value
}
