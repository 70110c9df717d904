/** A parameter of a query string. */
export interface Parameter {
  readonly name: string
  readonly value: string
  /** Whether it had an equals sign. */
  readonly assigned: boolean
  readonly raw: string
}

export const maxParameters = 100

/** A part with invalid encoding has no name. Stops one above the maximum, since decoding invalid parts is slow. */
export function splitQuery (search: string): (Parameter | { readonly raw: string, readonly name: undefined })[] {
  const parameters = []
  for (const raw of search.split('&')) {
    if (raw === '') continue
    if (parameters.length > maxParameters) break
    const equals = raw.indexOf('=')
    const name = decodeText(equals === -1 ? raw : raw.slice(0, equals))
    const value = equals === -1 ? '' : decodeText(raw.slice(equals + 1))
    parameters.push(name === undefined || value === undefined
      ? { raw, name: undefined }
      : { name, value, assigned: equals !== -1, raw })
  }
  return parameters
}

export function countParameters (search: string): number {
  return search.split('&').filter(raw => raw !== '').length
}

/** Undefined if the text is not valid percent-encoding. */
export function decodeText (text: string): string | undefined {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.includes('+') ? replacePlus(text) : text)
  } catch {
    return undefined
  }
}

// As bytes: a million of them in a text take a quarter of a second to replace.
function replacePlus (text: string): string {
  const bytes = Buffer.from(text)
  const [plus, space] = [0x2b, 0x20]
  for (let index = 0; index < bytes.length; index++) if (bytes[index] === plus) bytes[index] = space
  return bytes.toString()
}

export function readTextParameter (search: string, name: string): string | undefined {
  for (const parameter of splitQuery(search)) if (parameter.name === name) return parameter.value
  return undefined
}
