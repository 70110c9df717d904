import type { FastifyInstance } from 'fastify'
import type { FamilyMount } from '../exports.js'
import { DocumentPart } from './document-part.js'
import { describeRoute } from './routes.js'

type Schemas = Readonly<Record<string, unknown>>

/**
 * Describes the routes of a mount in OpenAPI, as @fastify/swagger reads it: once it asks for the schemas of the scope,
 * when all is loaded. Without it, nothing is described.
 */
export function document (mount: FamilyMount, scope: FastifyInstance): void {
  const document = findDocument(scope.server)
  const part = document.add(mount)
  let isLoaded = false
  scope.setSchemaController({
    // Only in the scope of the mount, and those below: the host's instance has none of them.
    bucket (host) {
      const own = { ...host as Schemas }
      const list = (): Record<string, unknown> => {
        if (!isLoaded) return own
        document.describe()
        return { ...own, ...Object.fromEntries([...part.schemas].filter(([id]) => !Object.hasOwn(own, id))) }
      }
      return {
        add (schema) {
          own[(schema as { readonly $id: string }).$id] = schema
          return scope
        },
        getSchema: id => list()[id],
        getSchemas: list
      }
    }
  })
  // Scopes below it ask for them too, when they are made.
  scope.after(() => { isLoaded = true })
}

const documents = new WeakMap<object, Document>()

function findDocument (server: object): Document {
  const document = documents.get(server) ?? new Document()
  documents.set(server, document)
  return document
}

/** The mounts of an application. */
class Document {
  readonly #parts = new Map<FamilyMount, DocumentPart>()
  readonly #texts = new Map<string, string>()
  #described = 0

  add (mount: FamilyMount): DocumentPart {
    const part = new DocumentPart(mount, this.#texts, mount => this.#parts.get(mount) as DocumentPart)
    this.#parts.set(mount, part)
    return part
  }

  describe (): void {
    const parts = [...this.#parts.values()].slice(this.#described)
    this.#described += parts.length
    // Routes for several families after those of each, so that a schema is named by the family that has it.
    for (const areShared of [false, true]) {
      for (const part of parts) {
        for (const route of part.mount.routes) {
          const isShared = route.isShared || route.kind === 'query'
          // What hooks of the host have added stays.
          if (isShared === areShared) Object.assign(route.schema, { ...describeRoute(part, route), ...route.schema })
        }
      }
    }
  }
}
