import type { CompiledOperation } from '../family/family.js'
import type { NounOperation } from '../family/operation.js'
import type { Params } from '../family/params.js'
import type { Exchange } from '../mount/mount.js'
import { Problem } from '../problems.js'
import type { UnavailableOperation } from '../representations/item-view.js'
import { explainForbidden } from '../service/refusal.js'
import type { Stored } from '../storage/storage.js'
import { isText } from './form-fields.js'
import { mayOffer } from './may-offer.js'

/** What the caller may do with an item, as far as its state allows it now. */
export interface Offers {
  readonly operations: readonly CompiledOperation[]
  readonly unavailable: readonly UnavailableOperation[]
  readonly deletion: { readonly operation: NounOperation, readonly params: Params } | undefined
}

/** Says which operations a page offers, and which of the others it explains. */
export async function judgeOperations (exchange: Exchange, item: Stored): Promise<Offers> {
  const { mount: { family: { operations, lifecycle }, forms } } = exchange
  // The forms of a page are sent to the nouns.
  if (!forms.has('noun')) return { operations: [], unavailable: [], deletion: undefined }
  const known = [...operations.values()].filter(({ params }) => !params.isPartial || params.fields.some(isText))
  const verdicts = known.map(compiled => ({ compiled, reason: explain(exchange, compiled, item) }))
    .filter(({ reason }) => reason !== null)
  const mayDo = async ({ action }: NounOperation) => await mayOffer(exchange, action, item)
  const offers = await Promise.all(verdicts.map(async ({ compiled }) => await mayDo(compiled.operation)))
  const offered = verdicts.filter((_, index) => offers[index])
  const deletion = lifecycle?.deletion
  return {
    operations: offered.filter(({ reason }) => reason === undefined).map(({ compiled }) => compiled),
    unavailable: offered.flatMap(({ compiled: { operation: { name } }, reason }) =>
      typeof reason === 'string' ? [{ name, reason }] : []),
    deletion: deletion !== undefined && await mayDo(deletion.operation) ? deletion : undefined
  }
}

/** Why the state does not allow it; null where `allowed` throws, which means no and tells nothing. */
function explain (
  { request }: Exchange,
  { operation }: CompiledOperation,
  item: Stored
): string | undefined | null {
  try {
    return explainForbidden(operation, item)
  } catch (error) {
    if (!(error instanceof Problem)) {
      request.log.error({ err: error, action: operation.action }, 'allowed failed for what a page offers')
    }
    return null
  }
}
