import Negotiator from 'negotiator'
import { canShow } from '../representations/representation.js'
import type { Representation, View } from '../representations/representation.js'
import { Problem } from './problems.js'

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

// Clients repeat the same few Accept strings; parsing one takes longer than the rest of the choice.
const keptAtMost = 100

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
      const asked = able.problem.find(({ name, extension }) => suffix === undefined ? name === format : extension === suffix)
      if (asked !== undefined) return problemChoice(asked)
      return byAccept('problem', accept) ?? problemChoice(able.problem[0] as Representation)
    }
  }

  function those (kind: View['kind']): readonly Representation[] {
    return representations.filter(representation => canShow(representation, kind))
  }

  function byAccept (kind: View['kind'], accept = '*/*'): Choice | undefined {
    const known = kept[kind]
    if (known.has(accept)) return known.get(accept)
    const types = able[kind].flatMap(representation => typesOf(kind, representation).map(mediaType => ({ representation, mediaType })))
    const [best] = new Negotiator({ headers: { accept } }).mediaTypes(types.map(({ mediaType }) => mediaType))
    const found = types.find(({ mediaType }) => mediaType === best)
    const choice = found === undefined || kind !== 'problem' ? found : problemChoice(found.representation)
    if (known.size >= keptAtMost) known.clear()
    known.set(accept, choice)
    return choice
  }
}

// A client that asks for application/json means its problems too.
function typesOf (kind: View['kind'], { mediaTypes, problemType }: Representation): readonly string[] {
  return kind === 'problem' && problemType !== undefined ? [...mediaTypes, problemType] : mediaTypes
}

function problemChoice (representation: Representation): Choice {
  return { representation, mediaType: representation.problemType ?? representation.mediaTypes[0] }
}

function list (representations: readonly Representation[], name: (representation: Representation) => string): string {
  return representations.map(name).join(', ')
}
