import { listRows, type SentForm } from '../exports.js'

/** A row to add to a list, or to remove from it. */
export interface RowChange {
  readonly field: string
  /** The number of the row to remove; undefined to add one. */
  readonly row?: number | undefined
}

/** A form of a page, with what its members that begin with `_` ask for. */
export interface PageForm extends SentForm {
  /** The same entries, with the ids of items that were entered by their titles. */
  resolved: ReadonlyMap<string, string>
  /** The part of the key that the page gave the form. */
  readonly formKey: string | undefined
  /** Set if the form is to be shown again with a row more or less, instead of acting. */
  readonly rowChange: RowChange | undefined
  /** For several items: the operation, the items with the revisions that were shown, and whether to act now. */
  readonly operation: string | undefined
  readonly items: ReadonlyMap<string, string>
  readonly isReady: boolean
  /** The query of the list that they were selected from. */
  readonly from: string | undefined
}

const selected = '_item.'

export function readPageForm (form: SentForm): PageForm {
  const { entries, sent } = form
  const all = new Map(sent)
  const items = sent.filter(([name]) => name.startsWith(selected))
  return {
    ...form,
    resolved: entries,
    formKey: all.get('_key'),
    rowChange: readRowChange(all.get('_add'), all.get('_remove')),
    operation: all.get('_operation'),
    items: new Map(items.map(([name, revision]) => [name.slice(selected.length), revision])),
    isReady: all.has('_ready'),
    from: all.get('_from')
  }
}

function readRowChange (added: string | undefined, removed: string | undefined): RowChange | undefined {
  if (added !== undefined) return { field: added }
  const [, field, row] = /^(.*)\.(\d{1,3})$/s.exec(removed ?? '') ?? []
  if (field !== undefined) return { field, row: Number(row) }
  return removed === undefined ? undefined : { field: '', row: -1 }
}

/** What to show again: of a list whose rows change, all rows, also if a person has not touched them. */
export function listShownAgain ({ entries, sent, rowChange }: PageForm): Map<string, string> {
  if (rowChange === undefined) return new Map(takeShort(entries))
  const start = `${rowChange.field}.`
  const rows = sent.filter(([name]) => name.replace(finding, '').startsWith(start))
  return new Map([...rows, ...entries])
}

/** The prefix of form entries that find items by a part of their titles, by field. */
export const finding = '_find.'

/** The numbers of all rows of a list, also of empty ones. */
export function listSentRows (name: string, entered: PageForm['entries']): number[] {
  // What is looked up has the name of its field after the prefix.
  return listRows(new Map(Array.from(entered, ([key, text]) => [key.replace(finding, ''), text])), name)
}

/** The numbers of the rows that are not empty. */
export function listFilledRows (name: string, entered: PageForm['entries']): number[] {
  return listSentRows(name, new Map([...entered].filter(([, text]) => text.trim() !== '')))
}

// In characters: more than people type by hand is not shown again.
const maxEntered = 50_000

/** The entries that a page shows again. */
export function takeShort (entries: Iterable<readonly [name: string, text: string]>): (readonly [string, string])[] {
  let length = 0
  return [...entries].filter(([name, text]) => (length += name.length + text.length) <= maxEntered)
}
