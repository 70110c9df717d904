// The appearance of a family in pages: as it is defined, and as it is compiled.
import type { FieldCondition } from '../storage/storage.js'

/** How good or bad a state is; a page shows it as a colour. */
export type Tone = 'neutral' | 'good' | 'warning' | 'bad' | 'done'

export const tones: readonly Tone[] = ['neutral', 'good', 'warning', 'bad', 'done']

/** A state of items. */
export interface StateDefinition {
  /** Default: neutral. */
  readonly tone?: Tone
  /**
   * The items in this state, by the query of a list: `status=open&held=true`. Default: those with this value, if
   * exactly one required field has it among its values.
   */
  readonly filter?: string
}

/** The labels of an operation in one language. */
export interface OperationLabel {
  /** On its button: "Hold". */
  readonly label: string
  /** After it was done: "Held". */
  readonly done?: string
}

/** The labels of a family and its parts in one language. */
export interface Labels {
  readonly plural?: string
  readonly singular?: string
  /** The button that opens the form: "New deal". */
  readonly create?: string
  /**
   * The labels of fields and of the parameters of operations, by their names, and of what is in lists and objects, by
   * its path: `{ 'lines.price': 'Unit price' }`. Default: the `title` of the schema.
   */
  readonly fields?: Readonly<Record<string, string>>
  /** The labels of operations by name, also of `create`, `delete` and `edit`. */
  readonly operations?: Readonly<Record<string, string | OperationLabel>>
  /** The labels of states, and of the values of fields that have a choice of them. */
  readonly states?: Readonly<Record<string, string>>
}

export interface CompiledState {
  readonly tone: Tone
  /** As in the query of a list; undefined if the state cannot be filtered. */
  readonly filter: string | undefined
  readonly where: readonly FieldCondition[] | undefined
}

export interface Presentation {
  /** The field that identifies an item. */
  readonly title: string
  /** The columns of a list. */
  readonly list: readonly string[]
  /** In the order in which they are shown. */
  readonly states: ReadonlyMap<string, CompiledState>
  /** The fields that `search` looks in. */
  readonly search: readonly string[]
  /** By language. */
  readonly labels: Readonly<Record<string, Labels>>
}
