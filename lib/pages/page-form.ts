import type { SentForm } from '../exports.js'

/** A form of a page, with what its members that begin with `_` ask for. */
export interface PageForm extends SentForm {
  /** The same entries, with the ids of items that were entered by their titles. */
  resolved: ReadonlyMap<string, string>
  /** The part of the key that the page gave the form. */
  readonly formKey: string | undefined
  /** Whether to show the form again with more rows instead of acting. */
  readonly addsRows: boolean
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
    addsRows: all.has('_add'),
    operation: all.get('_operation'),
    items: new Map(items.map(([name, revision]) => [name.slice(selected.length), revision])),
    isReady: all.has('_ready'),
    from: all.get('_from')
  }
}

// In characters: more than people type by hand is not shown again.
const maxEntered = 50_000

/** The entries that a page shows again. */
export function takeShort (entries: Iterable<readonly [name: string, text: string]>): (readonly [string, string])[] {
  let length = 0
  return [...entries].filter(([name, text]) => (length += name.length + text.length) <= maxEntered)
}
