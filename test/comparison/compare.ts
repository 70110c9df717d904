import { type Got, Requests, type Sent } from './requests.js'

/** An application that answers requests. */
export interface Side {
  readonly name: string
  send (sent: Sent): Promise<Got>
}

export interface Difference {
  readonly seed: number
  readonly index: number
  readonly sent: Sent
  readonly names: readonly string[]
  readonly answers: readonly Got[]
  /** The part of the answers that differs: `status`, `body`, or the name of a header. */
  readonly parts: readonly string[]
}

export interface Compared {
  readonly requests: number
  /** How often a difference was one that is meant, by its reason. */
  readonly meant: ReadonlyMap<string, number>
  readonly difference: Difference | undefined
}

/** What two builds may differ in; for two of the same build, nothing. */
export interface Allowances {
  /** The reason why two answers may differ; undefined if they may not. */
  findMeant? (sent: Sent, before: Got, after: Got): string | undefined
  /** The reason why a request is not sent; undefined if it is. */
  findUnsent? (sent: Sent): string | undefined
}

/** Sends the same requests to all sides, until they differ in what is not meant. */
export async function compare (
  seed: number,
  length: number,
  sides: readonly Side[],
  { findMeant, findUnsent }: Allowances = {}
): Promise<Compared> {
  const random = new Requests(seed)
  const meant = new Map<string, number>()
  const count = (reason: string): void => { meant.set(reason, (meant.get(reason) ?? 0) + 1) }
  let requests = 0
  for (let index = 0; index < length; index++) {
    const sent = random.next()
    const unsent = findUnsent?.(sent)
    if (unsent !== undefined) {
      count(unsent)
      continue
    }
    requests++
    const answers = await Promise.all(sides.map(side => side.send(sent)))
    const [first, ...others] = answers as [Got, ...Got[]]
    for (const other of others) {
      const parts = listParts(first, other)
      if (parts.length === 0) continue
      const reason = findMeant?.(sent, first, other)
      if (reason === undefined) {
        const difference = { seed, index, sent, names: sides.map(({ name }) => name), answers: [first, other], parts }
        return { requests, meant, difference }
      }
      count(reason)
    }
    random.learn(first)
  }
  return { requests, meant, difference: undefined }
}

function listParts (one: Got, other: Got): string[] {
  const names = [...new Set([...Object.keys(one.headers), ...Object.keys(other.headers)])]
  return [
    ...one.status === other.status ? [] : ['status'],
    ...names.filter(name => String(one.headers[name]) !== String(other.headers[name])),
    ...one.body === other.body ? [] : ['body']
  ]
}

// They say when and how it was sent.
const ownHeaders = ['date', 'connection', 'keep-alive', 'content-length']

export function readAnswer (answer: { statusCode: number, headers: object, body: string }): Got {
  const headers = Object.entries(answer.headers).filter(([name]) => !ownHeaders.includes(name))
  return { status: answer.statusCode, headers: Object.fromEntries(headers), body: answer.body }
}

/** What a person reads to find the cause. */
export function explain ({ seed, index, sent, names, answers, parts }: Difference): string {
  const [one = '', other = ''] = answers.map(({ body }) => body)
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  const near = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 80), at + 160))
  const { method, url, headers, payload } = sent
  return [
    `seed ${seed}, request ${index}: ${method} ${url} ${JSON.stringify(headers)} ${JSON.stringify(payload) ?? ''}`,
    `  differs in ${parts.join(', ')}`,
    ...answers.map(({ status, headers, body }, which) => {
      const differing = Object.fromEntries(parts.filter(part => part in headers).map(part => [part, headers[part]]))
      return `  ${names[which]}: ${status} ${JSON.stringify(differing)} ${parts.includes('body') ? near(body) : ''}`
    })
  ].join('\n')
}
