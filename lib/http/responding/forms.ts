import type { TObject, TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { listActions } from '../../core/book/offers.js'
import { prefillOperation } from '../../core/book/prefill.js'
import { errorCodes } from '../../core/errors.js'
import type { Family } from '../../core/family/family.js'
import { declaresNull, withoutNull } from '../../core/family/fields.js'
import { findPathSchema } from '../../core/family/paths.js'
import { explainInState, type StateReason } from '../../core/service/refusal.js'
import type { Field, Stored } from '../../core/storage/storage.js'
import { makeExample } from '../../core/values/example.js'
import type { Members } from '../../core/values/json.js'
import type { FamilyMount, SentForm } from '../../representations/target.js'
import { canEnter, findNested, readFormEntries } from '../form-values.js'
import { mountOf } from '../mount.js'

/** How a form sends a parameter of an action, or what a field of items has. */
export interface FormInput extends Field {
  /** The `title` of its schema: its name for people, unless `labels` have another. */
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly minLength: number
  /** Whether it can be null, also if it is optional. */
  readonly takesNull: boolean
  /** The value that it has unless another is sent. */
  readonly initial?: unknown
  /** Whether a form can send it. */
  readonly canEnter: boolean
  /**
   * If it is not a single text: a list as the lines of one input, rows of a list as `name.0.part`, and an object as
   * `name.part`.
   */
  readonly parts?: { readonly shape: 'lines' | 'rows' | 'group', readonly inputs: readonly FormInput[] } | undefined
}

/** The form of an action: of an operation, a creation or a deletion. */
export interface FormModel {
  readonly inputs: readonly FormInput[]
  /** The families whose items inputs name by their ids, by the names of the inputs, or paths in them. */
  readonly references: Readonly<Record<string, string>>
  /** The `summary` of the definition. */
  readonly summary: string | undefined
}

// By action.
const models = new WeakMap<Family, Map<string, FormModel>>()

/**
 * The form of an action, such as `HoldDeal`. `readFormParams` reads what was entered.
 *
 * @example
 * describeForm(mount, 'HoldDeal').inputs.map(({ name, kind }) => `<label>${name} <input name="${name}"></label>`)
 */
export function describeForm (mount: FamilyMount, action: string): FormModel {
  const { family } = mountOf(mount)
  const known = models.get(family) ?? new Map<string, FormModel>()
  models.set(family, known)
  const model = known.get(action) ?? makeModel(family, action)
  known.set(action, model)
  return model
}

// By family.
const itemInputs = new WeakMap<Family, readonly FormInput[]>()

/**
 * The fields of the items of a mount as forms have them: with their titles and, of lists and objects, their parts.
 *
 * @example
 * describeItem(mount).find(({ name }) => name === 'lines')?.parts?.inputs.map(({ name, kind }) => `${name}: ${kind}`)
 */
export function describeItem (mount: FamilyMount): readonly FormInput[] {
  const { family } = mountOf(mount)
  const known = itemInputs.get(family)
  if (known !== undefined) return known
  const { fields, schema } = family
  const inputs = fields.map(field => makeInput(field, schema.properties[field.name] as TSchema))
  itemInputs.set(family, inputs)
  return inputs
}

function findFormAction (family: Family, action: string) {
  const { params, target } = listActions(family).find(each => each.action === action) ?? {}
  if (params === undefined) throw new errorCodes.FST_DEALBOOK_UNKNOWN_OPERATION(family.name, action, '')
  return { params, target, others: target === undefined ? family.lifecycle?.others : target.others }
}

function makeModel (family: Family, action: string): FormModel {
  const { params: { schema, fields, defaults }, target, others } = findFormAction(family, action)
  // A parameter named like an entry of `with`, or like a field that refers to items, does so too.
  const named = (others ?? []).filter(({ field }) => field === undefined)
    .map(({ name, parameter = name, family: other = family }) => [parameter, other.name] as const)
  const referred = [...family.references, ...family.pathReferences].map(([name, other]) => [name, other.name] as const)
  return {
    inputs: fields.map(field => makeInput(field, schema.properties[field.name] as TSchema, defaults[field.name])),
    references: Object.fromEntries([...listReferencesOfNew(family, action, schema), ...named, ...referred]),
    summary: target?.operation.summary
  }
}

/** Rows that are named like an entry of `creates` refer to items as the new ones will. */
function listReferencesOfNew (
  { operations, lifecycle }: Family, action: string, schema: TObject
): (readonly [path: string, family: string])[] {
  const creation = action === lifecycle?.createAction ? lifecycle : undefined
  const { creates = [] } = operations.get(action) ?? creation ?? {}
  return creates.flatMap(({ name, family: { references } }) =>
    Array.from(references, ([field, other]) => [`${name}.${field}`, other.name] as const)
      .filter(([path]) => findPathSchema(schema, path) !== undefined))
}

function makeInput (field: Field, schema: TSchema, initial?: unknown): FormInput {
  const { title, description, maxLength, minLength = 0 } = withoutNull(schema)
  const { maxLength: _stored, ...own } = field
  const nested = field.kind === 'json' ? findNested(schema) : undefined
  const inputs = nested === undefined
    ? []
    : nested.fields.map(each =>
      makeInput(each, (nested.shape === 'lines' ? schema : nested.schema.properties[each.name]) as TSchema))
  return {
    ...own,
    ...maxLength !== undefined && { maxLength },
    ...title !== undefined && { title },
    description,
    minLength,
    takesNull: declaresNull(schema),
    initial,
    canEnter: canEnter(field, schema),
    parts: nested && { shape: nested.shape, inputs }
  }
}

/**
 * The parameters of an action from the entries of a form. Throws the problem that names what is wrong.
 *
 * @param entries instead of those that were sent, such as after a look-up
 */
export function readFormParams (
  mount: FamilyMount, action: string, form: SentForm, entries: ReadonlyMap<string, string> = form.entries
): Members {
  const { zone, language, key } = form
  const { params } = findFormAction(mountOf(mount).family, action)
  return readFormEntries(params, entries, { zone, language, isOwn: key !== undefined })
}

/**
 * What the form of an operation starts with: the fields that its parameters are named and typed like, and what its
 * `prefill` returns; nothing if that fails, which is logged.
 *
 * @param item as the caller may see it
 */
export function prefillParams (
  { mount, request }: { readonly mount: FamilyMount, readonly request: FastifyRequest }, action: string, item: Stored
): Members {
  const { family } = mountOf(mount)
  try {
    return prefillOperation(family, action, item)
  } catch (error) {
    request.log.error({ err: error, action }, 'prefill failed for the form of an operation')
    return {}
  }
}

/** Valid parameters of an action: those of an item that it edits, otherwise examples; undefined if none are known. */
export function makeSampleParams (mount: FamilyMount, action: string, item?: Members): Members | undefined {
  const { params: { schema, fields, isPartial, read } } = findFormAction(mountOf(mount).family, action)
  const sent = fields.filter(({ kind, optional }) => isPartial ? kind !== 'json' : !optional)
  const sample = read(Object.fromEntries(sent.map(({ name }) =>
    [name, isPartial ? item?.[name] : makeExample(schema.properties[name] as TSchema)])))
  return 'flaws' in sample ? undefined : sample.params
}

/** What a refusal says as data, if only the state is the reason: to say it in other words. */
export function findStateReason (
  mount: FamilyMount,
  { code, detail, members }: { readonly code: string, readonly detail: string, readonly members: Members }
): StateReason | undefined {
  if (code !== 'wrong-state' || !Array.isArray(members['allowed'])) return undefined
  const reason = members as unknown as StateReason
  return detail === explainInState(mountOf(mount).family, reason) ? reason : undefined
}
