import type { InjectOptions } from 'fastify'
import { type Call, firstIds, names, roles } from './app.js'

export interface Sent extends Pick<InjectOptions, 'method' | 'url' | 'payload'> {
  readonly method: NonNullable<InjectOptions['method']>
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** The same numbers for the same seed (mulberry32). */
export class Random {
  constructor (private state: number) {}

  next (): number {
    this.state = this.state + 0x6D2B79F5 | 0
    let mixed = Math.imul(this.state ^ this.state >>> 15, 1 | this.state)
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32
  }

  below (end: number): number {
    return Math.floor(this.next() * end)
  }

  pick<T> (list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }

  chance (probability: number): boolean {
    return this.next() < probability
  }
}

interface Kind {
  readonly home: string
  /** Of the service of the family, if the application has one. */
  readonly service?: string
  readonly singular: string
  readonly fields: readonly string[]
  readonly actions: Readonly<Record<string, readonly [words: readonly string[], params: Params]>>
  readonly body: Params
}

type Params = (random: Random, requests: Requests) => object

const reasons = ['a', 'a', 'Papers', 'ü"<&>', '']
const amounts = [0, 1, 2.5, 100, 0, 1, 2.5, -1, '1', 1e300]
const dates = ['2026-03-01', '2026-02-30', '2027-12-31']
const texts = ['Tea', 'Coffee', 'Ink', 'Oil', 'Cup', 'a,b', '=1+1', '', 'x'.repeat(41), 'Zoë\u2028']

const dealActions: Kind['actions'] = {
  HoldDeal: [['hold', 'holded', 'holds'], random => ({ reason: random.pick(reasons) })],
  UnholdDeal: [['unhold', 'unholded', 'unholds'], () => ({})],
  CompleteDeal: [['complete', 'completed', 'completions'], random => random.chance(0.5) ? {} : { comment: 'c' }],
  CancelDeal: [['cancel', 'cancelled', 'cancellations'], random =>
    ({ amercement: random.pick(amounts), reason: random.pick(reasons) })],
  ChangeDealPrice: [['change-price', 'price-changed', 'price-changes'], random =>
    ({ newPrice: random.pick(amounts), reason: random.pick(reasons) })],
  ChangeDealCompletionDate: [['change-completion-date', 'completion-date-changed', 'completion-date-changes'], random =>
    ({ newDate: random.pick(dates), amercement: random.pick(amounts), whyChanged: random.pick(reasons) })],
  DeleteDeal: [['deletions'], () => ({})]
}

const base: readonly Kind[] = [
  { home: '/crm/customers', singular: 'customer', fields: ['age', 'children'], actions: {}, body: () => ({ age: 3 }) },
  ...[['v1', 'price'], ['v2', 'amount']].map(([version, price = '']) => ({
    home: `/crm/rest/${version}/deals`,
    service: version === 'v1' ? 'deals' : 'renamed-deals',
    singular: 'deal',
    fields: ['name', price, 'held', 'holdReason', 'status', 'completionDate', 'region', 'revision', 'createdAt'],
    actions: dealActions,
    body: (random: Random) => ({
      name: random.pick(texts),
      [price]: random.pick(amounts),
      ...(random.chance(0.3) && { completionDate: random.pick(dates) }),
      ...(random.chance(0.3) && { region: random.pick(texts) })
    })
  })),
  {
    home: '/shop/shops',
    singular: 'shop',
    fields: ['city', 'pin'],
    actions: {
      EditShop: [['edit', 'edited', 'edits'], random => ({ city: random.pick(texts) })],
      DeleteShop: [['deletions'], () => ({})]
    },
    body: random => ({ id: random.pick(['a', 'b', 'b c', 'x.json', '../a', 'A']), city: random.pick(texts) })
  },
  ...['/shop/products', '/strict/products'].map(home => ({
    home,
    service: 'products',
    singular: 'product',
    fields: ['name', 'price', 'stock', 'shop', 'tags'],
    actions: {
      EditProduct: [['edit', 'edited', 'edits'], (random: Random) => ({
        ...(random.chance(0.5) && { name: random.pick(texts) }),
        ...(random.chance(0.5) && { price: random.pick(['1.50', '2', '2.345', 7]) }),
        ...(random.chance(0.3) && { shop: random.pick(['a', 'b', 'none', null]) })
      })],
      DeleteProduct: [['deletions'], () => ({})]
    } as Kind['actions'],
    body: (random: Random) => ({
      name: random.pick(texts) + (random.chance(0.7) ? String(random.below(50)) : ''),
      ...(random.chance(0.5) && { stock: random.pick([0, 3, 5, 50, -1, 1.5]) }),
      ...(random.chance(0.3) && { shop: random.pick(['a', 'b', 'none']) }),
      ...(random.chance(0.3) && { tags: random.pick([[], ['a', 'b'], ['far too long'], 'a']) })
    })
  })),
  {
    home: '/shop/rest/1/orders',
    service: 'orders',
    singular: 'order',
    fields: ['product', 'quantity', 'status', 'due', 'note', 'state'],
    actions: {
      SendOrder: [['send', 'sent', 'sendings'], random => random.chance(0.5) ? {} : { by: random.pick(texts) }],
      SplitOrder: [['split', 'split-up', 'splits'], random => ({ name: random.pick(texts) + random.below(50) })],
      EditOrder: [['edit', 'edited', 'edits'], random => ({ note: random.pick([...texts, null]) })],
      DeleteOrder: [['deletions'], () => ({})]
    },
    body: (random, requests) => ({
      product: Number(requests.pickId('product')), quantity: random.pick([1, 2, 7, 0]), note: random.pick(texts)
    })
  }
]

/** Those of the version that has other names. Most requests have these. */
function renameKind (kind: Kind): Kind {
  const { home, service, fields, actions, body } = kind
  const own: Readonly<Record<string, string>> = names[home.split('/').at(-1) as keyof typeof names]
  const rename = (members: object): object =>
    Object.fromEntries(Object.entries(members).map(([name, value]) => [own[name] ?? name, value]))
  const takesFields = (action: string): boolean => action.startsWith('Edit')
  return {
    ...kind,
    home: home.replace('/shop', '/renamed'),
    ...(service !== undefined && { service: `renamed-${service}` }),
    fields: [...fields.map(name => own[name] ?? name), ...fields.slice(0, 1)],
    actions: Object.fromEntries(Object.entries(actions).map(([action, [words, params]]) =>
      [action, [words, takesFields(action) ? (random, requests) => rename(params(random, requests)) : params]])),
    body: (random, requests) => random.chance(0.95) ? rename(body(random, requests)) : body(random, requests)
  }
}

const kinds = [...base, ...base.filter(({ home }) => home.startsWith('/shop/')).map(renameKind)]
const served = kinds.filter(({ service }) => service !== undefined)
const findPrefixOf = ({ home }: Kind): string => home.slice(0, home.indexOf('/', 1))

const accepts = [
  'application/json', 'text/html', 'application/xml', 'text/csv', 'application/x-ndjson', '*/*', 'image/png',
  'text/html;q=0.5, application/json;q=0.4', 'application/json;q=0, text/html'
]
const suffixes = ['.json', '.xml', '.csv', '.html', '.ndjson', '.pdf']

function writeForm (entries: readonly (readonly [name: string, value: unknown] | readonly string[])[]): string {
  return entries.map(entry => entry.map(each => encodeURIComponent(String(each))).join('=')).join('&')
}

const toId = (id: string): number | string => /^\d+$/.test(id) ? Number(id) : id
const isRead = ({ method }: Sent): boolean => ['GET', 'HEAD'].includes(method)
// Families are in several places, and every log is that of all: nothing writes customers, and no log is below them.
const isOfReadOnly = ({ url }: Sent): boolean => url.startsWith('/crm/customers')

// It names its command, and nothing else in its answer depends on which of two was first.
function isRepeatable ({ method, url }: Sent): boolean {
  return method === 'PUT' && /\/commands\/[\w-]+$/.test(url)
}

/** Random requests, each made with what earlier answers have told. */
export class Requests {
  readonly #random: Random
  readonly #ids = new Map(Object.entries(firstIds).map(([singular, ids]) => [singular, [...ids]]))
  readonly #tags: string[] = ['"1"', '"2-json"', '*', 'W/"1"', '"1', '"99"']
  readonly #links: string[] = ['/crm/', '/shop/', '/strict/', '/renamed/']
  #sent: Sent[] = []
  #isFirst: boolean

