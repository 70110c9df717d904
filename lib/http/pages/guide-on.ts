import type { Problem } from '../../core/problems.js'
import type { ProblemView } from '../../representations/representation.js'
import type { Exchange } from '../mount.js'
import { findWayOn } from './site.js'
import { readWrongState } from './wrong-state.js'

/** What a page shows of a problem besides its document, and where it leads. */
export function guideOn (
  exchange: Pick<Exchange, 'mount' | 'request'>,
  { code, message, members }: Problem
): Pick<ProblemView, 'onward' | 'wrongState'> {
  return { onward: findWayOn(exchange), wrongState: readWrongState(exchange.mount.family, code, message, members) }
}
