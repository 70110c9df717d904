/** An object whose members are known only at run time. */
export type Members = Readonly<Record<string, unknown>>

export function isObject (value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The same for equal content: members are sorted, and -0 is written as 0. */
export function writeSorted (value: unknown): string {
  return JSON.stringify(value, (_name, value: unknown) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1)) : value)
}

/** With everything in it. */
export function freeze<T> (value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const name of Object.keys(value)) {
    const member = (value as Members)[name]
    if (typeof member === 'object') freeze(member)
  }
  return Object.freeze(value)
}

/** What is wrong with a member: `detail` follows its JSON pointer, as in `/price must be an integer`. */
export interface MemberFlaw {
  readonly pointer: string
  readonly detail: string
}

// Deeper nesting could exhaust the stack.
const deepest = 64

// PostgreSQL cannot store U+0000; XML and HTML cannot show the others.
// eslint-disable-next-line no-control-regex
const unsupported = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/
const allUnsupported = new RegExp(unsupported, 'g')

/** The value may come from a program and contain itself. */
export function findJsonFlaw (value: unknown): MemberFlaw | undefined {
  return findJsonFlaws(value, 1)[0]
}

/** @param enough stops after this many flaws */
export function findJsonFlaws (value: unknown, enough = Infinity): MemberFlaw[] {
  const flaws: MemberFlaw[] = []
  const path: string[] = []
  walk(value)
  return flaws

  function walk (value: unknown): void {
    if (typeof value === 'string') {
      add(findTextFlaw(value))
    } else if (typeof value === 'number') {
      if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
        add(`must be from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`)
      }
    } else if (typeof value === 'object' && value !== null) {
      if (path.length >= deepest) return add(explainDepth(deepest))
      if (!Array.isArray(value) && !isPlainObject(value)) return add(noJson)
      for (const name of Object.keys(value)) {
        if (flaws.length >= enough) return
        const flaw = findTextFlaw(name)
        if (flaw !== undefined) {
          add(`a name ${flaw}`)
          continue
        }
        path.push(name)
        walk((value as Members)[name])
        path.pop()
      }
    } else if (value !== null && typeof value !== 'boolean' && value !== undefined) {
      // JSON leaves out undefined in an object, and writes null in a list.
      add(noJson)
    }
  }

  function add (detail: string | undefined): void {
    if (detail !== undefined) flaws.push({ pointer: makePointer(path), detail })
  }
}

// Problems show less of a pointer.
const longestPointer = 200

function makePointer (path: readonly string[]): string {
  let pointer = ''
  for (const name of path) {
    if (pointer.length > longestPointer) break
    pointer += `/${escapePointer(name)}`
  }
  return pointer
}

const noJson = 'must be a JSON value'

function isPlainObject (value: object): boolean {
  const { prototype } = Object
  return Object.getPrototypeOf(value) === prototype || prototype.toString.call(value) === '[object Object]'
}

function explainDepth (maxDepth: number): string {
  return `must not be nested more than ${maxDepth} levels deep`
}

/** What prevents the text from being stored and shown unchanged; undefined if nothing does. */
export function findTextFlaw (text: string): string | undefined {
  const character = unsupported.exec(text)?.[0]
  if (character !== undefined) {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
    return `must not contain the character U+${code}`
  }
  return text.isWellFormed() ? undefined : 'must not contain a lone surrogate'
}

/** Only needed for problems that quote refused input. */
export function replaceUnsupported (text: string): string {
  return text.replace(allUnsupported, '\ufffd').toWellFormed()
}

/** Only the start of a long name: a body may have a thousand flaws under it. */
export function escapePointer (name: string): string {
  return name.slice(0, longestPointer).replaceAll('~', '~0').replaceAll('/', '~1')
}

export function unescapePointer (part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}

export function makePicker (members: readonly string[]): (item: Members) => Members {
  return item => {
    const picked: Record<string, unknown> = {}
    for (const member of members) {
      const value = item[member]
      if (value !== undefined) picked[member] = value
    }
    return picked
  }
}

