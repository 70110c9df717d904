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

export interface RefusedForm {
  /** The URL it was sent to; undefined for the filters of a list. */
  readonly action: string | undefined
  readonly entered: ReadonlyMap<string, string>
  readonly problem: Problem
}

type Entered = Pick<RefusedForm, 'entered'> & Partial<Pick<RefusedForm, 'problem'>>

/** Keeps what was entered before. `item` fills in a form that edits it. */
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
  { name, kind, values, scale, optional, nullable = false }: Field,
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
    scale,
    maxLength,
    values: isListed ? values : [...values, was],
    // A nullable field that is left empty is null.
    required: was === undefined ? !optional && !nullable : was !== '' && !takesEmpty && !declaresNull(schema),
    value: sent?.entered.get(name) ?? was,
    was,
    error: findError(sent, name)
  }
}

/** Whether the value can be entered as text. */
export function isText ({ kind }: Field): boolean {
  return kind !== 'json'
}

/** A choice for few values, bounds for ordered values, a part for texts. */
export function makeFilterFields (fields: readonly Field[], sent: Entered): FormField[] {
  return fields.filter(isText).flatMap(field => listFilterInputs(field).map(([name, bound]) => ({
    name,
    label: field.name,
    bound,
    // A moment is filtered by its day.
    kind: field.kind === 'date-time' ? 'date' : field.kind,
    scale: field.scale,
    required: false,
    values: field.values,
    value: sent.entered.get(name),
    error: findError(sent, name)
  })))
}

function listFilterInputs (field: Field): (readonly [name: string, bound?: FormField['bound']])[] {
  const { name, kind } = field
  if (!isOrdered(field)) return [[name]]
  // People do not know parts of ids.
  if (kind === 'string') return name === 'id' ? [] : [[`${name}.has`, 'has']]
  return [[`min-${name}`, 'from'], [`max-${name}`, 'to']]
}

function findError (sent: Entered | undefined, name: string): string | undefined {
  const isHere = (flaw: Flaw) => 'pointer' in flaw ? flaw.pointer === `/${name}` : flaw.parameter === name
  const error = sent?.problem?.errors?.find(isHere)?.detail
  // The label has the name already.
  return error?.startsWith(`${name} `) === true ? error.slice(name.length + 1) : error
}

/** `isShown`: whether the page still has the form, with what was entered. */
export function explainRefusal (family: Family, { problem, entered }: RefusedForm, isShown: boolean): Refusal {
  return {
    problem: problem.document(),
    wrongState: readWrongState(family, problem.code, problem.message, problem.members),
    entered: isShown ? [] : [...entered]
  }
}

// Characters; longer requests are not for copying from a page.
const maxSample = 5000

/** With the values of the item where it is edited, else with examples; undefined where no valid ones are found. */
export function makeSampleRequest (
  { preconditions }: Mount,
  { method, href: url }: { readonly method: string, readonly href: string },
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
