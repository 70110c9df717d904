import type { Static, TObject } from '@sinclair/typebox'
import type { Context, ItemAndOthers, Operation } from '../core/family/operation.js'
import type { Deal } from './fields.js'

/**
 * Declares an operation. The item is a deal unless the functions say otherwise.
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

/** As `Operation`, but `apply` may add fields that the family will have. */
export interface OpenOperation<I, T extends TObject> extends Omit<Operation<I, T>, 'allowed' | 'apply'> {
  allowed? (item: I, params?: Static<T>, context?: Context): boolean | string
  apply (item: I, params: Static<T>, context: Context): Opened<I> | ItemAndOthers<Opened<I>>
}

type Opened<I> = I | (I & { readonly [field: string]: unknown })

/** An operation for every item that has the fields of `I`: what else an item has, it leaves as it is. */
export interface DefinedOperation<I, T extends TObject> extends Omit<Operation<I, T>, 'allowed' | 'apply'> {
  allowed? (item: I, params?: Static<T>, context?: Context): boolean | string
  apply<J extends I> (item: J, params: Static<T>, context: Context): J | ItemAndOthers<J>
}