  constructor (seed: number) {
    this.#random = new Random(seed)
    this.#isFirst = seed % 50 === 1
  }

  /** The next request, or two that are sent at once. */
  next (): readonly Sent[] {
    const random = this.#random
    if (this.#isFirst) {
      this.#isFirst = false
      return [{ method: 'GET', url: '/openapi', headers: {} }]
    }
    const sent = random.chance(0.06) && this.#sent.length > 0 ? random.pick(this.#sent) : this.#make()
    this.#sent = [...this.#sent.slice(-20), sent]
    if (!random.chance(0.15)) return [sent]
    // Only what has the same outcome in either order: a command and its retry, or a read of what is not written.
    if (isRepeatable(sent)) return [sent, sent]
    const second = this.#make()
    return isRead(second) && (isRead(sent) || isOfReadOnly(second)) ? [sent, second] : [sent]
  }

  /** Whatever an answer names is asked for later. */
  learn ({ body, headers }: Got): void {
    const tag = headers['etag']
    if (typeof tag === 'string') this.#keep(this.#tags, tag)
    const location = headers['location'] ?? headers['content-location']
    if (typeof location === 'string') {
      const kind = kinds.find(({ home }) => location.startsWith(`${home}/`))
      const id = location.slice((kind?.home.length ?? 0) + 1)
      if (kind !== undefined && !id.includes('/')) this.#keep(this.#listIds(kind.singular), decodeURIComponent(id))
      this.#keep(this.#links, location)
    }
    const named = /"(?:next|prev|follow|first|log|operations|self)":"(\/[^"]+)"/g
    const links = Array.from(body.matchAll(named), ([, to]) => to as string)
    if (links.length > 0) this.#keep(this.#links, this.#random.pick(links))
  }

  pickId (singular: string): string {
    const odd = ['0', 'none', '-1', '1.0', '%00', 'a.json', '9007199254740993']
    return this.#random.chance(0.06) ? this.#random.pick(odd) : this.#random.pick(this.#listIds(singular))
  }

  #keep (list: string[], value: string): void {
    if (list.includes(value)) return
    list.push(value)
    if (list.length > 30) list.splice(6, 1)
  }

  #listIds (singular: string): string[] {
    return this.#ids.get(singular) as string[]
  }

  #make (): Sent {
    const random = this.#random
    // Customers can only be read.
    const kind = random.chance(0.1) ? kinds[0] as Kind : random.pick(kinds.slice(1))
    const make = random.pick([
      this.#list, this.#list, this.#item, this.#item, this.#create, this.#create, this.#operate, this.#operate,
      this.#operate, this.#attributes, this.#remove, this.#shared, this.#page, this.#link, this.#odd, this.#tool,
      this.#serve, this.#together
    ])
    const { method, url, payload, headers } = make.call(this, kind)
    const role = random.chance(0.35) ? random.pick(roles) : undefined
    return {
      method,
      url,
      ...(payload !== undefined && { payload }),
      headers: { ...(role && { 'x-role': role }), ...headers }
    } as Sent
  }

  #accept (): Record<string, string> {
    return this.#random.chance(0.7) ? { accept: this.#random.pick(accepts) } : {}
  }

  /** Headers of a write. */
  #conditions (): Record<string, string> {
    const random = this.#random
    const key = random.pick(['k-1', 'k-2', '"k-1"', 'k 3', '', `n-${random.below(30)}`])
    return {
      ...(random.chance(0.12) && { 'if-match': random.pick(this.#tags) }),
      ...(random.chance(0.03) && { 'if-none-match': random.pick(this.#tags) }),
      ...(random.chance(0.2) && { 'idempotency-key': key }),
      ...(random.chance(0.1) && { prefer: random.pick(['return=minimal', 'return=representation']) }),
      ...(random.chance(0.3) && this.#accept())
    }
  }

  #list ({ home, fields }: Kind): Partial<Sent> {
    const random = this.#random
    const values = [
      '1', '3', '2.50', 'Tea', 'true', 'open', '2026-03-01', '', 'a b', '%zz', 'null', '2026-01-01T00:00:09Z'
    ]
    const operators = ['.eq', '.ne', '.gt', '.gte', '.lt', '.lte', '.has', '.regex', '.in']
    const terms = Array.from({ length: random.below(4) }, () => {
      const field = random.chance(0.05) ? 'nothing' : random.pick(['id', ...fields])
      return random.pick([
        () => `${field}=${random.pick(values)}`,
        () => `${field}${random.pick(operators)}=${random.pick(values)}`,
        () => `${random.pick(['min', 'max'])}-${field}=${random.pick(values)}`,
        () => `${random.pick(['gt', 'lt', 'min', 'max'])}=${random.pick(values)}`,
        () => `${field}${random.pick(['>=', '<=', '>', '<'])}${random.pick(values)}`,
        () => `sort=${random.pick(['', '-'])}${field}`,
        () => `fields=id,${field}`,
        () => `or.${field}.gte=${random.pick(values)}`,
        () => `${field}.null=${random.pick(['true', 'false', '1'])}`,
        () => random.pick([
          'count=exact', 'page=2', 'page=0', 'maxpagesize=2', 'search=te', 'state=open', 'download=true',
          'expand=shop', 'expand=product', 'expand=store', 'expand=article', 'format=xml', 'format=html', 'format=csv'
        ])
      ])()
    }).join('&')
    const path = home + (random.chance(0.1) ? random.pick(suffixes) : random.chance(0.1) ? '/' : '')
    if (random.chance(0.05)) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return { method: 'QUERY' as 'GET', url: path, payload: terms, headers }
    }
    const asked = random.chance(0.15) ? `${home}/commands` : path
    const url = terms === '' ? asked : `${asked}?${terms}`
    return { method: random.chance(0.04) ? 'HEAD' : 'GET', url, headers: this.#accept() }
  }

  #item ({ home, singular, actions }: Kind): Partial<Sent> {
    const random = this.#random
    const nouns = Object.values(actions).map(([words]) => words.at(-1) as string)
    const part = random.chance(0.5) ? '' : `/${random.pick(['commands', 'operations', 'commands/c-1', ...nouns])}`
    const end = random.chance(0.1) ? random.pick(suffixes) : ''
    return {
      method: 'GET',
      url: `${home}/${encodeURIComponent(this.pickId(singular))}${part}${end}`,
      headers: { ...this.#accept(), ...(random.chance(0.3) && { 'if-none-match': random.pick(this.#tags) }) }
    }
  }

  #create ({ home, body }: Kind): Partial<Sent> {
    const random = this.#random
    const odd = random.pick([{ id: 7 }, { more: 1 }, { status: 'open' }])
    const payload = { ...body(random, this), ...(random.chance(0.05) && odd) }
    return { method: 'POST', url: random.chance(0.5) ? home : `${home}/`, payload, headers: this.#conditions() }
  }

  #operate (kind: Kind): Partial<Sent> {
    const { home, singular, actions } = kind
    const random = this.#random
    const id = this.pickId(singular)
    const action = random.chance(0.04) ? 'NoAction' : random.pick(Object.keys(actions))
    const [words = ['none'], makeParams = (): object => ({})] = actions[action] ?? []
    const params = makeParams(random, this)
    const command = random.pick(['c-1', 'c-2', 'c-3', `d-${random.below(40)}`, `d-${random.below(40)}`, 'c 4'])
    const url = `${home}/${encodeURIComponent(id)}`
    const own = { [singular]: /^\d+$/.test(id) && singular !== 'deal' ? Number(id) : id }
    const prefix = findPrefixOf(kind)
    const form = writeForm(Object.entries(params))
    const headers = this.#conditions()
    return random.pick<() => Partial<Sent>>([
      () => ({ method: 'PUT', url: `${url}/${words[0]}`, payload: params, headers }),
      () => ({ method: 'PUT', url: `${url}/${words[1] ?? words[0]}`, payload: params, headers }),
      () => ({ method: 'POST', url: `${url}/${words.at(-1)}`, payload: params, headers }),
      () => ({ method: 'PUT', url, payload: { action, params }, headers }),
      () => ({ method: 'PUT', url: `${url}/commands/${command}`, payload: { action, params }, headers }),
      () => {
        const payload = { ...own, action, params }
        return { method: 'PUT', url: `${prefix}/rest/commands/${command}`, payload, headers }
      },
      () => {
        const payload = { id: Object.values(own)[0], ...params }
        return { method: 'POST', url: `${prefix}/command/${action}/`, payload, headers }
      },
      () => ({
        method: 'POST',
        url: `${prefix}/rest/commands`,
        payload: {
          ...(random.chance(0.4) && { atomic: true }),
          commands: [{ ...own, action, params }, { ...own, action: random.pick(Object.keys(actions)), id: command }]
        },
        headers
      }),
      () => ({
        method: 'POST',
        url: `${url}/${words.at(-1)}`,
        payload: `_key=f-${random.below(4)}&${random.chance(0.4) ? '_confirm=1&' : ''}${form}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
      })
    ])()
  }

  #attributes ({ home, singular, body, fields }: Kind): Partial<Sent> {
    const random = this.#random
    const payload: Record<string, unknown> = { ...body(random, this) }
    if (random.chance(0.6)) for (const name of Object.keys(payload).slice(1)) delete payload[name]
    const held = random.pick([{ held: true, holdReason: 'a' }, { held: false }])
    if (random.chance(0.3) && singular === 'deal') Object.assign(payload, held)
    if (random.chance(0.1)) payload[random.pick(fields)] = null
    const url = `${home}/${encodeURIComponent(this.pickId(singular))}`
    return { method: random.pick(['PUT', 'PATCH']), url, payload, headers: this.#conditions() }
  }

  #remove ({ home, singular }: Kind): Partial<Sent> {
    const url = `${home}/${encodeURIComponent(this.pickId(singular))}`
    return { method: 'DELETE', url, headers: this.#conditions() }
  }

  #shared (kind: Kind): Partial<Sent> {
    const random = this.#random
    const prefix = findPrefixOf(kind)
    const paths = [
      '/', '/rest/commands', '/rest/commands?maxpagesize=3', '/rest/commands/c-1', '/query/deals/deal-1',
      '/query/deals-by-status/open', '/query/customers-by-age/30', '/query/products-by-stock/10', '/query/none/1',
      '/rest/commands?sort=-position', '/rest/commands?family=deals'
    ]
    return { method: 'GET', url: prefix + random.pick(paths), headers: this.#accept() }
  }

  /** A form of a page, for a new item or several. */
  #page ({ home, body, singular, actions }: Kind): Partial<Sent> {
    const random = this.#random
    const entries = Object.entries(body(random, this))
    const several = Object.entries(actions)[0]?.[1][0].at(-1) ?? 'none'
    const form = random.chance(0.7)
      ? writeForm([['_key', `f-${random.below(5)}`], ...entries])
      : writeForm([
        ['_key', `m-${random.below(5)}`], ['_operation', several], [`_item.${this.pickId(singular)}`, '1'],
        ...(random.chance(0.6) ? [['_ready', '1']] : []), ...entries
      ])
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
    return { method: 'POST', url: home, payload: form, headers }
  }

  #link (): Partial<Sent> {
    return { method: 'GET', url: this.#random.pick(this.#links), headers: this.#accept() }
  }

  #odd ({ home, singular }: Kind): Partial<Sent> {
    const random = this.#random
    const url = random.pick([home, `${home}/${this.pickId(singular)}`, `${home}/1/none`, '/crm/none', `${home}/1/2/3`])
    const headers = { 'content-type': random.pick(['application/json', 'text/plain', 'application/merge-patch+json']) }
    const payload = random.pick(['{', '[]', '"a"', '{"a":1,"a":2}', '{"name":"\\ud800"}', '', 'null'])
    return { method: random.pick(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const), url, payload, headers }
  }

  /** What a service is asked, through a route of the application. */
  #serve (): Partial<Sent> {
    const random = this.#random
    const { service, singular, actions, body } = random.pick(served)
    const id = singular === 'deal' ? this.pickId(singular) : Number(this.pickId(singular))
    const command = random.chance(0.3) ? { command: `s-${random.below(20)}` } : {}
    const key = random.chance(0.3) ? { key: `s-${random.below(20)}` } : {}
    const role = random.chance(0.35) ? random.pick(roles) : undefined
    const [action = '', [, makeParams]] = random.pick(Object.entries(actions))
    const operation = action.replace(/[A-Z][a-z]+$/, '').replace(/^./, first => first.toLowerCase())
    const run = { operation, id, params: makeParams(random, this) }
    const revision = random.chance(0.2) ? { revision: random.below(4) } : {}
    const [method, args, options] = random.pick<readonly [Call['method'], readonly unknown[], object?]>([
      ['create', [body(random, this)], key],
      ['run', [operation, id, run.params], { ...command, ...revision }],
      ['run', [operation, id, run.params], key],
      ['runAll', [[run, { ...run, ...command }, { operation: 'create', params: body(random, this), ...key }]],
        { atomic: true }],
      ['runAll', [[run, { ...run, ...command }]]],
      ['remove', [id], { ...key, ...revision }],
      ['get', [id]],
      ['find', [random.pick(['', 'sort=-id', 'maxpagesize=2', 'none=1', 'id=1'])]],
      ['log', [id]],
      ['follow', []]
    ])
    const principal = role !== undefined && (method !== 'follow' || role === 'ann') ? { principal: role } : {}
    const payload: Call = { method, args, options: { ...options, ...principal } }
    return { method: 'POST', url: `/service/${service}`, payload: payload as never, headers: {} }
  }

  /** Several commands on several items. */
  #together (kind: Kind): Partial<Sent> {
    const random = this.#random
    const { singular, actions, body } = kind
    const prefix = findPrefixOf(kind)
    // Otherwise, commands of different items run side by side, and may be logged in any order.
    const atomic = random.chance(0.4)
    const own = this.pickId(singular)
    const creation = `Create${singular[0]?.toUpperCase()}${singular.slice(1)}`
    const known = [...Object.keys(actions), ...atomic || Object.keys(actions).length === 0 ? [creation] : []]
    const commands = Array.from({ length: random.below(6) }, () => {
      const id = atomic ? this.pickId(singular) : own
      const action = random.pick(known)
      const makeParams = actions[action]?.[1] ?? body
      return {
        ...(makeParams !== body && { [singular]: /^\d+$/.test(id) && singular !== 'deal' ? Number(id) : id }),
        action,
        params: makeParams(random, this),
        ...(random.chance(0.4) && { id: `t-${random.below(20)}` }),
        ...(random.chance(0.1) && { revision: random.below(3) })
      }
    })
    const payload = { ...(atomic || random.chance(0.2)) && { atomic }, commands }
    return { method: 'POST', url: `${prefix}/rest/commands`, payload, headers: this.#conditions() }
  }

  #tool (kind: Kind): Partial<Sent> {
    const { singular, body, actions, fields } = kind
    const random = this.#random
    const id = this.pickId(singular)
    const tools = kind.home.split('/').at(-1)
    const edit = Object.entries(actions).find(([action]) => action.startsWith('Edit'))?.[1][1] ?? body
    const prefix = findPrefixOf(kind) === '/renamed' ? '/renamed' : '/crm'
    const call = prefix === '/renamed'
      ? random.pick([
        { method: 'tools/list' },
        { method: 'tools/call', params: { name: `${tools}_find`, arguments: { [random.pick(fields)]: 'a' } } },
        { method: 'tools/call', params: { name: `${tools}_get`, arguments: { id: toId(id) } } },
        { method: 'tools/call', params: { name: `${tools}_create`, arguments: body(random, this) } },
        { method: 'tools/call', params: { name: `${tools}_edit`, arguments: { id: toId(id), ...edit(random, this) } } },
        { method: 'tools/call', params: { name: `${tools}_log`, arguments: { id: toId(id) } } }
      ])
      : random.pick([
        { method: 'tools/list' },
        { method: 'tools/call', params: { name: 'deals_find', arguments: { status: 'open' } } },
        { method: 'tools/call', params: { name: 'deals_get', arguments: { id } } },
        { method: 'tools/call', params: { name: 'deals_hold', arguments: { id: this.pickId('deal'), reason: 'a' } } },
        { method: 'tools/call', params: { name: 'deals_create', arguments: { name: random.pick(texts), price: 1 } } },
        { method: 'tools/call', params: { name: 'deals_log', arguments: { id: this.pickId('deal') } } },
        { method: 'none' }
      ])
    const payload = { jsonrpc: '2.0', id: 1, ...call }
    return { method: 'POST', url: `${prefix}/mcp`, payload, headers: { accept: 'application/json, text/event-stream' } }
  }
}
