import type { TSchema } from '@sinclair/typebox'
import type { Target } from '../core/book/offers.js'
import type { Family } from '../core/family/family.js'
import { declaresNull, logFields, withoutNull } from '../core/family/fields.js'
import type { Params } from '../core/family/params.js'
import { isAmount } from '../core/query/amounts.js'
import type { ParsedQuery } from '../core/query/grammar.js'
import { isOrdered } from '../core/query/values.js'
import { makeExample } from '../core/values/example.js'
import { isObject, measureAll } from '../core/values/json.js'
import type { Field, Flaw, Members, Problem, Stored } from '../exports.js'
import { canEnter, findNested, findRows, listRows, type Nested } from '../http/form-values.js'
import type { Exchange, Mount } from '../http/mount.js'
import type {
  FormAffordance, FormField, LogEntry, ReferenceField, Refusal, SampleRequest, ShownMember
} from './affordances.js'
import { listActions, readWrongState } from './log-entries.js'
import {
  finding, findReferenceFields, type FoundChoices, listReferences, nameChosen
} from './references.js'

export interface RefusedForm {
  /** The URL it was sent to; undefined for the filters of a list. */
  readonly action: string | undefined
  readonly entered: ReadonlyMap<string, string>
  /** The language in which amounts were entered; without it, they are as in JSON. */
  readonly language?: string | undefined
  /** Undefined if the form only gets more rows. */
  readonly problem: Problem | undefined
  /** The revision that its page showed, if that is why. */
  readonly since?: number | undefined
  /** Items that fit what was entered. */
  readonly choices?: FoundChoices | undefined
}

type Entered = Partial<Pick<RefusedForm, 'problem' | 'choices' | 'language'>> & Pick<RefusedForm, 'entered'>

/** How the fields of a form are filled in. */
interface Filling {
  /** The item that the form edits. */
  readonly item?: Members | undefined
  /** The values of a new item, unless others are entered. */
  readonly defaults?: Members
  readonly references?: ReadonlyMap<string, ReferenceField>
  /** The titles of the items that it refers to. */
  readonly titles?: Readonly<Record<string, { readonly title: string } | undefined>>
  /** Items that were chosen before, or by default, as a look-up has them. */
  readonly chosen?: ReadonlyMap<string, string>
  /** Values that others have changed since. */
  readonly theirs?: ReadonlyMap<string, ShownMember>
}

/** Undefined if a person cannot send it: a required member cannot be entered. Keeps what was entered. */
export async function makeForm (
  exchange: Exchange,
  { operation, params, others }: Pick<Target, 'params' | 'others'> & { operation: FormOperation },
  form: Pick<FormAffordance, 'action' | 'key' | 'revision' | 'request' | 'from'>,
  refused: RefusedForm | undefined,
  given: Pick<Filling, 'item' | 'titles' | 'theirs'> = {}
): Promise<FormAffordance | undefined> {
  const { family } = exchange.mount
  const { schema, fields, defaults } = params
  const { name, summary: title, danger, final } = operation
  const names = listReferences(family, others)
  const references = await findReferenceFields(exchange, names, fields)
  const sent = refused?.action === form.action ? refused : undefined
  const looked = [...references].filter(([, { choices }]) => choices === undefined).map(([name]) => name)
  const ids = new Map(looked.map(name => [name, sent?.entered.get(name) ?? writeValue(defaults[name])]))
  const filling = { ...given, defaults, references, chosen: await nameChosen(exchange, names, ids) }
  const schemaOf = ({ name }: Field) => schema.properties[name] as TSchema
  const shown = fields.filter(field => canEnter(field, schemaOf(field)))
  const isWhole = fields.every(field => shown.includes(field) || field.optional || field.nullable === true)
  if (!isWhole || (shown.length === 0 && fields.length > 0)) return undefined
  return {
    ...form,
    name,
    singular: family.singular,
    title,
    danger,
    final,
    fields: shown.map(field => makeField(field, schemaOf(field), sent, filling)),
    isRefused: sent !== undefined
  }
}

type FormOperation = Pick<Target['operation'], 'name' | 'summary' | 'danger' | 'final'>

