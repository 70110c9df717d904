import { errorCodes } from '../errors.js'
import type { Family } from '../family/family.js'
import { notFound } from '../problems.js'
import type { Grammar } from '../query/grammar.js'
import type { callRules } from '../service/arguments.js'
import type { Caller } from '../service/caller.js'
import type { Outcome } from '../service/execute.js'
import type { Called } from '../service/renamed.js'
import type { CallOptions } from '../service/service.js'
import type { Id } from '../storage/storage.js'
import { didYouMean } from '../values/words.js'
import { type Action, listActions } from './offers.js'

/** Where a book gets its callers from, and what holds for all their calls. */
export interface BookSource {
  /** Checks the options of a call. */
  open (options: CallOptions, rule: keyof typeof callRules): Caller
  /** For clients, whose pages of lists and logs are limited. @param family as the caller sees it */
  grammarsOf? (family: Family): { [K in 'grammar' | 'logGrammar' | 'deletedGrammar']: Grammar }
  /** Whether a change of an item needs its revision. */
  readonly needsRevision?: boolean
  /** The most commands that `runAll` takes. */
  readonly maxCommands?: number
  note? (outcome: Outcome): void
}

/** What the methods of a book share. */
export class BookParts {
  /** What a caller may do. */
  readonly actions: readonly Action[]
  readonly #byName: ReadonlyMap<string, Action>

  constructor (readonly family: Family, readonly source: BookSource) {
    this.actions = listActions(family)
    const isOperation = ({ kind }: Action): boolean => kind === 'operation'
    // An operation counts before a method of the same name.
    const inOrder = [...this.actions.filter(each => !isOperation(each)), ...this.actions.filter(isOperation)]
    this.#byName = new Map(inOrder.map(each => [each.name, each]))
  }

  /** The family as a caller may use it. */
  open (options: CallOptions, rule: keyof typeof callRules): Called {
    return { family: this.family, caller: this.source.open(options, rule) }
  }

  find (name: string, kinds: readonly Action['kind'][] = allKinds): Action {
    const found = this.#byName.get(name)
    return found !== undefined && kinds.includes(found.kind) ? found : this.refuseOperation(name)
  }

  findOwn (kind: 'create' | 'remove' | 'restore' | 'revert'): Action {
    return this.actions.find(each => each.kind === kind) ?? this.refuseOperation(kind)
  }

  checkId (id: Id): Id {
    const { family } = this
    if (family.readId(String(id)) !== id) throw notFound(family.singular, id)
    return id
  }

  refuseOperation (name: string): never {
    const names = this.actions.flatMap(each => each.target === undefined ? [] : each.name)
    throw new errorCodes.FST_DEALBOOK_UNKNOWN_OPERATION(this.family.name, name, didYouMean(name, names))
  }
}

/** What `run` does. */
export const changes = ['edit', 'operation', 'restore', 'revert'] as const
const allKinds = [...changes, 'find', 'get', 'create', 'remove'] as const
