import type { Field } from '../storage/storage.js'
import type { Filter } from './filters.js'

const orderHint = 'To sort, use sort=FIELD, or sort=-FIELD for descending order.'

const searchHint = 'To search, use FIELD.has, such as FIELD.has=abc.'

// Parameters of other systems (PostgREST, Feathers, JSON:API, OData, Spring, Django, GraphQL), each with a hint.
// In lower case, without hyphens and underscores; FIELD is replaced by a field of the family.
const meanings: readonly (readonly [names: string, hint: string])[] = [
  ['limit $limit perpage pagesize size $top top take first rows maxresults pagelimit itemsperpage page[size] ' +
    'page[limit]', 'To set the size of a page, use maxpagesize, such as maxpagesize=20.'],
  ['offset $offset skip $skip start startindex p pagenumber pageno pageindex page[number] page[offset]',
    'Pages are numbered from 1, such as page=2&maxpagesize=20; links.next leads to the next page.'],
  ['cursor startingafter endingbefore sinceid pagetoken nexttoken continuationtoken $skiptoken page[after] ' +
    'page[before] page[cursor]', 'Follow links.next and links.prev.'],
  ['order orderby $orderby ordering $sort sortby sort[] sortorder direction dir orderdirection sortdirection',
    orderHint],
  ['q query search $search s term keyword keywords fulltext $text', searchHint],
  ['filter $filter filters where $where conditions criteria rsql fq',
    'Each condition is a separate parameter, such as FIELD=1, FIELD.ne=1 or FIELD.has=abc.'],
  ['select $select columns only props include[] attributes fields[]', 'To choose members, use fields=id,FIELD.'],
  ['$count total $total withcount includecount includetotal totalcount returntotal',
    'To count all items, use count=exact.'],
  ['$format alt output outputformat responsetype accept', 'To choose the representation, use format=json.']
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
  if (hint === searchHint && hasSearch) return 'To search, use search=abc.'
  return hint?.replaceAll('FIELD', example) ?? explainBrackets(name, filters)
}

// filter[age], age[gte], where[age][$gte], sort[age], fields[deals], age[]
function explainBrackets (name: string, filters: ReadonlyMap<string, Filter>): string | undefined {
  if (name.length > 100 || !/^[^[\]]+(\[[^[\]]*\])+$/.test(name)) return undefined
  const [first, ...others] = name.split(/[[\]]+/).filter(part => part !== '') as [string, ...string[]]
  const isField = filters.has(first)
  const [field = '', operator = 'eq'] = isField ? [first, ...others] : others
  if (!isField && /^fields?$/i.test(first)) return 'To choose members, use one list, such as fields=id.'
  if (!filters.has(field)) return undefined
  if (!isField && /^\$?(sort|order)/i.test(first)) return orderHint.replaceAll('FIELD', field)
  const plain = operator.toLowerCase().replace(/^\$|_/g, '')
  const wanted = `${field}.${operators.get(plain) ?? plain}`
  if (!filters.has(wanted)) return undefined
  return wanted.endsWith('.eq') ? `Use ${field}=, once for each value.` : `Use ${wanted}=.`
}

const direction = /(-?)([^\s:.,]+)[\s:.,]+(asc|desc)(?:ending)?(?=,|$)/gi

/** A hint for `price:desc`, `price desc` or `price,desc` of other systems; undefined for any other text. */
export function explainForeignOrder (text: string, sortable: readonly string[]): string | undefined {
  const order = text.trim().replace(direction, (_, sign: string, field: string, word: string) =>
    `${word.toLowerCase() === 'desc' ? '-' : sign}${field}`)
  const isKnown = order !== text && order.split(',').every(part => sortable.includes(part.replace(/^-/, '')))
  return isKnown ? ` Use sort=${order}.` : undefined
}
