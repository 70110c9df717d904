import type { Allowances } from './compare.js'
import type { Got, Sent } from './requests.js'

/** A difference between two builds that is on purpose. */
interface Meant {
  readonly reason: string
  /** The first commit that has it. */
  readonly since: string
  holds (sent: Sent, before: Got, after: Got): boolean
}

const isPage = ({ headers }: Got): boolean => String(headers['content-type']).startsWith('text/html')
const hasKey = ({ headers }: Sent): boolean => headers['idempotency-key'] !== undefined
const isForm = ({ headers }: Sent): boolean => String(headers['content-type']).includes('urlencoded')
const validators = ['etag', 'last-modified', 'cache-control']
const unmark = ({ headers }: Got): string => String(headers['etag']).replace(/~\w+/, '')
const withoutTags = ({ headers, ...got }: Got): string =>
  JSON.stringify([got, Object.entries(headers).filter(([name]) => !validators.includes(name)).sort()])

const withoutReplayed = ({ status, body }: Got): string =>
  `${status} ${body.replace(/,"replayed":(?:true|false)/g, '')}`
const sortMembers = (_name: string, value: unknown): unknown =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).sort(([one], [other]) => one < other ? -1 : 1))

const withoutItems = ({ status, body }: Got): string =>
  status + JSON.stringify(JSON.parse(body, (name, value) => ['item', 'replayed'].includes(name) ? undefined : value))

interface Followed { readonly result?: readonly { readonly position?: number, readonly changes?: object }[] }

const withoutPlaces = ({ status, body }: Got): string => {
  const { result = [] } = JSON.parse(body) as Followed
  return JSON.stringify([status, result.map(({ position, changes, ...entry }) => entry)])
}

const withoutOperators = ({ body }: Got): string => body.replace(/(Fields also have|Also FIELD)[^=;]*(, or are|;)/g, '')
const sortTools = (body: string): string => JSON.stringify(JSON.parse(body, (name, value) =>
  ['required', 'pattern'].includes(name) ? undefined : sortMembers(name, value)))

const withoutAssets = ({ status, body }: Got): string =>
  status + body.replace(/<(style|script)>.*?<\/\1>/gs, '')

