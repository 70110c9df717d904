// How each contender is asked, and what its answers say: the same questions, in the URLs of each.
import { scenarios } from './scenarios.js'

const dialects = {}

/** Of a name such as ours-sqlite@other, the function that makes the n-th request. */
export function requestOf (contender, scenario) {
  return dialects[contender]?.requests[scenario] ?? scenarios[scenario].request
}

/** The customers in an answer to a page. */
export function itemsOf (contender, answer) {
  return dialects[contender]?.items(answer) ?? answer.items
}
