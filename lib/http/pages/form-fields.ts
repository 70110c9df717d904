import type { TObject, TSchema } from '@sinclair/typebox'
import { declaresNull, listFields, withoutNull } from '../../core/family/fields.js'
import type { Flaw, Problem } from '../../core/problems.js'
import { isOrdered } from '../../core/query/names.js'
import type { Field } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import type { FormAffordance, FormField, Refusal } from '../../representations/form-view.js'
import type { Mount } from '../mount.js'
import { readWrongState } from './wrong-state.js'

/** A form that was sent and refused, or the filters of a list that were. */
export interface Submission {
  /** Where it was sent; undefined where it was the query of a list. */
  readonly action: string | undefined
  readonly entered: ReadonlyMap<string, string>
  /** Undefined where it is only asked about. */
  readonly problem?: Problem
}

/** One that was refused. */
export interface RefusedForm extends Submission {
  readonly problem: Problem
}

/** What stood in a form, and what was wrong with it. */
type Entered = Partial<Pick<Submission, 'entered' | 'problem'>>

/** The fields of a form, from the schema of what it sends. */
function makeFormFields (schema: TObject, sent: Entered | undefined): FormField[] {
  return listFields(schema).map(field => {
    const { name, optional, nullable } = field
    return {
      ...describeField(field, schema.properties[name] as TSchema),
      // What is left empty is null, where that can be.
      required: !optional && nullable !== true,
      ...restoreEntered(name, sent)
    }
  })
}

/** The same, filled in with what an item has; what is no text stays as it is. */
function makeFilledFields (schema: TObject, item: Members, sent: Entered | undefined): FormField[] {
  return listFields(schema).filter(isText).map(field => {
    const { name, kind, values } = field
    const property = schema.properties[name] as TSchema
    const was = String(item[name] ?? '')
    const { minLength = 0 } = withoutNull(property)
    const isEmptyText = kind === 'string' && values === undefined && minLength === 0
    return {
      ...describeField(field, property),
      // A field may have become stricter since the item was stored.
      ...(values === undefined || was === '' || values.includes(was) ? {} : { values: [...values, was] }),
      required: !declaresNull(property) && !isEmptyText && was !== '',
      value: was,
      was,
      ...restoreEntered(name, sent)
    }
  })
}

/** Whether the value of a field can be entered as text. */
export function isText ({ kind }: Field): boolean {
  return kind !== 'json'
}

function describeField ({ name, kind, values }: Field, schema: TSchema): Omit<FormField, 'required'> {
  const { description, minimum, maxLength } = withoutNull(schema)
  return {
    name,
    label: name,
    kind,
    ...(description === undefined ? {} : { description }),
    ...(values === undefined ? {} : { values }),
    ...(minimum === undefined ? {} : { minimum }),
    ...(maxLength === undefined ? {} : { maxLength })
  }
}

/** The fields to filter by: one choice for what has few values, bounds for what has an order, a part of it for text. */
export function makeFilterFields (fields: readonly Field[], sent: Entered): FormField[] {
  return fields.flatMap(field => listFilterInputs(field).map(({ name, bound }) => ({
    name,
    label: field.name,
    ...(bound === undefined ? {} : { bound }),
    // A moment is asked for by its day.
    kind: field.kind === 'date-time' ? 'date' as const : field.kind,
    required: false,
    ...(field.values === undefined ? {} : { values: field.values }),
    ...restoreEntered(name, sent)
  })))
}

function listFilterInputs (field: Field): Pick<FormField, 'name' | 'bound'>[] {
  const { name, kind } = field
  if (kind === 'json') return []
  if (!isOrdered(field)) return [{ name }]
  // Nobody knows a part of an id by heart.
  if (kind === 'string') return name === 'id' ? [] : [{ name: `${name}.has`, bound: 'has' }]
  return [{ name: `min-${name}`, bound: 'from' }, { name: `max-${name}`, bound: 'to' }]
}

function restoreEntered (name: string, { entered, problem }: Entered = {}): { value?: string, error?: string } {
  const value = entered?.get(name)
  const isHere = (flaw: Flaw) => 'pointer' in flaw ? flaw.pointer === `/${name}` : flaw.parameter === name
  const error = problem?.errors?.find(isHere)?.detail
  return {
    ...(value === undefined ? {} : { value }),
    // The label says the name already.
    ...(error === undefined ? {} : { error: error.startsWith(`${name} `) ? error.slice(name.length + 1) : error })
  }
}

/**
 * A form that sends what a schema describes, with what was entered in it before.
 *
 * @param item what it is filled in with, where it changes members of it
 */
export function makeForm (
  { schema, ...form }: Omit<FormAffordance, 'fields' | 'isRefused'> & { readonly schema: TObject },
  submission: Submission | undefined,
  item?: Members
): FormAffordance {
  const sent = submission?.action === form.action ? submission : undefined
  const fields = item === undefined ? makeFormFields(schema, sent) : makeFilledFields(schema, item, sent)
  return { ...form, fields, isRefused: sent !== undefined }
}

/** Why a form was refused. @param forms those of the page; undefined where the one that was sent is always there */
export function explainRefusal (
  { family }: Mount,
  submission: Submission | undefined,
  forms?: readonly FormAffordance[]
): { refused?: Refusal } {
  if (submission?.problem === undefined) return {}
  const { action, problem, entered } = submission
  const isThere = forms === undefined || forms.some(form => form.action === action)
  return {
    refused: {
      problem: problem.document(),
      wrongState: readWrongState(family, problem),
      entered: isThere ? [] : [...entered]
    }
  }
}
