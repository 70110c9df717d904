import { isDeepStrictEqual } from 'node:util'
import { listNames } from './mark.js'

/** A value of JSON with members. */
export type Json = Readonly<Record<string, unknown>>

/** A kind of component that we make. */
export type ComponentKind = 'schemas' | 'parameters' | 'responses' | 'headers' | 'examples'

/** An OpenAPI document, as far as we have to know it. */
export interface Document {
  readonly openapi?: string
  readonly paths?: Record<string, Record<string, Json>>
  components?: Partial<Record<ComponentKind, Record<string, Json>>>
  tags?: readonly { readonly name: string, readonly description?: string }[]
}

/** The components of a document. Those of the host stay as they are. */
export class Components {
  readonly #components: Record<ComponentKind, Record<string, Json>>

  constructor (document: Document) {
    const { schemas, parameters, responses, headers, examples } = document.components ?? {}
    // Copies: what the host has given is its own, and makes its next document too.
    this.#components = {
      schemas: { ...schemas },
      parameters: { ...parameters },
      responses: { ...responses },
      headers: { ...headers },
      examples: { ...examples }
    }
    document.components = { ...document.components, ...this.#components }
  }

  /** Makes a component, or finds the same; different ones with one mark get different names, in the order they come. */
  add (kind: ComponentKind, marked: string, content: Json): { readonly $ref: string } {
    const here = this.#components[kind]
    for (const name of listNames(marked)) {
      here[name] ??= content
      if (isDeepStrictEqual(here[name], content)) return { $ref: `#/components/${kind}/${name}` }
    }
    throw new Error('there is no end of names')
  }

  /** What is meant by a reference to a schema of ours, or by the schema itself. */
  resolve (schema: Json): Json {
    const name = nameOf(schema)
    return name === undefined ? schema : this.#components.schemas[name] ?? {}
  }
}

/** The name of the component that is referred to; undefined where none is. */
export function nameOf ({ $ref }: Json): string | undefined {
  return typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined
}