function makeField (field: Field, schema: TSchema, sent: Entered | undefined, filling: Filling): FormField {
  const { name, kind, values, optional, nullable = false } = field
  const { item, defaults = {}, references, theirs } = filling
  const { description, maxLength, minLength = 0 } = withoutNull(schema)
  const nested = kind === 'json' ? findNested(schema) : undefined
  const was = item && writeValue(item[name])
  const byDefault = defaults[name] === undefined ? undefined : writeValue(defaults[name])
  const entered = sent?.entered.get(name)
  const takesEmpty = (kind === 'string' && values === undefined && minLength === 0) || kind === 'json'
  // A field may have become stricter since the item was stored.
  const isListed = values === undefined || was === undefined || was === '' || values.includes(was)
  const made: FormField = {
    name,
    label: name,
    kind,
    description,
    maxLength,
    values: isListed ? values : [...values, was],
    // A nullable field that is left empty is null.
    required: (was ?? byDefault) === undefined
      ? !optional && !nullable
      : (was ?? byDefault) !== '' && !takesEmpty && !declaresNull(schema),
    value: entered ?? was ?? byDefault,
    isTyped: entered !== undefined && sent?.language !== undefined,
    was,
    error: findError(sent, name),
    theirs: sent === undefined ? undefined : theirs?.get(name)
  }
  const reference = references?.get(name)
  if (reference !== undefined) return refer(made, reference, sent, filling)
  return nested === undefined ? made : nest(made, nested, sent, (item ?? defaults)[name])
}

function writeValue (value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join('\n')
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value)
}

/** The text of a look-up is the title. */
function refer (
  field: FormField,
  reference: ReferenceField,
  sent: Entered | undefined,
  { titles, chosen }: Filling = {}
): FormField {
  const { name, value, was } = field
  const title = titles?.[name]?.title
  const several = sent?.choices?.get(name)
  // None of them, before a person chooses.
  if (several !== undefined) return { ...field, value: undefined, reference: { ...reference, choices: several } }
  const { choices } = reference
  if (choices !== undefined) {
    const isKnown = value === undefined || value === '' || choices.some(choice => choice.value === value)
    const all = isKnown ? choices : [{ value, title: title ?? value }, ...choices]
    return { ...field, reference: { ...reference, choices: all } }
  }
  const shown = was === undefined ? undefined : title ?? was
  const entered = sent?.entered.get(finding + name)
  return { ...field, name: finding + name, reference, value: entered ?? chosen?.get(name) ?? shown, was: shown }
}

// Empty rows to fill in.
const spareRows = 2

function nest (field: FormField, nested: Nested, sent: Entered | undefined, value: unknown): FormField {
  const { name } = field
  const { shape } = nested
  if (shape === 'lines') {
    const [each] = nested.fields
    return { ...field, kind: isAmount(each) ? each.kind : field.kind, shape, ...findLineError(sent, name) }
  }
  const { schema, fields } = nested
  const stored = shape === 'group' ? [value] : Array.isArray(value) ? value : []
  const entered = sent?.entered ?? new Map<string, string>()
  const before = listRows(entered, name)
  // Flaws do not count the rows that were left empty.
  const rows = sent?.problem === undefined ? before : findRows(entered, name)
  // Without a problem, more rows were asked for.
  const more = sent !== undefined && sent.problem === undefined ? 1 : 0
  const least = Math.max(stored.length, findRows(entered, name).length) + spareRows
  const count = shape === 'group' ? 1 : Math.max(least, before.length) + more
  const makeRow = (index: number): FormField[] => fields.map(each => {
    const path = shape === 'group' ? `${name}.${each.name}` : `${name}.${index}.${each.name}`
    const item = isObject(stored[index]) ? stored[index] as Members : undefined
    const cell = makeField(each, schema.properties[each.name] as TSchema, sent && { entered: new Map() }, { item })
    const isKept = shape === 'group' || before.length === 0
    const text = sent?.entered.get(isKept ? path : `${name}.${rows[index] ?? ''}.${each.name}`)
    return {
      ...cell,
      name: path,
      // A row that stays empty is not sent.
      required: false,
      value: text ?? (isKept ? cell.value : ''),
      isTyped: text !== undefined && sent?.language !== undefined,
      was: field.was === undefined ? undefined : cell.was ?? '',
      error: findError(sent, path.replaceAll('.', '/'))
    }
  })
  return { ...field, shape, rows: Array.from({ length: count }, (_, index) => makeRow(index)) }
}

