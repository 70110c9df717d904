import type { Field } from '../storage/storage.js'
import type { Filter } from './filters.js'

const orderHint = 'The order is sort=FIELD, and sort=-FIELD is descending.'

const searchHint = 'To search there is FIELD.has, as in FIELD.has=abc.'

// Parameters of other systems (PostgREST, Feathers, JSON:API, OData, Spring, Django, GraphQL), each with a hint.
// In lower case, without hyphens and underscores; FIELD is replaced by a field of the family.
const meanings: readonly (readonly [names: string, hint: string])[] = [
  ['limit $limit perpage pagesize size $top top take first rows maxresults pagelimit itemsperpage page[size] ' +
    'page[limit]', 'The size of a page is maxpagesize, as in maxpagesize=20.'],
  ['offset $offset skip $skip start startindex p pagenumber pageno pageindex page[number] page[offset]',
    'Pages are numbered from 1, as in page=2&maxpagesize=20; links.next leads from one to the next.'],
  ['cursor startingafter endingbefore sinceid pagetoken nexttoken continuationtoken $skiptoken page[after] ' +
    'page[before] page[cursor]', 'Follow links.next and links.prev, which go from place to place.'],
  ['order orderby $orderby ordering $sort sortby sort[] sortorder direction dir orderdirection sortdirection',
    orderHint],
  ['q query search $search s term keyword keywords fulltext $text', searchHint],
  ['filter $filter filters where $where conditions criteria rsql fq',
    'Each condition is a parameter of its own, as FIELD=1, FIELD.ne=1 or FIELD.has=abc.'],
  ['select $select columns only props include[] attributes fields[]', 'The members to show are fields=id,FIELD.'],
  ['$count total $total withcount includecount includetotal totalcount returntotal',
    'The number of all items comes with count=exact.'],
  ['$format alt output outputformat responsetype accept', 'The representation is format=json.']
]

const hints = new Map(meanings.flatMap(([names, hint]) => names.split(' ').map(name => [name, hint])))

// The first of each is ours.
const operators = new Map([
  'gte ge min', 'lte le max', 'ne neq not nin', 'eq in is', 'null isnull', 'regex like ilike startswith endswith',
  'has contains icontains'
].flatMap(words => words.split(' ').map(word => [word, words.split(' ', 1)[0]])))

export function explainForeignName (
  name: string,
  fields: readonly Field[],
  filters: ReadonlyMap<string, Filter>,
  hasSearch: boolean
): string | undefined {
  const plain = name.toLowerCase().replace(/[-_]/g, '')
  const example = fields.find(field => field.name !== 'id' && field.kind !== 'json')?.name ?? 'id'
  const hint = hints.get(plain)
  if (hint === searchHint && hasSearch) return 'To search there is search, as in search=abc.'
  return hint?.replaceAll('FIELD', example) ?? explainBrackets(name, filters)
}

// filter[age], age[gte], where[age][$gte], sort[age], fields[deals], age[]
function explainBrackets (name: string, filters: ReadonlyMap<string, Filter>): string | undefined {
  if (name.length > 100 || !/^[^[\]]+(\[[^[\]]*\])+$/.test(name)) return undefined
  const [first, ...others] = name.split(/[[\]]+/).filter(part => part !== '') as [string, ...string[]]
  const isField = filters.has(first)
  const [field = '', operator = 'eq'] = isField ? [first, ...others] : others
  if (!isField && /^fields?$/i.test(first)) return 'The members to show are one list, as in fields=id.'
  if (!filters.has(field)) return undefined
  if (!isField && /^\$?(sort|order)/i.test(first)) return orderHint.replaceAll('FIELD', field)
  const plain = operator.toLowerCase().replace(/^\$|_/g, '')
  const wanted = `${field}.${operators.get(plain) ?? plain}`
  if (!filters.has(wanted)) return undefined
  return wanted.endsWith('.eq') ? `Say ${field}=, once for each value.` : `Say ${wanted}=.`
}

const direction = /(-?)([^\s:.,]+)[\s:.,]+(asc|desc)(?:ending)?(?=,|$)/gi

/** What `price:desc`, `price desc` or `price,desc` of other systems means; undefined for any other text. */
export function explainForeignOrder (text: string, sortable: readonly string[]): string | undefined {
  const order = text.trim().replace(direction, (_, sign: string, field: string, word: string) =>
    `${word.toLowerCase() === 'desc' ? '-' : sign}${field}`)
  const isKnown = order !== text && order.split(',').every(part => sortable.includes(part.replace(/^-/, '')))
  return isKnown ? ` Say sort=${order}.` : undefined
}