// Only what a client sees of it: the operations that the family has, their addresses, and the fields of an entry.
const withoutPast = (text: string): string =>
  text.replace(/ (restorations|restore|restored|changes),|, Restore[A-Z]\w+/g, '')
    .replace(/,(restorations|restore|restored|changes)(?=[,"])/g, '')

const cells = /(?:^|,|\r\n)(?:"((?:[^"]|"")*)"|([^,\r]*))/g

/** The rows of a table, without a column. */
const readTable = (csv: string, without: string): string[][] => {
  const rows: string[][] = [[]]
  for (const [text, quoted = '', plain = ''] of csv.matchAll(cells)) {
    if (text.startsWith('\r\n')) rows.push([])
    rows.at(-1)?.push(quoted + plain)
  }
  const at = rows[0]?.indexOf(without) ?? -1
  return rows.map(row => row.filter((_cell, index) => index !== at))
}

const withoutChanges = ({ status, headers, body }: Got): string => {
  const type = String(headers['content-type'])
  if (type.startsWith('text/csv')) return JSON.stringify([status, readTable(body, 'changes')])
  // A link is a text, a revision a number.
  const isNew = (name: string, value: unknown): boolean =>
    name === 'changes' || (name === 'revision' && typeof value === 'string')
  const omit = (json: string): string =>
    JSON.stringify(JSON.parse(json, (name, value) => isNew(name, value) ? undefined : value))
  const rest = /[{[]/.test(body[0] ?? '')
    ? type.startsWith('application/x-ndjson') ? body.split('\n').map(line => line && omit(line)).join('\n') : omit(body)
    : body.replace(/<changes>.*?<\/changes>|<changes\/>|<revision>\/.*?<\/revision>/gs, '')
  return status + withoutPast(rest)
}

const isToolList = ({ url, payload }: Sent): boolean =>
  url.endsWith('/mcp') && JSON.stringify(payload ?? '').includes('tools/list')

const meant: readonly Meant[] = [
  {
    reason: 'the description and tools have what is deleted now, and items at a time',
    since: 'e23ddefb',
    holds: sent => sent.url === '/openapi' || isToolList(sent)
  },
  {
    reason: 'pages have another style of what was, and another address of what is deleted',
    since: 'e23ddefb',
    holds: (_sent, before, after) => isPage(before) && isPage(after) && before.status === after.status
  },
  {
    reason: 'the log of a deleted item is for those who could read the item',
    since: 'e23ddefb',
    holds: ({ url, payload }, before, after) => before.status === 404 && after.status === 200 &&
      (/\/(commands|\w+ions|holds)\b/.test(url) || JSON.stringify(payload ?? '').includes('"log"'))
  },
  {
    reason: 'pages lead to what an item was, and to deleted ones',
    since: 'eac225ce',
    holds: (_sent, before, after) => isPage(before) && isPage(after) && before.status === after.status
  },
  {
    reason: 'the description and tools have what an item was, restorations and a problem of theirs',
    since: 'eac225ce',
    holds: sent => sent.url === '/openapi' || isToolList(sent)
  },
  {
    reason: 'entries have what changed and lead to the item, and a family whose items are deleted has restorations',
    since: 'eac225ce',
    holds: (_sent, before, after) => before.body !== '' && withoutChanges(before) === withoutChanges(after)
  },
  {
    reason: 'the style and the script of pages have rows that can be removed',
    since: 'dbfa0231',
    holds: (_sent, before, after) => isPage(before) && isPage(after) && withoutAssets(before) === withoutAssets(after)
  },
  {
    reason: 'entries that a follower gets have their position, and what they changed',
    since: '19721472',
    holds: ({ payload }, before, after) => (payload as { readonly method?: string } | undefined)?.method === 'follow' &&
      before.status === 200 && withoutPlaces(before) === withoutPlaces(after)
  },
  {
    reason: 'a problem that a program gets says whether it is that of an earlier attempt',
    since: '9799b86a',
    holds: ({ url }, before, after) => url.startsWith('/service/') && withoutReplayed(before) === withoutReplayed(after)
  },
  {
    reason: 'schemas of tools have another order, all defaults of decimals, and the rule for reserved ids',
    since: '9799b86a',
    holds: ({ url }, before, after) => url.endsWith('/mcp') && before.body !== '' &&
      sortTools(withoutOperators(before)) === sortTools(withoutOperators(after))
  },
  {
    reason: 'the description has the key, and what is answered to it, of every write',
    since: '1441374a',
    holds: ({ url }) => url === '/openapi'
  },
  {
    reason: 'pages were changed',
    since: 'b91b7acc',
    holds: (_sent, before, after) => isPage(before) && isPage(after) && before.status === after.status
  },
  {
    reason: 'operations and entries have a tag of their content, which begins with the revision',
    since: '1441374a',
    holds: ({ url }, before, after) => /\/(operations|[\w-]+\/[\w.-]+)(\.|\?|$)/.test(url) &&
      (after.status === 304 || withoutTags(before) === withoutTags(after))
  },
  {
    reason: 'a service with authorize shows nothing of commands on families that it does not use',
    since: '1441374a',
    holds: ({ url, payload }, before) => url.startsWith('/service/') && before.body.includes('"about"') &&
      ['log', 'follow'].includes((payload as { readonly method?: string }).method ?? '')
  },
  {
    reason: 'a service returns the item of a command only to who may read it',
    since: '5f3eea2a',
    holds: ({ url }, before, after) => url.startsWith('/service/') && withoutItems(before) === withoutItems(after) &&
      after.body.split('"item":').length < before.body.split('"item":').length
  },
  {
    reason: 'tags where clients choose ids have a mark of the creation',
    since: '3d013eb5',
    // The client has the tag that the first answered.
    holds: (_sent, before, after) => String(before.headers['etag']) === unmark(after) &&
      (before.status === 304 || (before.status === after.status && before.body === after.body))
  },
  {
    reason: 'a malformed Idempotency-Key is refused, after the body',
    since: '24c88b40',
    holds: (sent, before, after) => hasKey(sent) && before.status < 500 &&
      [before, after].some(({ body }) => body.includes('Idempotency-Key must'))
  },
  {
    reason: 'descriptions list the operators of the family, in the order in which messages do',
    since: 'bcbfa477',
    holds: ({ url }, before, after) => (url === '/openapi' || url.endsWith('/mcp')) &&
      withoutOperators(before) === withoutOperators(after)
  },
  {
    reason: 'the description has decimals as numbers in all forms, and expanded items only of mounted families',
    since: '6d7dc055',
    holds: ({ url }) => url === '/openapi'
  },
  {
    reason: 'the rule for ids names those that are reserved',
    since: '1441374a',
    holds: (_sent, before, after) => before.status === after.status && after.body.includes('or commands, also with a')
  }
]

const isAtomic = (payload: unknown): boolean => (payload as { readonly atomic?: unknown } | undefined)?.atomic === true

// What they store differs from then on, so that later answers could not be compared.
const unsent: readonly (Omit<Meant, 'holds'> & { holds (sent: Sent): boolean })[] = [
  {
    reason: 'every write in every form honours the Idempotency-Key',
    since: '1441374a',
    holds: sent => hasKey(sent) && ['PUT', 'PATCH', 'DELETE'].includes(sent.method)
  },
  {
    reason: 'a key beside the id of a command in the path is ignored, also a malformed one',
    since: '24c88b40',
    holds: sent => hasKey(sent) && sent.method === 'PUT' && sent.url.includes('/commands/')
  },
  {
    reason: 'forms of pages: several commands have an address, an emptied default is empty, amounts have a language',
    since: '1441374a',
    holds: sent => isForm(sent) && String(sent.payload).includes('_key=')
  },
  {
    reason: 'a refused atomic batch makes no id for what it does not create',
    since: 'da2bfda6',
    holds: ({ payload }) => isAtomic(payload) && JSON.stringify(payload).includes('"CreateDeal"')
  }
]

/** Whether an allowance is needed for a build: whether the build is older than the commit that made the difference. */
export type IsOlder = (commit: string) => boolean

/** What a build may differ in from the present one. */
export function allow (isOlder: IsOlder): Allowances {
  const [allowed, skipped] = [meant.filter(({ since }) => isOlder(since)), unsent.filter(({ since }) => isOlder(since))]
  return {
    findMeant: (sent, before, after) => allowed.find(({ holds }) => holds(sent, before, after))?.reason,
    findUnsent: sent => skipped.find(({ holds }) => holds(sent))?.reason
  }
}
