import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { BoundedCache } from '../core/cache.js'
import { Problem } from '../core/problems.js'
import { shorten } from '../core/values/words.js'
import { canShow, type Representation, type View } from '../representations/representation.js'

export interface Choice {
  readonly representation: Representation
  readonly mediaType: string
}

export interface RequestedFormat {
  /** Of the path, as in `/customers.xml`. */
  readonly suffix?: string | undefined
  /** Of the query, as in `?format=xml`. */
  readonly format?: string | undefined
  readonly accept?: string | undefined
}

export type Chooser = ReturnType<typeof makeChooser>

export function makeChooser (representations: readonly Representation[]) {
  const able = { one: prepare('one'), page: prepare('page'), problem: prepare('problem') }

  return {
    find,

    choose (kind: 'one' | 'page', requested: RequestedFormat): Choice {
      const choice = find(kind, requested)
      if (choice instanceof Problem) throw choice
      return choice
    },

    /** Never fails: a problem is shown as JSON rather than not at all. */
    chooseForProblem ({ suffix, format, accept }: RequestedFormat): Choice {
      const { list, byAccept } = able.problem
      const asked = list.find(({ extension }) => extension === suffix) ?? list.find(({ name }) => name === format)
      const choice = asked === undefined ? byAccept(accept) : undefined
      return choice ?? chooseProblemType(asked ?? list[0] as Representation)
    }
  }

  /** By path suffix, then `format`, then Accept; a problem if nothing fits. */
  function find (kind: 'one' | 'page', { suffix, format, accept }: RequestedFormat): Choice | Problem {
    const { list, byAccept } = able[kind]
    if (suffix === undefined && format === undefined) {
      const choice = byAccept(accept)
      if (choice !== undefined) return choice
      const types = list.map(({ mediaTypes }) => mediaTypes.join(', ')).join(', ')
      return new Problem('not-acceptable', `None of the types in Accept is available; available types: ${types}`)
    }
    const found = list.find(({ name, extension }) => suffix === undefined ? name === format : extension === suffix)
    if (found !== undefined) return { representation: found, mediaType: found.mediaTypes[0] }
    if (suffix !== undefined) {
      const known = list.map(({ extension }) => `.${extension}`).join(', ')
      return new Problem('not-found', `There is no representation ".${shorten(suffix)}"; available: ${known}`)
    }
    const detail = `format must be one of ${list.map(({ name }) => name).join(', ')}`
    return new Problem('not-acceptable', detail, { errors: [{ parameter: 'format', detail }] })
  }

  function prepare (kind: View['kind']) {
    const list = representations.filter(representation => canShow(representation, kind))
    const negotiate = (accept: string): Choice | undefined => {
      const types = listTypes(kind, list)
      const [best] = new Negotiator({ headers: { accept } }).mediaTypes(types.map(({ mediaType }) => mediaType))
      const found = types.find(({ mediaType }) => mediaType === best)
      return found === undefined || kind !== 'problem' ? found : chooseProblemType(found.representation)
    }
    const usual = negotiate('*/*')
    // Clients repeat the same few Accept strings; parsing one takes longer than the rest of the choice.
    const kept = new BoundedCache<Choice | undefined>(100, 500)
    const byAccept = (accept = ''): Choice | undefined =>
      // An empty header means the same as none.
      accept === '*/*' || accept.trim() === '' ? usual : kept.get(cutAccept(accept), negotiate)
    return { list, byAccept }
  }
}

// Longer than any useful header; each range is compared with every type.
const maxAccept = 1000

function cutAccept (accept: string): string {
  return accept.length <= maxAccept ? accept : accept.slice(0, Math.max(0, accept.lastIndexOf(',', maxAccept)))
}

// Aliases come last: text/* means HTML, though text/xml is an alias of XML. application/json includes its problems.
function listTypes (kind: View['kind'], list: readonly Representation[]): readonly Choice[] {
  const first = list.map(representation => ({ representation, mediaType: representation.mediaTypes[0] }))
  const others = list.flatMap(representation => {
    const { mediaTypes: [, ...aliases], problemType } = representation
    const types = kind === 'problem' && problemType !== undefined ? [...aliases, problemType] : aliases
    return types.map(mediaType => ({ representation, mediaType }))
  })
  return [...first, ...others]
}

function chooseProblemType (representation: Representation): Choice {
  return { representation, mediaType: representation.problemType ?? representation.mediaTypes[0] }
}

interface Described {
  readonly consumes?: readonly string[]
}

const onlyJson = ['application/json']
export const queryTypes = ['application/x-www-form-urlencoded', 'application/json']

// RFC 5789, 3.1; Linked Data Platform, 7.1; RFC 9110, 12.5.1; RFC 10008, 3.
const headers: Readonly<Record<string, string>> =
  { PATCH: 'accept-patch', POST: 'accept-post', QUERY: 'accept-query' }

/** The Accept-Patch, Accept-Post and Accept-Query headers of these endpoints. */
export function listAccepted (
  endpoints: readonly (Described & { readonly method: string, readonly isList?: boolean })[]
): Record<string, string> {
  return Object.fromEntries(endpoints.flatMap(({ method, consumes = onlyJson, isList }) => {
    if (isList === true) return [['accept-query', queryTypes.join(', ')]]
    const header = headers[method]
    return header === undefined ? [] : [[header, consumes.join(', ')]]
  }))
}

export function explainMediaType (problem: Problem, { method, headers: sent, routeOptions }: FastifyRequest): Problem {
  const { consumes = onlyJson } = (routeOptions.schema ?? {}) as Described
  const given = sent['content-type']
  const what = given === undefined ? 'A body without a Content-Type' : `A body of the type "${shorten(given)}"`
  const isOurs = problem.cause === undefined
  const detail = isOurs ? problem.message : `${what} is not supported here; send ${consumes.join(' or ')}`
  return new Problem(problem.code, detail, { headers: { [headers[method] ?? 'accept']: consumes.join(', ') } })
}
