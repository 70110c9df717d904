import type { TSchema } from '@sinclair/typebox'
import type { Family } from '../../core/family/family.js'
import { declaresNull, withoutNull } from '../../core/family/fields.js'
import type { Params } from '../../core/family/params.js'
import type { Flaw, Problem } from '../../core/problems.js'
import { isOrdered } from '../../core/query/filters.js'
import type { Field, Stored } from '../../core/storage/storage.js'
import { makeExample } from '../../core/values/example.js'
import { measureAll, type Members } from '../../core/values/json.js'
import type { FormAffordance, FormField, Refusal, SampleRequest } from '../../representations/affordances.js'
import type { Mount } from '../mount.js'
import { readWrongState } from './log-entries.js'
import type { OperationAddress } from './offers.js'

/** A form that was sent and refused, or the filters of a list that were. */
export interface RefusedForm {
  /** Where it was sent; undefined where it was the query of a list. */
  readonly action: string | undefined
  readonly entered: ReadonlyMap<string, string>
  readonly problem: Problem
}

/** What was entered in a form, and what was wrong with it. */
type Entered = Pick<RefusedForm, 'entered'> & Partial<Pick<RefusedForm, 'problem'>>

/**
 * A form that sends parameters, with what was entered in it before.
 *
 * @param item what it is filled in with, where it changes members of it
 */
export function makeForm (
  form: Omit<FormAffordance, 'fields' | 'isRefused'>,
  { schema, fields }: Params,
  refused: RefusedForm | undefined,
  item?: Members
): FormAffordance {
  const sent = refused?.action === form.action ? refused : undefined
  const shown = item === undefined ? fields : fields.filter(isText)
  return {
    ...form,
    fields: shown.map(field => makeField(field, schema.properties[field.name] as TSchema, sent, item)),
    isRefused: sent !== undefined
  }
}

function makeField (
  { name, kind, values, optional, nullable = false }: Field,
  schema: TSchema,
  sent: Entered | undefined,
  item: Members | undefined
): FormField {
  const { description, minimum, maxLength, minLength = 0 } = withoutNull(schema)
  const was = item && String(item[name] ?? '')
  const takesEmpty = kind === 'string' && values === undefined && minLength === 0
  // A field may have become stricter since the item was stored.
  const isListed = values === undefined || was === undefined || was === '' || values.includes(was)
  return {
    name,
    label: name,
    kind,
    description,
    minimum,
    maxLength,
    values: isListed ? values : [...values, was],
    // A field that is left empty is null, where it may be.
    required: was === undefined ? !optional && !nullable : was !== '' && !takesEmpty && !declaresNull(schema),
    value: sent?.entered.get(name) ?? was,
    was,
    error: findError(sent, name)
  }
}

/** Whether the value of a field can be entered as text. */
export function isText ({ kind }: Field): boolean {
  return kind !== 'json'
}

/** The fields to filter by: one choice for what has few values, bounds for what has an order, a part of it for text. */
export function makeFilterFields (fields: readonly Field[], sent: Entered): FormField[] {
  return fields.filter(isText).flatMap(field => listFilterInputs(field).map(([name, bound]) => ({
    name,
    label: field.name,
    bound,
    // A moment is filtered by its day.
    kind: field.kind === 'date-time' ? 'date' : field.kind,
    required: false,
    values: field.values,
    value: sent.entered.get(name),
    error: findError(sent, name)
  })))
}

function listFilterInputs (field: Field): (readonly [name: string, bound?: FormField['bound']])[] {
  const { name, kind } = field
  if (!isOrdered(field)) return [[name]]
  // People do not know a part of an id by heart.
  if (kind === 'string') return name === 'id' ? [] : [[`${name}.has`, 'has']]
  return [[`min-${name}`, 'from'], [`max-${name}`, 'to']]
}

function findError (sent: Entered | undefined, name: string): string | undefined {
  const isHere = (flaw: Flaw) => 'pointer' in flaw ? flaw.pointer === `/${name}` : flaw.parameter === name
  const error = sent?.problem?.errors?.find(isHere)?.detail
  // The label has the name already.
  return error?.startsWith(`${name} `) === true ? error.slice(name.length + 1) : error
}

/** Why a form was refused. @param isShown whether the page still has the form, with what was entered */
export function explainRefusal (family: Family, { problem, entered }: RefusedForm, isShown: boolean): Refusal {
  return {
    problem: problem.document(),
    wrongState: readWrongState(family, problem.code, problem.message, problem.members),
    entered: isShown ? [] : [...entered]
  }
}

// Longer requests are not for copying from a page.
const maxSample = 5000

/**
 * The request that does what the button of a form does: with the values of the item where it is edited, else with
 * examples. Undefined where no valid ones are found.
 */
export function makeSampleRequest (
  { preconditions }: Mount,
  { method, href: url }: OperationAddress,
  { schema, fields, isPartial, read }: Params,
  item?: Stored
): SampleRequest | undefined {
  const isSent = isPartial ? isText : ({ optional }: Field) => !optional
  const sample = read(Object.fromEntries(fields.filter(isSent).map(({ name }) =>
    [name, isPartial ? item?.[name] : makeExample(schema.properties[name] as TSchema)])))
  if ('flaws' in sample || measureAll([sample.params]) > maxSample) return undefined
  const headers: Record<string, string> = {}
  const hasBody = Object.keys(sample.params).length > 0
  if (hasBody) headers['content-type'] = 'application/json'
  if (item !== undefined && preconditions === 'required') headers['if-match'] = `"${item.revision}"`
  return { method, url, headers, body: hasBody ? sample.params : undefined }
}