/** Whether the value is one text, which can be filtered and sorted. */
export function isText ({ kind }: Field): boolean {
  return kind !== 'json'
}

/** A choice for few values, bounds for ordered values, a part for texts. */
export function makeFilterFields (
  fields: readonly Field[],
  sent: Entered,
  references: ReadonlyMap<string, ReferenceField>
): FormField[] {
  return fields.filter(isText).flatMap(field => {
    const reference = references.get(field.name)
    const inputs = reference === undefined ? listFilterInputs(field) : [[field.name] as const]
    return inputs.map(([name, bound]) => {
      const made: FormField = {
        name,
        label: field.name,
        bound,
        // A moment is filtered by its day.
        kind: field.kind === 'date-time' ? 'date' : field.kind,
        required: false,
        values: field.values,
        value: sent.entered.get(name),
        isTyped: sent.language !== undefined,
        error: findError(sent, name)
      }
      return reference === undefined ? made : refer(made, reference, sent)
    })
  })
}

/** By what people see in an entry: of which family it is, what was done, how it ended, who did it, and when. */
export function listLogFilters (
  families: readonly Family[],
  { parameters }: ParsedQuery,
  isShared = false
): FormField[] {
  const entered = new Map(parameters.map(({ name, value }) => [name, value]))
  const choose = (name: string, choices: Pick<FormField, 'actions' | 'families'>): FormField =>
    ({ name, label: name, kind: 'string', required: false, value: entered.get(name), ...choices })
  const named = families.map(({ name, presentation: { labels } }) => ({ name, labels }))
  const shown = logFields.filter(({ name }) => ['outcome', 'principal', 'createdAt'].includes(name))
  return [
    ...isShared ? [choose('family', { families: named })] : [],
    choose('action', { actions: families.flatMap(listActions) }),
    ...makeFilterFields(shown, { entered }, new Map())
  ]
}

function listFilterInputs (field: Field): (readonly [name: string, bound?: FormField['bound']])[] {
  const { name, kind } = field
  if (!isOrdered(field)) return [[name]]
  // A part of an id is not useful to people.
  if (kind === 'string') return name === 'id' ? [] : [[`${name}.has`, 'has']]
  return [[`min-${name}`, 'from'], [`max-${name}`, 'to']]
}

function findError (sent: Entered | undefined, name: string): string | undefined {
  const isHere = (flaw: Flaw) => 'pointer' in flaw ? flaw.pointer === `/${name}` : flaw.parameter === name
  const error = sent?.problem?.errors?.find(isHere)?.detail
  // The label has the name already.
  return error?.startsWith(`${name} `) === true ? error.slice(name.length + 1) : error
}

/** The first flaw of a list, and the line it is in. */
function findLineError (sent: Entered | undefined, name: string): Pick<FormField, 'error' | 'line'> {
  for (const flaw of sent?.problem?.errors ?? []) {
    const [, field, index] = 'pointer' in flaw ? flaw.pointer.split('/') : []
    if (field === name && index !== undefined) return { error: flaw.detail, line: Number(index) + 1 }
  }
  return { error: findError(sent, name) }
}

/** `isShown`: whether the page still has the form, with what was entered. */
export function explainRefusal (
  family: Family,
  { problem, entered }: RefusedForm,
  isShown: boolean,
  meanwhile: readonly LogEntry[] = []
): Refusal | undefined {
  return problem && {
    problem: problem.document(),
    wrongState: readWrongState(family, problem.code, problem.message, problem.members),
    entered: isShown ? [] : [...entered],
    meanwhile
  }
}

// In characters: longer requests cannot be copied from a page.
const maxSample = 5000

/** With the values of the item if it is edited, otherwise with examples; undefined if no valid ones are found. */
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
