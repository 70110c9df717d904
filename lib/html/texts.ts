import type { FieldCondition } from '../core/storage/storage.js'

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

// The range of integers, which only matters to programs.
const anySize = ` from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`

// Made at first use, as it takes as long as loading all pages.
let numbers: Intl.NumberFormat | undefined

function formatNumber (value: number): string {
  numbers ??= new Intl.NumberFormat('en', { maximumFractionDigits: 20 })
  return numbers.format(value)
}

const relations: Readonly<Record<Exclude<FieldCondition['op'], 'null'>, string>> = {
  eq: ':', ne: ' is not', gt: ' above', gte: ' from', lt: ' below', lte: ' to', regex: ' matches', has: ' has'
}

// inProgress, in_progress; words with other letters or hyphens are shown unchanged.
const isIdentifier = /^[a-z]+(_[a-z]+|[A-Z][a-z]+)+$/

/** The texts of pages. Functions get names as labels, and operations as the text of their buttons. */
export const english = {
  /** The language of the pages, as in `<html lang>`. */
  lang: 'en',

  /** A field, an operation or a family as people read it: createdAt -> Created at. */
  label,
  /** `2026-03-31` */
  date,
  /** `2026-03-31T12:00:00.000Z` */
  moment: (text: string): string => `${date(text)}, ${text.slice(11, 16)} UTC`,
  number: formatNumber,
  /** A decimal, with all its digits after the point. */
  decimal (text: string): string {
    const [whole = '', ...fraction] = text.split('.')
    return [formatNumber(Number(whole)), ...fraction].join('.')
  },
  /** One of the few words that a field, or the state of an item, can have. */
  choice: (value: string): string => isIdentifier.test(value) ? lowerFirst(label(value)) : value,
  yes: 'yes',
  no: 'no',
  absent: 'none',

  pageTitle: (heading: string, application: string): string => `${heading} - ${application}`,
  /** The title where the option `title` is not set. */
  application: 'API',
  home: 'Home',
  /** The label of the links to families, and of one of them. */
  families: 'Families',
  family: (label: string, version: string | undefined): string => version === undefined ? label : `${label} ${version}`,
  documentation: 'Documentation',
  items: (count: string): string => `${count} in all`,
  atLeast: (count: string): string => `${count}+`,
  /** The label of the breadcrumb trail. */
  trail: 'Where you are',
  /** Before the links to other representations. */
  otherFormats: 'This as ',

  filter: 'Filter',
  applyFilter: 'Apply',
  /** The label of the active filters, of one of them, and of an alternative. */
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
  count: 'Count all',
  perPage: 'Per page:',
  previous: 'Previous',
  next: 'Next',
  create: (singular: string): string => `New ${lowerFirst(singular)}`,

  /** What a button does: Cancel, Deal -> Cancel the deal. */
  submit: (operation: string, singular: string): string =>
    operation.includes(' ') ? operation : `${operation} the ${lowerFirst(singular)}`,
  /** The empty choice of what must be chosen, and of what need not. */
  choose: 'choose',
  chooseNone: 'none',
  asRequest: 'As a request',
  asRequestHint: 'This does the same as the button. The values are examples.',

  item: (singular: string, title: string | undefined): string =>
    title === undefined ? singular : `${singular} ${title}`,
  operations: 'What can be done now',
  unavailable: 'What cannot be done now',
  technical: 'Details',

  // The message on the page after a form was sent.
  created: 'Created.',
  deleted: 'Deleted.',
  done: (operation: string): string => `Done: ${lowerFirst(operation)}.`,
  revision: (revision: number): string => `Revision ${revision}.`,
  unchanged: 'Nothing changed.',
  changedSince: (revision: number): string => `It has been changed since, and is at revision ${revision}.`,

  // The question before a dangerous operation.
  ask: (operation: string): string => `${operation}?`,
  final: 'This cannot be undone.',
  leave: 'No, leave it as it is',
  /** The headings of the entered values, of the changes, and of another item that changes too. */
  yourEntries: 'What you entered',
  whatChanges: 'What will change',
  changesToo: 'What will change with it',
  createsToo: 'What will be created',
  willBeGone: (singular: string): string => `The ${lowerFirst(singular)} will be gone. Its log stays.`,

  log: 'Log',
  /** A log, or a part of it such as its holds, and the item it belongs to. */
  partOf: (part: string, item: string): string => `${part} of ${item}`,
  wholeLog: 'The whole log',
  wasDeleted: 'It was deleted.',
  logOfDeleted: 'Its log',
  by: (principal: string): string => `by ${principal}`,
  /** The item that the command was for, in the log of another that changed with it. */
  togetherWith: (item: string): string => `together with ${lowerFirst(item)}`,
  /** For a member whose values were too long to keep. */
  changed: 'changed',

  // Refusals. The detail is the problem's, as in every representation.
  status: (status: number): string => `Status ${status}`,
  /** In the title of a page whose form was refused. */
  notDone: 'Not done.',
  refused: (operation: string): string => `Refused: ${lowerFirst(operation)}.`,
  wrongState: (singular: string, state: string | undefined): string => state === undefined
    ? `Not possible for this ${lowerFirst(singular)} now.`
    : `Not possible while the ${lowerFirst(singular)} is ${state}.`,
  possible: (operations: readonly string[]): string => operations.length === 0
    ? 'Nothing is possible now.'
    : `Possible now: ${operations.map(lowerFirst).join(', ')}.`,
  invalid: 'Some of what you entered is not right.',
  entered: 'You had entered:',
  more: (count: number): string => `and ${count} more`,
  /** The subject where the whole body is wrong rather than a field. */
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
 * Every text of the pages that is not data. Replace some of them, or all for a different language:
 * `html({ texts: { lang: 'de', yes: 'ja', label: name => names[name] ?? name } })`.
 */
export type Texts = Readonly<typeof english>

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

function lowerFirst (text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
