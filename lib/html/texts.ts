import type { FieldCondition } from '../core/storage/storage.js'

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

// The range of integers, which only programs have to know.
const anySize = ` from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`

const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 20 })

const relations: Readonly<Record<Exclude<FieldCondition['op'], 'null'>, string>> = {
  eq: ':', ne: ' is not', gt: ' above', gte: ' from', lt: ' below', lte: ' to', regex: ' matches', has: ' has'
}

// inProgress, in_progress; a word with other letters, or hyphens, is shown as it is.
const isIdentifier = /^[a-z]+(_[a-z]+|[A-Z][a-z]+)+$/

/** The words of pages. Functions are given names as labels, and operations as the text of their buttons. */
export const english = {
  /** The language of the pages, as in `<html lang>`. */
  lang: 'en',

  // Names and values.
  /** A field, an operation or a family as people read it: createdAt -> Created at. */
  label,
  /** `2026-03-31` */
  date,
  /** `2026-03-31T12:00:00.000Z` */
  moment: (text: string): string => `${date(text)}, ${text.slice(11, 16)} UTC`,
  number: (value: number): string => numbers.format(value),
  /** One of the few words that a field, or the state of an item, can have. */
  choice: (value: string): string => isIdentifier.test(value) ? lowerFirst(label(value)) : value,
  yes: 'yes',
  no: 'no',
  /** Shown for a value that is absent. */
  absent: 'none',

  // Around every page.
  /** The title of a page in the browser. */
  pageTitle: (heading: string, application: string): string => `${heading} - ${application}`,
  /** The name of the application where the host gives none. */
  application: 'API',
  home: 'Home',
  /** What the links to the families are called, and one of them. */
  families: 'Families',
  family: (label: string, version: string | undefined): string => version === undefined ? label : `${label} ${version}`,
  documentation: 'Documentation',
  /** How many items a family has, where that is known. */
  items: (count: string): string => `${count} in all`,
  atLeast: (count: string): string => `${count}+`,
  /** What the trail from the home to a page is called. */
  trail: 'Where you are',
  /** Before the links to other representations. */
  otherFormats: 'This as ',

  // Lists.
  filter: 'Filter',
  applyFilter: 'Apply',
  /** What the active filters are called together, one of them, and one that is an alternative. */
  activeFilters: 'Filters',
  condition: (label: string, op: FieldCondition['op'], value: string): string => op === 'null'
    ? `${label} is ${value === 'true' ? 'missing' : 'there'}`
    : `${label}${relations[op]} ${value}`,
  alternative: (condition: string): string => `or ${lowerFirst(condition)}`,
  removeFilter: (condition: string): string => `${condition} × Remove this filter`,
  clearFilter: 'Clear all',
  /** The label of a field for the least value, for the greatest, and for a part of a text. */
  from: (label: string): string => `${label} from`,
  to: (label: string): string => `${label} to`,
  has: (label: string): string => `${label} has`,
  /** The choice of a filter that matches everything. */
  any: 'any',
  emptyList: (plural: string): string => `No ${lowerFirst(plural)} yet.`,
  emptyPage: (plural: string): string => `No ${lowerFirst(plural)} on this page.`,
  noMatches: (plural: string): string => `No ${lowerFirst(plural)} match these filters.`,
  /** Links from an empty list. */
  firstPage: 'To the first page',
  showAll: 'Show all',
  pages: 'Pages',
  pageNumber: (page: number): string => `Page ${page}`,
  total: (total: string): string => `${total} in all`,
  /** A link to the page with the number of all items. */
  count: 'Count all',
  /** Before the sizes that a page can have. */
  perPage: 'Per page:',
  previous: 'Previous',
  next: 'Next',
  /** Above the form for a new item. */
  create: (singular: string): string => `New ${lowerFirst(singular)}`,

  // Forms.
  /** What a button does: Cancel, Deal -> Cancel the deal. */
  submit: (operation: string, singular: string): string =>
    operation.includes(' ') ? operation : `${operation} the ${lowerFirst(singular)}`,
  /** The empty choice of what must be chosen, and of what need not. */
  choose: 'choose',
  chooseNone: 'none',
  /** The same as a request of a program. */
  asRequest: 'As a request',
  asRequestHint: 'This does the same as the button. The values are examples.',

  // Items.
  item: (singular: string, title: string | undefined): string =>
    title === undefined ? singular : `${singular} ${title}`,
  /** The headings of the operations that are allowed now, and of those that are not. */
  operations: 'What can be done now',
  unavailable: 'What cannot be done now',
  /** The heading of the members that the service gives. */
  technical: 'Details',

  // The message on the page after a form was sent.
  created: 'Created.',
  deleted: 'Deleted.',
  done: (operation: string): string => `Done: ${lowerFirst(operation)}.`,
  revision: (revision: number): string => `Revision ${revision}.`,
  unchanged: 'Nothing changed.',
  /** Where the item was changed again since. */
  changedSince: (revision: number): string => `It has been changed since, and is at revision ${revision}.`,

  // The question before a dangerous operation.
  ask: (operation: string): string => `${operation}?`,
  final: 'This cannot be undone.',
  leave: 'No, leave it as it is',
  /** Before what was entered, before what will change, and before another item that changes with it. */
  yourEntries: 'What you entered',
  whatChanges: 'What will change',
  changesToo: 'What will change with it',
  willBeGone: (singular: string): string => `The ${lowerFirst(singular)} will be gone. Its log stays.`,

  // The log.
  log: 'Log',
  /** A log, or a part of it such as its holds, and the item that it belongs to. */
  partOf: (part: string, item: string): string => `${part} of ${item}`,
  wholeLog: 'The whole log',
  wasDeleted: 'It was deleted.',
  logOfDeleted: 'Its log',
  by: (principal: string): string => `by ${principal}`,
  /** The item that it was done to, in the log of another that changed with it. */
  togetherWith: (item: string): string => `together with ${lowerFirst(item)}`,
  /** For a member whose values were too long to be kept. */
  changed: 'changed',

  // Refusals. The detail is the problem's, as in every representation.
  status: (status: number): string => `Status ${status}`,
  /** In the title of a page whose form was refused. */
  notDone: 'Not done.',
  refused: (operation: string): string => `Refused: ${lowerFirst(operation)}.`,
  /** Why the state of an item does not allow an operation. */
  wrongState: (singular: string, state: string | undefined): string => state === undefined
    ? `Not possible for this ${lowerFirst(singular)} now.`
    : `Not possible while the ${lowerFirst(singular)} is ${state}.`,
  /** The operations that the state allows. */
  possible: (operations: readonly string[]): string => operations.length === 0
    ? 'Nothing is possible now.'
    : `Possible now: ${operations.map(lowerFirst).join(', ')}.`,
  invalid: 'Some of what you entered is not right.',
  entered: 'You had entered:',
  more: (count: number): string => `and ${count} more`,
  /** The subject where the whole is wrong rather than a field. */
  it: 'It',
  /** The detail of a problem about a field. */
  flaw: (detail: string): string => detail
    .replace(`must be${anySize}`, 'is too large')
    .replace(anySize, '')
    .replace('an integer', 'a whole number'),
  sentence: (subject: string, detail: string): string => `${subject} ${detail}${/[.?!]$/.test(detail) ? '' : '.'}`,
  changedMeanwhile: 'It was changed in the meantime.',
  changedMeanwhileDetail: 'Nothing was done. This is how it is now.'
}

/**
 * Every word of the pages that is not data. A host replaces some of them, or all for another language:
 * `html({ texts: { lang: 'de', yes: 'ja', label: name => names[name] ?? name } })`.
 */
export type Texts = Readonly<typeof english>

// createdAt -> Created at, min-age -> Min age
function label (name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`)
    .replace(/[-_.]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

// 2026-03-31 -> 31 Mar 2026, which no country reads as another day.
function date (text: string): string {
  return `${Number(text.slice(8, 10))} ${months[Number(text.slice(5, 7)) - 1]} ${text.slice(0, 4)}`
}

// Deal -> deal
function lowerFirst (text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
