import Negotiator from 'negotiator'
import { canShow } from '../representations/representation.js'
import type { Representation, View } from '../representations/representation.js'
import { Problem } from '../problems.js'

/** The representation to answer in, and the media type to say it by. */
export interface Choice {
  readonly representation: Representation
  readonly mediaType: string
}

export interface Wish {
  /** Of the path, as in `/customers.xml`. */
  readonly suffix?: string | undefined
  /** Of the query, as in `?format=xml`. */
  readonly format?: string | undefined
  readonly accept?: string | undefined
}

export interface Chooser {
  /** Path suffix, then format, then Accept; a problem where there is no such representation. */
  choose (kind: 'one' | 'page', wish: Wish): Choice
  /** The same for a problem, which is shown as JSON rather than not at all. */
  chooseForProblem (wish: Wish): Choice
}

// Clients repeat the same few Accept strings; parsing one takes longer than the rest of the choice. Those that are made up
// to fill the memory are neither few nor short.
const keptAtMost = 100
const longestKept = 500

export function makeChooser (representations: readonly Representation[]): Chooser {
  const able = { one: those('one'), page: those('page'), problem: those('problem') }
  const kept: Record<View['kind'], Map<string, Choice | undefined>> = { one: new Map(), page: new Map(), problem: new Map() }

  return {
    choose (kind, { suffix, format, accept }) {
      if (suffix !== undefined) {
        const found = able[kind].find(({ extension }) => extension === suffix)
        if (found === undefined) throw new Problem('not-found', `There is no representation ".${suffix}" here; there are ${list(able[kind], ({ extension }) => `.${extension}`)}`)
        return { representation: found, mediaType: found.mediaTypes[0] }
      }
      if (format !== undefined) {
        const found = able[kind].find(({ name }) => name === format)
        if (found !== undefined) return { representation: found, mediaType: found.mediaTypes[0] }
        const detail = `format must be one of ${list(able[kind], ({ name }) => name)}`
        throw new Problem('not-acceptable', detail, { errors: [{ parameter: 'format', detail }] })
      }
      const choice = byAccept(kind, accept)
      if (choice === undefined) throw new Problem('not-acceptable', `Nothing that Accept allows can be had here; there are ${list(able[kind], ({ mediaTypes }) => mediaTypes.join(', '))}`)
      return choice
    },

    chooseForProblem ({ suffix, format, accept }) {
      const asked = able.problem.find(({ extension }) => extension === suffix) ?? able.problem.find(({ name }) => name === format)
      if (asked !== undefined) return problemChoice(asked)
      return byAccept('problem', accept) ?? problemChoice(able.problem[0] as Representation)
    }
  }

  function those (kind: View['kind']): readonly Representation[] {
    return representations.filter(representation => canShow(representation, kind))
  }

  function byAccept (kind: View['kind'], accept: string | undefined): Choice | undefined {
    // An empty header says as little as none.
    const asked = accept === undefined || accept.trim() === '' ? '*/*' : accept
    const known = kept[kind]
    if (known.has(asked)) return known.get(asked)
    const types = typesOf(kind, able[kind])
    const [best] = new Negotiator({ headers: { accept: asked } }).mediaTypes(types.map(({ mediaType }) => mediaType))
    const found = types.find(({ mediaType }) => mediaType === best)
    const choice = found === undefined || kind !== 'problem' ? found : problemChoice(found.representation)
    if (known.size >= keptAtMost) known.clear()
    if (asked.length <= longestKept) known.set(asked, choice)
    return choice
  }
}

// Second names after the first of all: text/* means HTML, though text/xml is a name of XML. A client that asks for
// application/json means its problems too.
function typesOf (kind: View['kind'], able: readonly Representation[]): readonly Choice[] {
  const first = able.map(representation => ({ representation, mediaType: representation.mediaTypes[0] }))
  const others = able.flatMap(representation => {
    const { mediaTypes: [, ...aliases], problemType } = representation
    const types = kind === 'problem' && problemType !== undefined ? [...aliases, problemType] : aliases
    return types.map(mediaType => ({ representation, mediaType }))
  })
  return [...first, ...others]
}

function problemChoice (representation: Representation): Choice {
  return { representation, mediaType: representation.problemType ?? representation.mediaTypes[0] }
}

function list (representations: readonly Representation[], name: (representation: Representation) => string): string {
  return representations.map(name).join(', ')
}
