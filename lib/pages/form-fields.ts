import {
  describeForm, type FamilyMount, type Field, type Flaw, type FormInput, isAmount, isOrdered,
  type ListQuery, listRows, makeSampleParams, type Members, type Problem, type Responding, type Stored
} from '../exports.js'
import type {
  FormAffordance, FormField, LogEntry, ReferenceField, Refusal, SampleRequest, ShownMember
} from './affordances.js'
import { getAction, listActionChoices, nameForTexts, readWrongState } from './log-entries.js'
import { finding, findReferenceFields, type FoundChoices, nameChosen } from './references.js'

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
  responding: Responding,
  action: string,
  form: Pick<FormAffordance, 'action' | 'key' | 'revision' | 'request' | 'from'>,
  refused: RefusedForm | undefined,
  given: Pick<Filling, 'item' | 'titles' | 'theirs'> = {}
): Promise<FormAffordance | undefined> {
  const { mount, mount: { model } } = responding
  const { inputs, references: names, summary: title } = describeForm(mount, action)
  const found = getAction(mount, action)
  const references = await findReferenceFields(responding, names, inputs)
  const sent = refused?.action === form.action ? refused : undefined
  const looked = [...references].filter(([, { choices }]) => choices === undefined).map(([name]) => name)
  const initial = new Map(inputs.map(({ name, initial }) => [name, writeValue(initial)]))
  const ids = new Map(looked.map(name => [name, sent?.entered.get(name) ?? initial.get(name) ?? '']))
  const filling = { ...given, references, chosen: await nameChosen(responding, names, ids) }
  const shown = inputs.filter(({ canEnter }) => canEnter)
  const isWhole = inputs.every(({ canEnter, optional, nullable }) => canEnter || optional || nullable === true)
  if (!isWhole || (shown.length === 0 && inputs.length > 0)) return undefined
  return {
    ...form,
    name: nameForTexts(found),
    singular: model.singular,
    title,
    danger: found.danger,
    final: found.final,
    fields: shown.map(input => makeField(input, sent, filling)),
    isRefused: sent !== undefined
  }
}

function makeField (input: FormInput, sent: Entered | undefined, filling: Filling): FormField {
  const { name, kind, values, optional, nullable = false, initial, parts } = input
  const { description, maxLength, minLength, takesNull } = input
  const { item, references, theirs } = filling
  const was = item && writeValue(item[name])
  const byDefault = initial === undefined ? undefined : writeValue(initial)
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
      : (was ?? byDefault) !== '' && !takesEmpty && !takesNull,
    value: entered ?? was ?? byDefault,
    isTyped: entered !== undefined && sent?.language !== undefined,
    was,
    error: findError(sent, name),
    theirs: sent === undefined ? undefined : theirs?.get(name)
  }
  const reference = references?.get(name)
  if (reference !== undefined) return refer(made, reference, sent, filling)
  return parts === undefined ? made : nest(made, parts, sent, item === undefined ? initial : item[name])
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

function nest (
  field: FormField, { shape, inputs }: NonNullable<FormInput['parts']>, sent: Entered | undefined, value: unknown
): FormField {
  const { name } = field
  if (shape === 'lines') {
    const [each] = inputs as [FormInput]
    return { ...field, kind: isAmount(each) ? each.kind : field.kind, shape, ...findLineError(sent, name) }
  }
  const stored: readonly unknown[] = shape === 'group' ? [value] : Array.isArray(value) ? value : []
  const entered = sent?.entered ?? new Map<string, string>()
  const filled = listRows(new Map([...entered].filter(([, text]) => text.trim() !== '')), name)
  const before = listRows(entered, name)
  // Flaws do not count the rows that were left empty.
  const rows = sent?.problem === undefined ? before : filled
  // Without a problem, more rows were asked for.
  const more = sent !== undefined && sent.problem === undefined ? 1 : 0
  const least = Math.max(stored.length, filled.length) + spareRows
  const count = shape === 'group' ? 1 : Math.max(least, before.length) + more
  const makeRow = (index: number): FormField[] => inputs.map(each => {
    const path = shape === 'group' ? `${name}.${each.name}` : `${name}.${index}.${each.name}`
    const row = stored[index]
    const item = typeof row === 'object' && row !== null && !Array.isArray(row) ? row as Members : undefined
    const cell = makeField(each, sent && { entered: new Map() }, { item })
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
  mounts: readonly [FamilyMount, ...FamilyMount[]],
  { parameters }: ListQuery,
  isShared = false
): FormField[] {
  const entered = new Map(parameters.map(({ name, value }) => [name, value]))
  const choose = (name: string, choices: Pick<FormField, 'actions' | 'families'>): FormField =>
    ({ name, label: name, kind: 'string', required: false, value: entered.get(name), ...choices })
  const named = mounts.map(({ model: { name, labels } }) => ({ name, labels }))
  const [{ model: { entryFields } }] = mounts
  const shown = entryFields.filter(({ name }) => ['outcome', 'principal', 'createdAt'].includes(name))
  return [
    ...isShared ? [choose('family', { families: named })] : [],
    choose('action', { actions: mounts.flatMap(listActionChoices) }),
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
  mount: FamilyMount,
  { problem, entered }: RefusedForm,
  isShown: boolean,
  meanwhile: readonly LogEntry[] = []
): Refusal | undefined {
  return problem && {
    problem: problem.document(),
    wrongState: readWrongState(mount, { code: problem.code, detail: problem.message, members: problem.members }),
    entered: isShown ? [] : [...entered],
    meanwhile
  }
}

// In characters: longer requests cannot be copied from a page.
const maxSample = 5000

/** With the values of the item if it is edited, otherwise with examples; undefined if no valid ones are found. */
export function makeSampleRequest (
  mount: FamilyMount,
  action: string,
  { method, href: url }: { readonly method: string, readonly href: string },
  item?: Stored
): SampleRequest | undefined {
  const params = makeSampleParams(mount, action, item)
  if (params === undefined || JSON.stringify(params).length > maxSample) return undefined
  const headers: Record<string, string> = {}
  const hasBody = Object.keys(params).length > 0
  if (hasBody) headers['content-type'] = 'application/json'
  if (item !== undefined && mount.needsRevision) headers['if-match'] = `"${item.revision}"`
  return { method, url, headers, body: hasBody ? params : undefined }
}
