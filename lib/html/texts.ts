import { type OperatorName, phraseFilter } from '../exports.js'

// The range of integers, which only matters to programs.
const anySize = ` from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`

// inProgress, in_progress; words with other letters or hyphens are shown unchanged.
const isIdentifier = /^[a-z]+(_[a-z]+|[A-Z][a-z]+)+$/

/** The texts of pages in English. Functions get names as labels, and operations as the text of their buttons. */
export const english = {
  /** The language of the pages, as in `<html lang>`. */
  lang: 'en',
  /** The language by which `Intl` writes numbers and dates. */
  locale: 'en-GB',

  /** A field, an operation or a family without a label: createdAt -> Created at. */
  label,
  /** One of the few words that a field, or the state of an item, can have. */
  choice: (value: string): string => upperFirst(isIdentifier.test(value) ? label(value) : value),
  /**
   * Translations of problems, reasons and summaries, by their English text. `{}` matches any text, as in
   * `'must be at least {}': 'muss mindestens {} sein'`.
   */
  messages: {
    [`must be an integer${anySize}`]: 'must be a whole number',
    [`must be a number${anySize}`]: 'must be a number',
    [`must be${anySize}`]: 'is too large',
    'must be an integer': 'must be a whole number',
    'must be an integer from {}': 'must be a whole number from {}',
    'must look like {} (pattern {})': 'must look like {}'
  } as Readonly<Record<string, string>>,
  yes: 'Yes',
  no: 'No',
  absent: 'Not set',

  pageTitle: (heading: string, application: string): string => `${heading} - ${application}`,
  /** The title if the option `title` is not set. */
  application: 'API',
  skip: 'Skip to the content',
  home: 'Home',
  /** The label of the links to families, and of one of them. */
  families: 'Main',
  family: (label: string, version: string | undefined): string => version === undefined ? label : `${label} ${version}`,
  documentation: 'API documentation',
  signIn: 'Sign in',
  signOut: 'Sign out',
  items: (count: string): string => `${count} in total`,
  atLeast: (count: string): string => `${count}+`,
  /** The label of the breadcrumb trail. */
  trail: 'You are here',
  /** Before the links to other representations. */
  otherFormats: 'Also as ',
  zone: (zone: string): string => `Times are in ${zone}.`,

  search: 'Search',
  filter: 'Filters',
  moreFilters: 'More filters',
  applyFilter: 'Apply',
  columns: 'Columns',
  sortBy: 'Sort by',
  /** The choices of an order; the default one has no field. */
  sortDefault: 'Default order',
  ascending: (label: string): string => `${label}, ascending`,
  descending: (label: string): string => `${label}, descending`,
  export: 'Export',
  /** The choice of all states. */
  all: 'All',
  state: 'State',
  /** Links to lists of the last days. */
  today: 'Today',
  yesterday: 'Yesterday',
  lastDays: (days: number): string => `Last ${days} days`,
  /** The label of the active filters, of one of them, and of an alternative. */
  activeFilters: 'Active filters',
  condition: (label: string, op: OperatorName, value: string): string => phraseFilter(op, label, value),
  alternative: (condition: string): string => `or ${condition}`,
  removeFilter: (condition: string): string => `${condition} × Remove this filter`,
  clearFilter: 'Clear all',
  /** The label of a field for the least value, for the greatest, and for a part of a text. */
  from: (label: string): string => `${label} from`,
  to: (label: string): string => `${label} to`,
  has: (label: string): string => `${label} contains`,
  any: 'Any',
  emptyList: (plural: string): string => `There are no ${lowerFirst(plural)} yet.`,
  emptyPage: (plural: string): string => `There are no ${lowerFirst(plural)} on this page.`,
  createFirst: 'Create the first one above.',
  noMatches: (plural: string): string => `No ${lowerFirst(plural)} match these filters.`,
  /** Links from an empty list. */
  firstPage: 'Go to the first page',
  showAll: 'Show all',
  pages: 'Pages',
  pageNumber: (page: string): string => `Page ${page}`,
  range: (from: string, to: string, total: string | undefined): string =>
    total === undefined ? `${from}–${to}` : `${from}–${to} of ${total}`,
  count: 'Count all',
  perPage: 'Per page:',
  first: 'First',
  previous: 'Previous',
  next: 'Next',
  last: 'Last',
  create: (singular: string): string => `New ${lowerFirst(singular)}`,

  // One operation for several items.
  select: (item: string): string => `Select ${item}`,
  withSelected: 'With the selected:',
  go: 'Continue',
  selectedItems: (count: string): string => `Selected: ${count}`,
  back: 'Back to the list',
  unknownResult: 'The result is not known. See its history.',

  /** What a button does: Cancel, Deal -> Cancel the deal. */
  submit: (operation: string, singular: string): string =>
    operation.includes(' ') ? operation : `${operation} the ${lowerFirst(singular)}`,
  /** The button of a form that edits an item. */
  save: 'Save',
  /** The empty choice of a required field, and of an optional one. */
  choose: 'Choose',
  chooseNone: 'None',
  optional: (label: string): string => `${label} (optional)`,
  onePerLine: 'One per line.',
  addRow: 'Add a row',
  removeRow: (number: number): string => `Remove row ${number}`,
  /** The sums of columns. */
  total: 'Total',
  row: (number: number): string => `Row ${number}`,
  /** For a field that refers to an item. */
  lookup: (singular: string): string => `Type a part of the name of the ${lowerFirst(singular)}.`,
  requests: 'For developers: the same as requests',
  requestsHint: 'Each does the same as the button. The values are examples.',

  item: (singular: string, title: string | undefined): string =>
    title === undefined ? singular : `${singular} ${title}`,
  operations: 'Actions',
  unavailable: 'Not possible now',
  technical: 'Details',
  related: 'Related',
  /** A list of items that refer to this one. */
  relatedList: (plural: string, count: string | undefined): string =>
    count === undefined ? plural : `${plural} (${count})`,
  showMore: 'Show all of it',

  // The message on the page after a form was sent.
  created: 'Created',
  deleted: 'Deleted',
  restored: 'Restored',
  /** The buttons that take back a change, and a deletion. */
  undo: 'Undo',
  restore: 'Restore',
  erased: 'Personal data erased',
  done: (operation: string): string => `Done: ${lowerFirst(operation)}`,
  revision: (revision: number): string => `Revision ${revision}`,
  unchanged: 'Nothing changed',
  changedSince: (revision: number): string => `It has changed since, and is at revision ${revision}.`,

  // The question before a dangerous operation.
  ask: (operation: string): string => `${operation}?`,
  final: 'This cannot be undone.',
  leave: 'No, go back',
  /** The headings of the entered values, of the changes, and of another item that changes too. */
  yourEntries: 'You entered',
  whatChanges: 'What will change',
  changesToo: 'This will change too',
  createsToo: 'This will be created',
  willBeGone: (singular: string): string => `The ${lowerFirst(singular)} will be deleted. Its history stays.`,

  log: 'History',
  /** A log, or a part of it such as its holds, and the item it belongs to. */
  partOf: (part: string, item: string): string => `${part} of ${item}`,
  wholeLog: 'Full history',
  /** What people did, of one family or of all. */
  activity: 'Activity',
  allActivity: 'All activity',
  noActivity: 'Nothing happened here.',
  /** The title of the page of what is deleted. */
  deletedItems: (plural: string): string => `Deleted ${lowerFirst(plural)}`,
  /** On that page, if it is empty; the second if older deletions were not looked at yet. */
  noneDeleted: 'Nothing is deleted.',
  noneSoFar: 'Nothing here so far. Look at older ones.',
  /** The label of the moment of an entry. */
  day: 'Day',
  newer: 'Newer',
  older: 'Older',
  /** Said while the page is open; `{}` stands for a name or a number that is only known then. */
  changedNow: (principal: string): string => `${principal} changed this a moment ago.`,
  someone: 'Someone',
  showChange: 'Show it',
  newEntries: (count: string): string => `${count} new.`,
  showNew: 'Show them',
  wasDeleted: 'It was deleted.',
  logOfDeleted: 'Its history',
  by: (principal: string): string => `by ${principal}`,
  /** The item that the command was for, in the log of another that changed with it. */
  togetherWith: (item: string): string => `together with ${lowerFirst(item)}`,
  /** For a member whose values are too long to show, or were too long to keep. */
  changed: 'changed',
  /** A link to the item as it was after an entry, and the note on that page. */
  asItWas: 'as it was',
  wasThen: (revision: string, moment: string | undefined): string =>
    moment === undefined ? `This was ${lowerFirst(revision)}.` : `This was ${lowerFirst(revision)}, of ${moment}.`,
  earlier: 'Earlier',
  later: 'Later',
  showCurrent: 'As it is now',
  /** Instead of a value that the log does not have. */
  notLogged: 'too long for the log',

  // Refusals. The detail is the problem's, as in every representation.
  status: (status: number): string => `Status ${status}`,
  /** In the title of a page whose form was refused. */
  notDone: 'Not done',
  refused: (operation: string): string => `Refused: ${lowerFirst(operation)}`,
  wrongState: (singular: string, state: string | undefined): string => state === undefined
    ? `This is not possible for this ${lowerFirst(singular)} now.`
    : `This is not possible while the ${lowerFirst(singular)} is ${lowerFirst(state)}.`,
  possible: (operations: readonly string[]): string => operations.length === 0
    ? 'Nothing is possible now.'
    : `Possible now: ${operations.map(lowerFirst).join(', ')}.`,
  invalid: 'Please correct what you entered.',
  entered: 'You entered:',
  sendAgain: 'Send it again',
  /** Beside a link to sign in. */
  signInFirst: 'Sign in on another tab, then send it again.',
  more: (count: number): string => `and ${count} more`,
  /** The subject if the whole body is wrong, not a field. */
  it: 'It',
  sentence: (subject: string, detail: string): string => `${subject} ${detail}${/[.?!]$/.test(detail) ? '' : '.'}`,
  changedMeanwhile: 'Someone has changed it since you opened this page.',
  changedMeanwhileDetail: 'Nothing was done yet. Look at the changes, then send it again or leave it.',
  changesOfOthers: 'What has changed',
  /** Beside a field that someone else has changed, before its value. */
  nowIs: 'Now:'
}

/** Every text of the pages that is not data: `html({ texts: [english, de] })`. */
export type Texts = Readonly<typeof english>

function label (name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`)
    .replace(/[-_.]/g, ' ')
  return upperFirst(words)
}

export function upperFirst (text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

// Not if the second letter is a capital, too: PO number, VAT.
export function lowerFirst (text: string): string {
  return /^\p{Lu}(?!\p{Lu})/u.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}
