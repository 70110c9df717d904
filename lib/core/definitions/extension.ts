import type { Static, TObject, TProperties } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import type { Context, Facts, Lookups, Preparation } from '../family/context.js'
import type { AfterInitial, BeforeInitial } from '../family/creation.js'
import type {
  DerivedFields, EditDefinition, FamilyDefinition, FixedMember, OperationParams, Operations
} from '../family/definition.js'
import type { AnyTypes, FamilyTypes, Inferred, ItemOf, ItemsAtCreation, References } from '../family/types.js'
import { extendMembers } from './members.js'

// Members with types that depend on those of both.
type OwnMember = 'fields' | 'create' | 'initial' | 'derive' | 'prepare' | 'operations' | 'edit' | 'references'

/** `params` of `create`. */
type SentParams<Types extends FamilyTypes> = Types['sent'] extends TProperties ? Static<TObject<Types['sent']>> : {}

/** Additions to a family: fields, operations, and more of each list of its definition. */
export interface FamilyExtension<
  Fields extends TProperties, More extends TProperties, Params extends OperationParams, Edited extends string = string,
  Created extends string = string, Referred = any, With = any, Creates = any, Types extends FamilyTypes = AnyTypes,
  Derived extends string = string
> extends Partial<Omit<FamilyDefinition<Fields & NoInfer<More>>, FixedMember | OwnMember>> {
  readonly fields?: TObject<More>
  readonly create?: readonly Created[]
  /** Completes a new item after the family's `initial` did. */
  readonly initial?: Inferred<More, (
    item: Static<TObject<Fields>> & BeforeInitial<NoInfer<More>, Created>,
    context: Context<ItemsAtCreation<Fields, Types['with'], Types['references']>, {}>,
    params: SentParams<Types>
  ) => AfterInitial<Fields & NoInfer<More>, Derived>>
  readonly derive?: Inferred<More, DerivedFields<Fields & NoInfer<More>, Derived>>
  /** Called after that of the family; rules get the facts of both. */
  prepare? (asked: Preparation<ItemOf<Fields & NoInfer<More>>>, lookups: Lookups): Facts | Promise<Facts>
  readonly operations?:
  Operations<Fields & NoInfer<More>, Params, With, Creates, Types['references'] & NoInfer<Referred>>
  /** More fields that can be edited; its words and `allowed` replace those of the family. */
  readonly edit?: readonly Edited[] | EditDefinition<ItemOf<Fields & NoInfer<More>>, Edited>
  readonly references?: References<Fields & NoInfer<More>, Referred>
}

export type AnyExtension = FamilyExtension<TProperties, TProperties, OperationParams>

export function extendDefinition (base: FamilyDefinition, extension: AnyExtension): FamilyDefinition {
  return extendMembers(base, extension as Partial<FamilyDefinition>, flaw => {
    if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_EXTENSION(base.name, flaw)
  })
}
