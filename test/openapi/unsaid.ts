import type { ValidateFunction } from 'ajv/dist/2020.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { Route } from '../authorization/routes.js'
import { fillIn } from './whole.js'

type Schema = Readonly<Record<string, unknown>>

interface Answer {
  readonly description: string
  readonly headers?: object
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

interface Operation {
  readonly parameters?: readonly { readonly name: string, readonly schema: { readonly enum?: readonly string[] } }[]
  readonly responses: Readonly<Record<string, Answer>>
}

const ajv = new Ajv2020({ strict: false, validateFormats: false })
const validators = new WeakMap<Schema, ValidateFunction>()

/** What is wrong with a value by a schema; empty where nothing is. */
export function findFlaws (schema: Schema, value: unknown): string {
  let validate = validators.get(schema)
  if (validate === undefined) validators.set(schema, validate = ajv.compile(schema))
  return validate(value) ? '' : ajv.errorsText(validate.errors)
}

// What others have too, and what says that a version goes, for which a document has `deprecated`.
const headersOfAll = [
  'allow', 'cache-control', 'connection', 'content-length', 'content-security-policy', 'content-type', 'date',
  'deprecation', 'referrer-policy', 'sunset', 'transfer-encoding', 'vary', 'x-content-type-options', 'x-frame-options',
  // Headers of HTTP that clients know, or that only people read.
  'accept', 'accept-patch', 'accept-post', 'accept-query', 'content-location', 'etag', 'idempotent-replayed',
  'last-modified', 'location', 'preference-applied', 'retry-after', 'www-authenticate'
]

/** What the document of a host says of its answers. */
export class Description {
  readonly #document: Document
  readonly #filled = new Map<string, Schema>()

  constructor (app: FastifyInstance) {
    this.#document = JSON.parse(JSON.stringify(app.swagger()))
  }

  /** The schema of problems, for what has no place in the document. */
  get problem (): Schema {
    return this.#document.components.schemas['dealbook.Problem'] as Schema
  }

  get #anyProblem (): Answer {
    return { description: 'A problem', content: { 'application/problem+json': { schema: this.problem } } }
  }

  has (route: Route): boolean {
    return this.#find(route) !== undefined
  }

  #find ({ method, url }: Route): Operation | undefined {
    // What has a suffix is only read.
    if (url.endsWith('.:extension') && method !== 'GET') return undefined
    const path = url.replace('.:extension', '').replaceAll(/:(\w+)/g, '{$1}')
    const { paths } = this.#document
    const own = paths[path]?.[method.toLowerCase()]
    if (own !== undefined) return own
    // One path may be described for several words.
    const shared = paths[path.replace(/[^/]+$/, '{word}')]?.[method.toLowerCase()]
    const words = shared?.parameters?.find(({ name }) => name === 'word')?.schema.enum ?? []
    return words.includes(path.split('/').at(-1) as string) ? shared : undefined
  }

  /**
   * What is not said of an answer; empty where all of it is.
   *
   * @param isPart whether only some members were asked for
   */
  findUnsaid (route: Route, answer: LightMyRequestResponse, isPart = false): string {
    const { statusCode, headers, body } = answer
    const operation = this.#find(route)
    if (operation === undefined) return `${route.url} is not described`
    const { default: problem, ...others } = operation.responses
    // Forms other than the recommended one are described without problems, which are the same there.
    const isForm = problem === undefined
    const said = others[statusCode] ?? (statusCode >= 400 ? problem ?? this.#anyProblem : undefined)
    const what = `${statusCode} ${codeOf(answer) ?? ''}`
    // What is described briefly: only what is answered with a body, as JSON.
    const isBrief = isForm || /\/(commands|operations)\b|\/query\//.test(route.url)
    if (said === undefined && isBrief && body === '') return ''
    if (said === undefined) return `${what} is not described: ${body.slice(0, 200)}`
    const known = [...headersOfAll, ...Object.keys(said.headers ?? {}), ...isBrief ? ['link'] : []]
    // A refusal may have the link to a later version, or stand in the page that the form was on.
    const unsaid = Object.keys(headers).filter(name => !known.includes(name) && (name !== 'link' || statusCode < 400))
    if (unsaid.length > 0) return `${what}: headers that are not described: ${unsaid.join(', ')}`
    if (body === '') return ''
    const type = String(headers['content-type']).split(';')[0] as string
    // A problem is described as JSON; the page of a form shows it too.
    if (statusCode >= 400 && !isJson.test(type)) return ''
    // Representations are described where items are read.
    if ((route.method !== 'GET' || isBrief) && !isJson.test(type)) return ''
    const schema = said.content?.[type]?.schema
    if (schema === undefined) return `${what} is not described as ${type}: ${body.slice(0, 200)}`
    return isJson.test(type) ? this.#findFlaws(schema, JSON.parse(body), isPart) : ''
  }

  #findFlaws (schema: Schema, value: unknown, isPart: boolean): string {
    const key = JSON.stringify(schema)
    let filled = this.#filled.get(key)
    if (filled === undefined) this.#filled.set(key, filled = fillIn(schema, { ...this.#document }) as Schema)
    return findFlaws(isPart ? requireNothing(filled) : filled, value)
  }
}

const isJson = /[/+]json$/

/** The code of a problem; undefined where it is none, or not in JSON. */
export function codeOf ({ headers, body }: LightMyRequestResponse): string | undefined {
  if (!String(headers['content-type']).startsWith('application/problem+json')) return undefined
  return (JSON.parse(body) as { type: string }).type.replace('urn:dealbook:problem:', '')
}

const parts = new WeakMap<Schema, Schema>()

function requireNothing (schema: Schema): Schema {
  let part = parts.get(schema)
  if (part === undefined) {
    part = JSON.parse(JSON.stringify(schema, (name, value) => name === 'required' ? undefined : value)) as Schema
    parts.set(schema, part)
  }
  return part
}
