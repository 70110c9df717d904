import type { RE2JS } from 're2js'
import { RE2Set } from 're2js'

/** The automaton of re2js, which is made as texts need it and kept with the pattern. */
type Automaton = ReturnType<RE2JS['re2']>['dfa']

/** One of its states. */
interface State {
  readonly isMatch: boolean
  /** Where each kind of character leads, as far as it is known. */
  readonly next: readonly (State | null)[] | null
}

// What a new state costs for each instruction of the pattern; to follow a known one costs 1.
const costOfState = 4
// The text begins here: all that the automaton asks of it.
const beginning = { context: () => 4 }
const end = -1

/**
 * Looks for a match as the engine does where it can, but pauses after so much work: the engine itself cannot be held on
 * the way. Undefined where the automaton needs ever new states, and so is of no use.
 */
export function * runAutomaton (
  automaton: Automaton,
  size: number,
  text: string,
  pause: number
): Generator<void, boolean | undefined> {
  const search = { resetPos: -1 }
  let state = automaton.start(beginning, 0) as State | null
  let work = 0
  for (let at = 0; state !== null;) {
    const rune = text.codePointAt(at) ?? end
    const kind = rune === end ? automaton.numClasses : automaton.runeClass(rune)
    const known: State | null | undefined = state.next?.[kind]
    if (known === null || known === undefined) {
      state = automaton.stepOrReset(state, kind, rune, RE2Set.UNANCHORED, at, search) as State | null
      work += costOfState * size
    } else {
      state = known
      work++
    }
    if (state?.isMatch === true) return true
    if (rune === end) return state === null ? undefined : false
    at += rune > 0xffff ? 2 : 1
    if (work < pause) continue
    work = 0
    yield
  }
  return undefined
}
