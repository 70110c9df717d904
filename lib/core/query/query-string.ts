/** One parameter of a query string: decoded, and as it was sent. */
export interface Parameter {
  readonly name: string
  readonly value: string
  /** Whether an equals sign stood between name and value. */
  readonly assigned: boolean
  readonly raw: string
}

/** How many parameters a query may have. */
export const maxParameters = 100

/**
 * Splits a query string; a part that is not valid percent-encoding has no name. Of a query that has too many, it is one
 * more than there may be: to decode what is wrong takes time.
 */
export function splitQuery (search: string): (Parameter | { readonly raw: string, readonly name: undefined })[] {
  if (search === '') return []
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

/** How many parameters a query has, whether they are well-formed or not. */
export function countParameters (search: string): number {
  return search.split('&').filter(raw => raw !== '').length
}

/** A name or a value of a query, or of a form; undefined where it is not valid percent-encoding. */
export function decodeText (text: string): string | undefined {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/** Reads one parameter only, where the others do not matter. */
export function readTextParameter (search: string, name: string): string | undefined {
  for (const parameter of splitQuery(search)) if (parameter.name === name) return parameter.value
  return undefined
}
