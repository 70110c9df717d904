import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from '@sinclair/typebox'
import type { FieldChange, FieldChanges } from '../family/changes.js'
import { nameAction } from '../family/declared-operations.js'
import type { Family } from '../family/family.js'
import { erasedText, findNeutral, isChoice, isNeutralText, makeDistinct } from '../family/neutral.js'
import { canonicalizeItem } from '../family/params.js'
import { eraseMembers, type ErasureRule } from '../family/personal.js'
import { problemCodes } from '../problems.js'
import { addDerived, refuseInvalidItem } from '../service/open-items.js'
import type { CommandRecord, KeptProblem } from '../service/record.js'
import { longestText } from '../service/refusal.js'
import type { Field, Id, Stored } from '../storage/storage.js'
import { type Members, unescapePointer } from '../values/json.js'
import { getPathField } from '../values/paths.js'

/** The versions of a family that are known: together they have all its fields and parameters. */
export class ErasedFamily {
  readonly #personal: ReadonlySet<string>
  readonly #derived: ReadonlySet<string>
  /** Texts that a rule may have made of personal data. */
  readonly #derivedTexts: ReadonlySet<string>
  readonly #unique: ReadonlySet<string>
  readonly #schemas: readonly TSchema[]

  /** @param versions at least one, under the names of the storage */
  constructor (readonly versions: readonly Family[]) {
    const derived = versions.flatMap(({ derived }) => [...derived.keys()])
    const texts = versions.flatMap(({ ownFields }) => ownFields)
      .filter(({ kind, values }) => kind === 'json' || (kind === 'string' && values === undefined))
    this.#personal = new Set(versions.flatMap(({ personal }) => [...personal]))
    this.#derived = new Set(derived)
    this.#derivedTexts = new Set(texts.map(({ name }) => name).filter(name => derived.includes(name)))
    this.#unique = new Set(versions.flatMap(({ shape: { unique = [] } }) => unique.flat()))
    this.#schemas = versions.map(({ schema }) => schema)
  }

  get name (): string {
    return (this.versions[0] as Family).name
  }

  /** In the log, for the erasure of an item. */
  get action (): string {
    return nameAction('Erase', (this.versions[0] as Family).singular)
  }

  get isPersonal (): boolean {
    return this.#personal.size > 0
  }

  /** Undefined if no item can have the id. */
  readId (id: Id): Id | undefined {
    return this.versions.map(version => version.readId(String(id))).find(found => found !== undefined)
  }

