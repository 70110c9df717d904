import { readTextParameter } from '../../core/query/query-string.js'
import { isTextId } from '../../core/values/ids.js'
import type { Representation } from '../../representations/representation.js'

// No field can be named so.
const parameter = '_command'

/** The address of a page that tells what became of a command, out of the log. */
export function addFeedback (url: string, command: string | undefined): string {
  return command === undefined ? url : `${url}?${parameter}=${encodeURIComponent(command)}`
}

/** The query of a page, and apart from it the command of which the page is to tell; of programs nothing is taken. */
export function splitFeedback (
  search: string,
  { interactive }: Representation
): { readonly rest: string, readonly command?: string } {
  if (interactive !== true || !search.includes(parameter)) return { rest: search }
  const command = readTextParameter(search, parameter)
  const rest = search.split('&').filter(part => !part.startsWith(`${parameter}=`)).join('&')
  return { rest, ...(command !== undefined && isTextId(command) ? { command } : {}) }
}
