import {
  describeProblems, type FamilyModel, type FamilyMount, type FamilyOptions, type JsonSchema, type MountProblems
} from '../exports.js'

/** A mount in the document of an application, with the schemas that its routes refer to. */
export class DocumentPart {
  readonly options: Partial<FamilyOptions>
  /** By their ids. */
  readonly schemas = new Map<string, JsonSchema>()
  readonly #ids = new Map<string, string>()
  readonly #texts: Map<string, string>
  #problems: MountProblems | undefined

  /**
   * @param texts the schemas of all mounts in the application, as JSON, by their ids
   * @param of the part of a mount
   */
  constructor (
    readonly mount: FamilyMount, texts: Map<string, string>, readonly of: (mount: FamilyMount) => DocumentPart
  ) {
    this.#texts = texts
    this.options = mount.options
  }

  get model (): FamilyModel {
    return this.mount.model
  }

  get problems (): MountProblems {
    this.#problems ??= describeProblems(this.mount)
    return this.#problems
  }

  /** Whether a form is the one that is described in full. */
  isRecommended (form: string | undefined): boolean {
    return form !== undefined && form === this.mount.forms[0]
  }

  /** Keeps a schema by an id that @fastify/swagger finds in the mount's scope; returns a reference to it. */
  name (name: string, schema: JsonSchema): JsonSchema {
    const { prefix, version = '' } = this.mount
    const known = this.#ids.get(name)
    if (known !== undefined) return { $ref: `${known}#` }
    const text = JSON.stringify(schema)
    // Mounts share schemas that do not differ. Otherwise, prefix and version make the id unique.
    const shared = `dealbook.${name}`
    const isShared = (this.#texts.get(shared) ?? text) === text
    const $id = isShared ? shared : [...`${prefix}/${version}`.match(/[A-Za-z0-9_-]+/g) ?? ['root'], name].join('.')
    this.#ids.set(name, $id)
    this.#texts.set($id, text)
    this.schemas.set($id, { ...schema, $id })
    return { $ref: `${$id}#` }
  }
}
