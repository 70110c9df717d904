import type { FastifyInstance } from 'fastify'
import { type Got, Requests, type Sent } from './requests.js'

/** An application that answers requests. */
export interface Side {
  readonly name: string
  /** The answers to requests that are sent at once. */
  send (step: readonly Sent[]): Promise<Got[]>
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
    const step = random.next()
    const unsent = step.map(sent => findUnsent?.(sent)).find(reason => reason !== undefined)
    if (unsent !== undefined) {
      count(unsent)
      continue
    }
    requests += step.length
    const [first = [], ...others] = await Promise.all(sides.map(side => sendStep(side, step, index + 1)))
    for (const other of others) {
      for (const [which, sent] of step.entries()) {
        const answers = [first[which], other[which]] as [Got, Got]
        const parts = listParts(...answers)
        if (parts.length === 0) continue
        const reason = findMeant?.(sent, ...answers)
        if (reason === undefined) {
          const difference = { seed, index, sent, names: sides.map(({ name }) => name), answers, parts }
          return { requests, meant, difference }
        }
        count(reason)
      }
    }
    for (const answer of first) random.learn(answer)
  }
  return { requests, meant, difference: undefined }
}

async function sendStep (side: Side, step: readonly Sent[], index: number): Promise<Got[]> {
  const answers = await side.send(step.map((sent, which) =>
    ({ ...sent, headers: { ...sent.headers, step: `${index}.${which}` } })))
  if (step.length < 2 || step[0] !== step[1]) return answers
  // Of two that are the same, either may be the first.
  return answers.sort((one, other) => JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)
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

/** Sends them all, then waits. */
export async function inject (app: FastifyInstance, step: readonly Sent[]): Promise<Got[]> {
  return (await Promise.all(step.map(sent => app.inject(sent)))).map(readAnswer)
}

function readAnswer (answer: { statusCode: number, headers: object, body: string }): Got {
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
