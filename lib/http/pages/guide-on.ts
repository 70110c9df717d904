import type { Problem } from '../../core/problems.js'
import type { ProblemView } from '../../representations/representation.js'
import type { Exchange } from '../mount.js'
import { findWayOn } from './site.js'
import { readWrongState } from './wrong-state.js'

/** What people are told of a problem besides, and where they can go from it. */
export function guideOn (
  exchange: Pick<Exchange, 'mount' | 'request'>,
  problem: Problem
): Pick<ProblemView, 'onward' | 'wrongState'> {
  return { onward: findWayOn(exchange), wrongState: readWrongState(exchange.mount.family, problem) }
}