  /** The same item if nothing is to be erased. Fields that rules compute follow. */
  eraseItem (item: Stored, rule: ErasureRule): Stored {
    const isMarked: ErasureRule['isMarked'] = (path, value) =>
      !this.#derived.has(getPathField(path)) && rule.isMarked(path, value)
    const erased = eraseMembers(item, this.#schemas, { ...rule, isMarked })
    if (erased === item) return item
    return this.versions.reduce((known, version) => deriveAgain(version, known), erased)
  }

  isDerivedText (path: string): boolean {
    return this.#derivedTexts.has(path)
  }

  /** Whether a path leads to personal data, or into it. */
  isWithin (path: string): boolean {
    const names = path.split('.')
    return names.some((_, end) => this.#personal.has(names.slice(0, end + 1).join('.')))
  }

  get fields (): readonly Field[] {
    const fields = this.versions.flatMap(({ ownFields }) => ownFields)
    return [...new Map(fields.map(field => [field.name, field])).values()]
  }

  /** For an item that is stored: what is personal. */
  markFields (id: Id): ErasureRule {
    const distinct = makeDistinct(this.name, id)
    return {
      isMarked: path => this.#personal.has(path),
      replace: (path, schemas, isOptional) =>
        isOptional ? undefined : findNeutral(schemas, this.#unique.has(path) ? distinct : undefined)
    }
  }

  /** For the log, which has no rules to compute texts again. */
  markLogged (id: Id): ErasureRule {
    return { ...this.markFields(id), isMarked: path => this.#personal.has(path) || this.isDerivedText(path) }
  }

  eraseFields<T extends Members> (members: T, rule: ErasureRule): T {
    return eraseMembers(members, this.#schemas, rule)
  }

  eraseParams (action: string, params: Members, rule: ErasureRule): Members {
    const schemas = this.versions.flatMap(({ operations, lifecycle }) => {
      const found = operations.get(action) ?? (lifecycle?.createAction === action ? lifecycle : undefined)
      return found === undefined ? [] : [found.params.schema]
    })
    return eraseMembers(params, schemas.length === 0 ? this.#schemas : schemas, rule)
  }

  /** Whether a command of this family may have changed other items. */
  mayReachOthers (action: string): boolean {
    return this.versions.every(version => {
      const change = findReach(version, action)
      return change === undefined || reachesOthers(change)
    })
  }

  /** Whether rules of this family get items of another one, or other items of their own. */
  mayName (family: string): boolean {
    return this.versions.some(version => listReaches(version).some(({ others }) =>
      others.some(other => (other.family ?? version).name === family)))
  }
}

function findReach ({ lifecycle, changes }: Family, action: string): Reach | undefined {
  return lifecycle?.createAction === action ? lifecycle : changes.get(action)
}

function listReaches ({ lifecycle, changes }: Family): Reach[] {
  return [...changes.values(), ...lifecycle === undefined ? [] : [lifecycle]]
}

interface Reach {
  readonly others: readonly { readonly family: { readonly name: string } | undefined }[]
  readonly creates?: readonly unknown[]
}

function reachesOthers ({ others, creates = [] }: Reach): boolean {
  return others.length > 0 || creates.length > 0
}

/** Values that stay need not fit: a field may have become stricter since they were stored. */
function deriveAgain (family: Family, item: Stored): Stored {
  const { ownFields, schema, derived } = family
  if (derived.size === 0) return item
  const isOwn = (name: string): boolean => ownFields.some(field => field.name === name)
  const own = Object.fromEntries(Object.entries(item).filter(([name]) => Object.hasOwn(schema.properties, name)))
  const made = canonicalizeItem(ownFields, addDerived(family, 'erase', own))
  refuseInvalidItem(family, 'erase', family.validate(made).filter(({ pointer }) => {
    const [, name = ''] = pointer.split('/')
    return derived.has(unescapePointer(name))
  }))
  return { ...Object.fromEntries(Object.entries(item).filter(([name]) => !isOwn(name))), ...made } as Stored
}

/** The same for the log, also texts that rules have made of the name. */
export function markAuthorLogged (family: ErasedFamily, name: string, rule: ErasureRule): ErasureRule {
  const hasName = makeTextFinder(new Set([name]))
  return {
    ...rule,
    isMarked: (path, value) => rule.isMarked(path, value) || (family.isDerivedText(path) && hasName(value))
  }
}

/** Marks the name of a principal at some paths. The mark is a text where the schema allows one. */
export function markAuthor (name: string, paths: ReadonlySet<string>): ErasureRule {
  return {
    isMarked: (path, value) => value === name && paths.has(path),
    replace: (_path, schemas, isOptional) => isNeutralText(schemas) || !isOptional ? findNeutral(schemas) : undefined
  }
}

/** The paths at which members have a value. */
export function findPaths (members: Members, value: unknown): string[] {
  const paths: string[] = []
  const isMarked = (path: string, each: unknown): boolean => {
    if (each === value) paths.push(path)
    return false
  }
  eraseMembers(members, [], { isMarked })
  return paths
}

type KnownTexts = ReadonlySet<string>

/** Finds texts in a text, as whole words. */
export function makeTextFinder (texts: KnownTexts): (value: unknown) => boolean {
  const known = [...texts].map(fold)
  return value => {
    if (typeof value !== 'string') return false
    const text = fold(value)
    return known.some(each => hasWords(text, each))
  }
}

/** The same for letters that look the same. */
function fold (text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

const letter = /[\p{L}\p{N}]/u

function hasWords (text: string, words: string): boolean {
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + 1)) {
    const [before = '', after = ''] = [text[at - 1], text[at + words.length]]
    if (!letter.test(before) && !letter.test(after)) return true
  }
  return false
}

/** Calls `add` with the texts of what is erased, but for those of a choice, which are elsewhere too. */
export function collectTexts (add: (text: string) => void): NonNullable<ErasureRule['erased']> {
  const collect = (value: unknown): void => {
    if (typeof value === 'string') {
      if (letter.test(value)) add(value)
    } else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) collect(each)
  }
  return (value, schemas) => { if (!schemas.some(isChoice)) collect(value) }
}

/** What the log has of fields, without their values. A field that is absent then was never there. */
export function eraseChanges (family: ErasedFamily, changes: FieldChanges, rule: ErasureRule): FieldChanges {
  const kept: Record<string, FieldChanges[string]> = {}
  let isWhole = true
  for (const [name, change] of Object.entries(changes)) {
    const after = eraseChange(family, name, change, rule)
    if (after !== undefined) kept[name] = after
    isWhole &&= after === change
  }
  return isWhole ? changes : kept
}

// In the place of a value that the log does not have. It has no letter, so it is no text of a person.
const unknownValue = '?'

function eraseChange (
  family: ErasedFamily, name: string, change: FieldChange, rule: ErasureRule
): FieldChange | undefined {
  const { omitted = [], ...known } = change
  const values: Readonly<Record<string, unknown>> =
    { ...known, ...Object.fromEntries(omitted.map(end => [end, unknownValue])) }
  const erased: Record<string, unknown> = {}
  let isWhole = true
  for (const [end, value] of Object.entries(values)) {
    const after = family.eraseFields({ [name]: value }, rule)[name]
    if (after !== undefined) erased[end] = after
    isWhole &&= after === value
  }
  if (isWhole) return change
  const left = omitted.filter(end => erased[end] === unknownValue)
  for (const end of left) delete erased[end]
  return Object.keys(erased).length + left.length === 0
    ? undefined
    : { ...erased, ...left.length > 0 && { omitted: left } }
}

/** A digest of parameters lets them be guessed. No command has this one, so that none is taken for a retry. */
export const erasedDigest = erasedText

/** Whether the reason why a command was refused has one of the texts, or a part of one. */
export function hasText ({ detail, members, errors }: KeptProblem, isText: (value: unknown) => boolean): boolean {
  const isCut = (value: unknown): boolean => typeof value === 'string' && value.length >= longestText
  const hasOne = (value: unknown): boolean =>
    typeof value === 'object' && value !== null ? Object.values(value).some(hasOne) : isCut(value) || isText(value)
  return hasOne([detail, members, errors])
}

/** Why it was refused, without what the host says about it. */
export function eraseProblem ({ code, status }: KeptProblem): KeptProblem {
  return { code, detail: problemCodes[code].title, members: {}, ...status !== undefined && { status } }
}

/** An entry that stays as it is in all other respects; the same if nothing is to be erased. */
export function replaceParts<R extends CommandRecord> (record: R, parts: Partial<CommandRecord>): R {
  const isSame = Object.entries(parts).every(([name, value]) => isDeepStrictEqual(record[name], value))
  return isSame ? record : { ...record, ...parts }
}
