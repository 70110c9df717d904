import type { TObject, TProperties, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { readOrder } from '../query/cursor.js'
import { mayBeLong } from '../storage/shapes.js'
import type { FamilyShape, Field, Id, Order } from '../storage/storage.js'
import { addArticle } from '../values/article.js'
import { readId } from '../values/ids.js'
import type { Members } from '../values/json.js'
import type { MemberValidator, Validator } from '../values/validate.js'
import { makeMemberValidator, makeValidator } from '../values/validate.js'
import { findFlaw } from './checks.js'
import type { AttributeForm, FamilyDefinition, QueryDefinition } from './definition.js'
import { listOperations } from './edit.js'
import { listDefaults, listFields, ServiceFields } from './fields.js'
import { findFlawInKeys, readReferences, shapeKeys } from './keys.js'
import type { Context, NounOperation, Operation } from './operation.js'
import { nameAction } from './operation.js'
import { findFlawInOrder, listIndexes } from './order.js'
import type { CompiledOther } from './others.js'
import { compileOthers } from './others.js'
import type { Params } from './params.js'
import { compileParams } from './params.js'
import type { Presentation } from './presentation.js'
import { choosePresentation, findFlawInPresentation } from './presentation.js'

/** An operation with its parameters ready to be read. */
export interface CompiledOperation {
  readonly operation: Operation<Members>
  readonly params: Params
  /** What it needs besides its item. */
  readonly others: readonly CompiledOther[]
}

/** How items come to be and go. */
export interface Lifecycle {
  readonly createAction: string
  readonly deletion: { readonly operation: NounOperation, readonly params: Params }
  readonly params: Params
  /** The members that a new item has before the client's are put in. */
  readonly defaults: Members
  /** Completes a new item; may throw a problem. */
  readonly initial: ((item: Members, context: Context) => Members) | undefined
}

/** A definition, checked and worked out once for all its mounts. */
export interface Family {
  readonly name: string
  readonly singular: string
  /** What clients see of an item. */
  readonly schema: TObject
  readonly fields: readonly Field[]
  /** Without what the service adds. */
  readonly ownFields: readonly Field[]
  readonly members: readonly string[]
  /** Whether an item, or a command in a log, can be so long that not many fit on a page. */
  readonly hasLongItems: boolean
  readonly hasLongCommands: boolean
  readonly shape: FamilyShape
  /** How people see its items. */
  readonly presentation: Presentation
  /** The order where a client asks for none; by id where it is empty. */
  readonly order: readonly Order[]
  /** The families that fields refer to, by the fields. */
  readonly references: ReadonlyMap<string, Family>
  readonly writable: boolean
  readonly versioned: boolean
  readonly lifecycle: Lifecycle | undefined
  /** By action. */
  readonly operations: ReadonlyMap<string, CompiledOperation>
  /** That which changes fields plainly. */
  readonly edit: CompiledOperation | undefined
  readonly attributes: AttributeForm<Members> | undefined
  readonly queries: ReadonlyMap<string, QueryDefinition>
  readonly idKind: 'integer' | 'string'
  /** An id, without what the definition says of it. */
  readonly idSchema: TSchema
  readonly makeId: (() => Id) | undefined
  /** Checks the declared fields of an item. */
  readonly validate: Validator
  /** Checks one of them by itself. */
  readonly validateMember: MemberValidator
  /** The id as it stands in a path; undefined where no item can have it. */
  readId (text: string): Id | undefined
  /** The state of an item in a word. */
  readonly state: ((item: Members) => string) | undefined
}

/** Checks a definition; what is wrong with it is an error that says where. */
export function compileFamily (definition: FamilyDefinition): Family {
  const flaw = findFlaw(definition)
  // Of what is no definition at all there is no name either.
  const given = definition as FamilyDefinition | undefined
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_DEFINITION(given?.name, flaw)
  const { name, singular, queries = {}, create, attributes, state, order: terms = [] } = definition

  const { properties } = definition.fields
  const operations = compileOperations(definition)
  // Only what can be written has revisions worth showing.
  const writable = create !== undefined || operations.size > 0
  const schema = Type.Object(writable ? { ...properties, ...ServiceFields.properties } : properties)
  const fields = listFields(schema)
  const ownFields = listFields(definition.fields)
  const flawInUse = findFlawInOrder(fields, terms) ?? findFlawInPresentation(fields, definition) ??
    findFlawInKeys(ownFields, definition)
  if (flawInUse !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_DEFINITION(name, flawInUse)
  const order = terms.map(readOrder)
  const hasLongItems = mayBeLong(ownFields)
  const idKind = properties.id?.type as 'integer' | 'string'

  const referred = new Map<string, Family>()
  const family: Family = {
    name,
    singular,
    schema,
    fields,
    ownFields,
    members: fields.map(field => field.name),
    hasLongItems,
    // The command that created an item may hold all of it.
    hasLongCommands: hasLongItems || [...operations.values()].some(({ operation }) =>
      mayBeLong(listFields(operation.params))),
    shape: {
      name,
      fields: [...ownFields, ...listFields(ServiceFields)],
      indexes: listIndexes(ownFields, order),
      creates: create !== undefined,
      ...shapeKeys(definition)
    },
    presentation: choosePresentation(fields, definition),
    order,
    references: referred,
    writable,
    versioned: definition.versioned ?? false,
    lifecycle: create === undefined ? undefined : compileLifecycle(definition, create),
    operations,
    edit: [...operations.values()].find(({ params }) => params.isPartial),
    attributes: attributes as AttributeForm<Members> | undefined,
    queries: new Map([[name, { field: 'id' }], ...Object.entries(queries)]),
    idKind,
    idSchema: idKind === 'integer' ? Type.Integer() : Type.String(),
    makeId: definition.makeId,
    validate: makeValidator(Type.Object(properties, { additionalProperties: false })),
    validateMember: makeMemberValidator(definition.fields),
    readId: text => readId(idKind, text),
    state: state as ((item: Members) => string) | undefined
  }
  for (const [field, other] of readReferences(definition)) referred.set(field, other ?? family)
  return family
}

function compileOperations (definition: FamilyDefinition): Map<string, CompiledOperation> {
  const operations = Object.values(listOperations(definition))
  return new Map(operations.map(operation => {
    const isEdit = definition.edit !== undefined && operation.name === 'edit'
    const others = compileOthers(definition.name, operation)
    return [operation.action, { operation, params: compileParams(operation.params, isEdit), others }]
  }))
}

function compileLifecycle (
  { singular, fields: { properties }, initial }: FamilyDefinition,
  create: readonly string[]
): Lifecycle {
  const sent: TProperties = {}
  for (const [name, property] of Object.entries(properties)) {
    // What has a default need not be sent.
    if (create.includes(name)) sent[name] = property.default === undefined ? property : Type.Optional(property)
  }
  return {
    createAction: nameAction('Create', singular),
    deletion: {
      operation: {
        name: 'delete',
        noun: 'deletions',
        action: nameAction('Delete', singular),
        summary: `Delete ${addArticle(singular)}`,
        danger: true,
        final: true
      },
      params: compileParams(Type.Object({}))
    },
    params: compileParams(Type.Object(sent)),
    defaults: listDefaults(properties),
    initial: initial as Lifecycle['initial']
  }
}