/** Without the brackets: objects joined by commas. */
export function makeListWriter (members: readonly string[]): (items: readonly Members[]) => string {
  const pick = makePicker(members)
  return items => JSON.stringify(items.map(pick)).slice(1, -1)
}

export function measureAll (items: object): number {
  let length = 0
  for (const name in items) {
    const value = (items as Members)[name]
    if (typeof value === 'string') length += value.length
    else if (typeof value === 'object' && value !== null) length += measureAll(value)
    // Numbers and names count too: a large nested value may have nothing else.
    length += 8
  }
  return length
}

export interface BodyLimits {
  /** Members of objects and elements of lists, on all levels together. */
  readonly maxMembers: number
  readonly maxDepth: number
}

/** Also finds repeated names, of which a parser keeps only the last. The parser checks whether it is JSON. */
export function findFlawInJson (text: string, limits: BodyLimits): MemberFlaw | undefined {
  const nesting = new Nesting(limits)
  // After an opening bracket or a comma.
  let isBeginning = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === ' ' || character === '\n' || character === '\r' || character === '\t') continue
    const isEnd = character === '}' || character === ']'
    if (isEnd) nesting.close()
    const isMember = isBeginning && nesting.isOpen
    isBeginning = character === ','
    if (isEnd || isBeginning) continue
    const start = index
    if (character === '"') index = findEndOfString(text, start)
    if (index === -1) return undefined
    if (isMember && nesting.isObject && character !== '"') return undefined
    isBeginning = character === '{' || character === '['
    const flaw = (isMember ? nesting.add(text, start, index + 1) : undefined) ??
      (isBeginning ? nesting.open(character === '{') : undefined)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

interface Level {
  /** Those so far; undefined in a list. */
  readonly names: Set<string> | undefined
  at: string | number
}

/** Where a text of JSON is, as it is read. */
class Nesting {
  readonly #levels: Level[] = []
  #members = 0

  constructor (readonly limits: BodyLimits) {}

  get isOpen (): boolean {
    return this.#levels.length > 0
  }

  get isObject (): boolean {
    return this.#levels.at(-1)?.names !== undefined
  }

  open (isObject: boolean): MemberFlaw | undefined {
    const { maxDepth } = this.limits
    if (this.#levels.length >= maxDepth) return this.#locate(explainDepth(maxDepth))
    this.#levels.push({ names: isObject ? new Set() : undefined, at: -1 })
    return undefined
  }

  close (): void {
    this.#levels.pop()
  }

  /** A value of a list, or the name of a member, which is from `start` to `end` of the text. */
  add (text: string, start: number, end: number): MemberFlaw | undefined {
    const level = this.#levels.at(-1) as Level
    const { maxMembers } = this.limits
    if (++this.#members > maxMembers) return explainMembers(maxMembers)
    if (level.names === undefined) {
      level.at = Number(level.at) + 1
      return undefined
    }
    const name = readName(text.slice(start, end))
    level.at = name
    if (name.length > longestName) return tooLong
    if (level.names.has(name)) return this.#locate('is given twice')
    level.names.add(name)
    return undefined
  }

  #locate (detail: string): MemberFlaw {
    return { pointer: makePointer(this.#levels.map(({ at }) => String(at))), detail }
  }
}

// Ajv repeats the names that lead to a flaw for each flaw.
const longestName = 1000
const tooLong: MemberFlaw = { pointer: '', detail: `must not have names of more than ${longestName} characters` }

export function explainMembers (maxMembers: number): MemberFlaw {
  return { pointer: '', detail: `must have at most ${maxMembers} members in all levels together` }
}

function readName (quoted: string): string {
  const name = quoted.slice(1, -1)
  if (!name.includes('\\')) return name
  try {
    return JSON.parse(quoted)
  } catch {
    // Not JSON: the parser will refuse it.
    return name
  }
}

// The position of the closing quote that is not escaped; -1 if it is missing.
function findEndOfString (text: string, start: number): number {
  let end = start
  let escapes: number
  do {
    end = text.indexOf('"', end + 1)
    escapes = 0
    while (text[end - 1 - escapes] === '\\') escapes++
  } while (escapes % 2 === 1)
  return end
}
