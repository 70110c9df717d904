import type { TObject } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { DefinedOperation, ItemOf, OpenOperation } from '../core/family/definition.js'

/** A name, a reason: text that people write. */
export const text = (description: string, maxLength: number, ...examples: string[]) =>
  Type.String({ minLength: 1, maxLength, description, ...(examples.length === 0 ? {} : { examples }) })

/** An amount of money. */
export const amount = (description: string, ...examples: number[]) =>
  Type.Number({ minimum: 0, description, ...(examples.length === 0 ? {} : { examples }) })

export const dealFields = Type.Object({
  id: Type.String({ description: 'The id of the deal', examples: ['01890a5d-ac96-774b-bcce-b302099a8057'] }),
  name: text('What the deal is called', 1000, 'Supply contract'),
  price: amount('The price agreed on', 1200),
  held: Type.Boolean({ default: false, description: 'Whether the deal is held' }),
  holdReason: Type.Optional(text('Why the deal is held', 4000)),
  status: Type.Union([Type.Literal('open'), Type.Literal('completed'), Type.Literal('cancelled')], {
    default: 'open',
    description: 'Where the deal stands'
  }),
  completionDate: Type.Optional(Type.String({
    format: 'date',
    description: 'The day on which the deal is to be completed',
    examples: ['2030-03-31']
  })),
  amercement: Type.Optional(amount('What was charged for cancelling or for a change of the completion date'))
})

/** A deal as it is stored and shown. */
export type Deal = ItemOf<typeof dealFields.properties>

/**
 * Declares an operation. The item is a deal unless the type parameter, or the type of an argument, says otherwise.
 *
 * @example
 * const approve = defineOperation({
 *   name: 'approve', verb: 'approve', participle: 'approved', noun: 'approvals', action: 'ApproveDeal',
 *   params: Type.Object({ by: Type.String({ minLength: 1 }) }),
 *   allowed: deal => deal.status === 'open' && !deal.held,
 *   apply: (deal, { by }) => ({ ...deal, approvedBy: by })
 * })
 */
export function defineOperation<T extends TObject, I extends object = Deal> (
  operation: OpenOperation<I, T>
): DefinedOperation<I, T> {
  return operation as DefinedOperation<I, T>
}
