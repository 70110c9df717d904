import type { Static, TObject, TProperties } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import type {
  Context, EditDefinition, Facts, FamilyDefinition, FixedMember, Lookups, OperationParams, Operations, Preparation
} from './definition.js'
import { extendMembers } from './members.js'
import type { AnyTypes, FamilyTypes, Inferred, ItemOf, ItemsAtCreation, References } from './types.js'

// Members with types that depend on those of both.
type OwnMember = 'fields' | 'create' | 'initial' | 'prepare' | 'operations' | 'edit' | 'references'

/** Additions to a family: fields, operations, and more of each list of its definition. */
export interface FamilyExtension<
  P extends TProperties, X extends TProperties, O extends OperationParams, F extends string = string,
  C extends string = string, V = any, W = any, N = any, M extends FamilyTypes = AnyTypes
> extends Partial<Omit<FamilyDefinition<P & NoInfer<X>>, FixedMember | OwnMember>> {
  readonly fields?: TObject<X>
  readonly create?: readonly C[]
  /** Completes a new item after the family's `initial` did. */
  readonly initial?: Inferred<X, (
    item: Static<TObject<P & NoInfer<X>>>,
    context: Context<ItemsAtCreation<P, M['with'], M['references']>, {}>
  ) => Static<TObject<P & NoInfer<X>>>>
  /** Called after that of the family; rules get the facts of both. */
  prepare? (asked: Preparation<ItemOf<P & NoInfer<X>>>, lookups: Lookups): Facts | Promise<Facts>
  readonly operations?: Operations<P & NoInfer<X>, O, W, N, M['references'] & NoInfer<V>>
  /** More fields that can be edited; its words and `allowed` replace those of the family. */
  readonly edit?: readonly F[] | EditDefinition<ItemOf<P & NoInfer<X>>, F>
  readonly references?: References<P & NoInfer<X>, V>
}

export type AnyExtension = FamilyExtension<TProperties, TProperties, OperationParams>

export function extendDefinition (base: FamilyDefinition, extension: AnyExtension): FamilyDefinition {
  return extendMembers(base, extension as Partial<FamilyDefinition>, flaw => {
    if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_EXTENSION(base.name, flaw)
  })
}
