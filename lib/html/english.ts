import type { FieldCondition } from '../core/storage/storage.js'
import { itemEnglish, lowerFirst } from './item-texts.js'
import type { Texts } from './texts.js'

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

// Which only programs have to know.
const anySize = ` from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`

// As many digits as the number has.
const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 20 })

const conditions: Readonly<Record<FieldCondition['op'], (label: string, value: string) => string>> = {
  eq: (label, value) => `${label}: ${value}`,
  ne: (label, value) => `${label} is not ${value}`,
  gt: (label, value) => `${label} above ${value}`,
  gte: (label, value) => `${label} from ${value}`,
  lt: (label, value) => `${label} below ${value}`,
  lte: (label, value) => `${label} to ${value}`,
  regex: (label, value) => `${label} matches ${value}`,
  has: (label, value) => `${label} has ${value}`,
  null: (label, value) => value === 'true' ? `${label} is missing` : `${label} is there`
}

// inProgress, in_progress; what has other letters, or hyphens, is written as it is meant.
const isIdentifier = /^[a-z]+(_[a-z]+|[A-Z][a-z]+)+$/

/** What the pages say where a host says nothing. */
export const english: Texts = {
  ...itemEnglish,
  lang: 'en',
  label,
  date,
  moment: text => `${date(text)}, ${text.slice(11, 16)} UTC`,
  number: value => numbers.format(value),
  choice: value => isIdentifier.test(value) ? lowerFirst(label(value)) : value,
  yes: 'yes',
  no: 'no',
  absent: 'none',
  pageTitle: (heading, application) => `${heading} - ${application}`,
  application: 'API',
  home: 'Home',
  families: 'Families',
  family: (label, version) => version === undefined ? label : `${label} ${version}`,
  documentation: 'Documentation',
  items: count => `${count} in all`,
  atLeast: count => `${count}+`,
  trail: 'Where you are',
  otherFormats: 'This as ',
  filter: 'Filter',
  applyFilter: 'Apply',
  activeFilters: 'Filters',
  condition: (label, op, value) => conditions[op](label, value),
  alternative: condition => `or ${lowerFirst(condition)}`,
  removeFilter: condition => `${condition} × Remove this filter`,
  clearFilter: 'Clear all',
  from: label => `${label} from`,
  to: label => `${label} to`,
  has: label => `${label} has`,
  any: 'any',
  emptyList: 'There are none.',
  emptyPage: 'There are none on this page.',
  noMatches: 'There are none that match.',
  firstPage: 'To the first page',
  showAll: 'Show all',
  pages: 'Pages',
  pageNumber: page => `Page ${page}`,
  total: total => `${total} in all`,
  count: 'Count all',
  perPage: 'Per page:',
  previous: 'Previous',
  next: 'Next',
  create: singular => `New ${lowerFirst(singular)}`,
  choose: 'choose',
  chooseNone: 'none',
  item: (singular, title) => title === undefined ? singular : `${singular} ${title}`,
  status: status => `Status ${status}`,
  invalid: 'Some of what you entered is not right.',
  entered: 'You had entered:',
  more: count => `and ${count} more`,
  it: 'It',
  flaw: detail => detail
    .replace(`must be${anySize}`, 'is too large')
    .replace(anySize, '')
    .replace('an integer', 'a whole number'),
  sentence: (subject, detail) => `${subject} ${detail}${/[.?!]$/.test(detail) ? '' : '.'}`,
  changedMeanwhile: 'Somebody changed it in the meantime.',
  changedMeanwhileDetail: 'Nothing was done. This is how it is now.'
}

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
