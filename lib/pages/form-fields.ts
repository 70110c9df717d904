import {
  describeForm, type FamilyMount, type FormInput, makeSampleParams, type Members, type Stored
} from '../exports.js'
import type { FormAffordance, FormField, LogEntry, Refusal, SampleRequest } from './affordances.js'
import { describeField, type Entered, fillIn, type Filling, refer, type RefusedForm, writeEntered } from './fields.js'
import { getAction, nameForTexts, readWrongState } from './log-entries.js'
import type { PageRequest } from './page-reads.js'
import { findReferenceFields, findReferredTitles, nameChosen, type ReferenceNames } from './references.js'
import { isTooLong, listNamedItems, nest } from './row-fields.js'

/** What a form starts with. */
interface Given extends Pick<Filling, 'item' | 'titles' | 'theirs'> {
  /** The parameters of an operation, as far as they are known. */
  readonly prefilled?: Members | undefined
}

/** Undefined if a person cannot send it: a required member cannot be entered. Keeps what was entered. */
export async function makeForm (
  responding: PageRequest,
  action: string,
  form: Pick<FormAffordance, 'action' | 'key' | 'revision' | 'request' | 'from'>,
  refused: RefusedForm | undefined,
  { prefilled, ...given }: Given = {}
): Promise<FormAffordance | undefined> {
  const { mount, mount: { model } } = responding
  const { references: names, summary: title, ...described } = describeForm(mount, action)
  const inputs = prefilled === undefined ? described.inputs : described.inputs.map(input => prefill(input, prefilled))
  const found = getAction(mount, action)
  const sent = refused?.action === form.action ? refused : undefined
  const [references, inRows] = await Promise.all([
    findReferenceFields(responding, names, inputs),
    nameRows(responding, names, inputs, given.item, sent)
  ])
  const looked = [...references].filter(([name, { choices }]) => choices === undefined && !name.includes('.'))
    .map(([name]) => name)
  const ids = new Map(looked.map(name => [name, sent?.entered.get(name) ?? writeInitial(inputs, name)]))
  const filling = { ...given, inRows, references, chosen: await nameChosen(responding, names, ids) }
  const canSend = (input: FormInput): boolean => input.canEnter && !isTooLong(input, startWith(input, given.item))
  const shown = inputs.filter(canSend)
  const isWhole = shown.length === inputs.length ||
    inputs.every(input => canSend(input) || input.optional || input.nullable === true)
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

function prefill (input: FormInput, { [input.name]: value }: Members): FormInput {
  return value === undefined || isTooLong(input, value) ? input : { ...input, initial: value }
}

function writeInitial (inputs: readonly FormInput[], name: string): string {
  return writeEntered(inputs.find(each => each.name === name)?.initial)
}

function startWith ({ name, initial }: FormInput, item: Members | undefined): unknown {
  return item === undefined ? initial : item[name]
}

/** The titles of the items that the rows of a form name. */
async function nameRows (
  responding: PageRequest,
  references: ReferenceNames,
  inputs: readonly FormInput[],
  item: Members | undefined,
  sent: Entered | undefined
): Promise<Filling['inRows']> {
  const inRows = Object.fromEntries(Object.entries(references).filter(([path]) => path.includes('.')))
  if (Object.keys(inRows).length === 0) return undefined
  const values = Object.fromEntries(inputs.map(input => [input.name, startWith(input, item)]))
  const named = listNamedItems(responding.mount, inRows, values, sent?.entered)
  return (await findReferredTitles(responding, inputs.map(({ name }) => name), named, inRows)).inRows
}

function makeField (input: FormInput, sent: Entered | undefined, filling: Filling): FormField {
  const { name, parts } = input
  const made: FormField = { ...describeField(input, filling.item), ...fillIn(input, sent, filling) }
  const reference = filling.references?.get(name)
  // One of each line of a list is not chosen.
  if (reference !== undefined && parts === undefined) return refer(made, reference, sent, filling)
  return parts === undefined ? made : nest(made, parts, sent, filling, startWith(input, filling.item))
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
