import { STATUS_CODES } from 'node:http'
import { makeExample } from '../../core/values/example.js'
import type { Document, Json } from './components.js'
import { Components, nameOf } from './components.js'
import { mark, parameterMark, toPascalCase } from './mark.js'

/**
 * Of a route that is in no document. @fastify/swagger, where a host has it, calls this when it makes the document and
 * comes to the route; what the routes before it say is there already, whatever the host made of it.
 */
export const swaggerConfig = {
  swaggerTransform ({ openapiObject }: Readonly<Record<string, Document | undefined>>): object {
    // In a document of Swagger 2 everything stays where it is.
    if (openapiObject !== undefined) nameComponents(openapiObject)
    return {}
  }
}

/** Makes components of all that our operations in a document have in common, and leaves everything else alone. */
function nameComponents (document: Document): void {
  const ours = Object.values(document.paths ?? {}).flatMap(path =>
    Object.entries(path)
      .filter(([, operation]) => typeof operation[mark] === 'string')
      .map(([method, operation]) => ({ path, method, operation })))
  if (ours.length === 0) return
  const writer = new DocumentWriter(document)
  for (const { path, method, operation } of ours) path[method] = writer.writeOperation(operation)
}

class DocumentWriter {
  readonly #document: Document
  readonly #components: Components

  constructor (document: Document) {
    this.#document = document
    this.#components = new Components(document)
  }

  writeOperation ({ [mark]: about, parameters, requestBody, responses, ...operation }: Json): Json {
    this.#addTag((operation['tags'] as string[] | undefined)?.[0], about as string)
    return {
      ...operation,
      ...(parameters === undefined ? {} : { parameters: (parameters as Json[]).map(each => this.#addParameter(each)) }),
      ...(requestBody === undefined ? {} : { requestBody: this.#writeBody(requestBody as Json) }),
      responses: Object.fromEntries(
        Object.entries(responses as Record<string, Json>).map(([status, each]) =>
          [status, this.#addResponse(status, each)]))
    }
  }

  #addTag (name: string | undefined, description: string): void {
    const { tags = [] } = this.#document
    if (name === undefined || tags.some(tag => tag.name === name)) return
    this.#document.tags = [...tags, { name, description }]
  }

  #addParameter (parameter: Json): Json {
    const { schema, required, ...others } = parameter
    const { [parameterMark]: marked, ...bare } = (schema ?? {}) as Json
    if (marked === undefined) return parameter
    const isRequired = required === true ? { required } : {}
    return this.#components.add('parameters', marked as string, {
      ...others, ...isRequired, schema: this.#writeSchema(bare)
    })
  }

  #writeBody (body: Json): Json {
    const content = this.#writeContent(body['content'] as Record<string, Json>)
    const [first] = Object.values(content)
    return { ...body, required: !this.#takesNothing((first?.['schema'] ?? {}) as Json), content }
  }

  // An empty body is the empty object.
  #takesNothing (schema: Json): boolean {
    const { type, required, anyOf } = this.#components.resolve(schema)
    if (anyOf !== undefined) return (anyOf as Json[]).some(each => this.#takesNothing(each))
    return type === 'object' && (required as string[] | undefined ?? []).length === 0
  }

  #addResponse (status: string, { headers, content, ...response }: Json): Json {
    const written = content === undefined ? undefined : this.#writeContent(content as Record<string, Json>)
    return this.#components.add('responses', nameResponse(status, written), {
      ...response,
      ...this.#addEach('headers', headers),
      ...(written === undefined ? {} : { content: written })
    })
  }

  #addEach (kind: 'headers' | 'examples', all: unknown): Json {
    const named = Object.entries((all ?? {}) as Record<string, Json>)
      .map(([name, each]) => [name, this.#components.add(kind, toPascalCase(name), each)])
    return named.length === 0 ? {} : { [kind]: Object.fromEntries(named) }
  }

  #writeContent (content: Record<string, Json>): Record<string, Json> {
    return Object.fromEntries(Object.entries(content).map(([type, { example, examples, schema, ...media }]) => {
      // It was the schema's before it was put here, and is again.
      const whole = example === undefined ? schema as Json : { ...schema as Json, examples: [example] }
      return [type, { schema: this.#writeSchema(whole), ...media, ...this.#addEach('examples', examples) }]
    }))
  }

  /** A schema with references to components in the place of all that have a name. */
  #writeSchema (schema: Json): Json {
    const { [mark]: marked, ...written } = this.#writeMembers(schema)
    if (marked === undefined) return written
    const { example, examples, ...bare } = written
    // A page of documentation would fill in plain values as if they were meant.
    const isPlain = written['type'] === undefined
    const made = isPlain ? undefined : makeExample(written, each => this.#components.resolve(each))
    return this.#components.add('schemas', marked as string, { ...bare, ...this.#writeExample(made) })
  }

  #writeMembers (schema: Json): Record<string, unknown> {
    const written: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(schema)) written[key] = this.#writeMember(key, value)
    const { examples, ...others } = written
    return Array.isArray(examples) ? { ...this.#writeExample(examples[0]), ...others } : written
  }

  #writeMember (key: string, value: unknown): unknown {
    if (['anyOf', 'oneOf', 'allOf'].includes(key)) return (value as Json[]).map(each => this.#writeSchema(each))
    if (key === 'items' && isObject(value)) return this.#writeSchema(value)
    if (key !== 'properties') return value
    return Object.fromEntries(Object.entries(value as Record<string, Json>).map(([name, each]) =>
      [name, this.#writeSchema(each)]))
  }

  /** Up to OpenAPI 3.0, a schema has one example. */
  #writeExample (example: unknown): Json {
    if (example === undefined) return {}
    return this.#document.openapi?.startsWith('3.0') === true ? { example } : { examples: [example] }
  }
}

function nameResponse (status: string, content: Record<string, Json> | undefined): string {
  const [first] = Object.values(content ?? {})
  const schema = nameOf((first?.['schema'] ?? {}) as Json)
  const words = toPascalCase(STATUS_CODES[status] ?? status)
  if (schema === undefined || Number(status) >= 400) return words
  return status === '200' || schema.startsWith(words) ? schema : words + schema
}

function isObject (value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
