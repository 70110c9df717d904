/** An object whose members are known only at run time. */
export type Members = Readonly<Record<string, unknown>>

/** What is wrong with a member, by its JSON pointer. */
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

/** The first thing that is wrong with a value of a program, which may also contain itself. */
export function findJsonFlaw (value: unknown): MemberFlaw | undefined {
  return findJsonFlaws(value, deepest, 1)[0]
}

/**
 * What is wrong with a parsed JSON value, whatever its schema: text, numbers or nesting that we could not store.
 *
 * @param enough it stops after so many flaws
 */
export function findJsonFlaws (value: unknown, maxDepth: number, enough = Infinity): MemberFlaw[] {
  const flaws: MemberFlaw[] = []
  // Pointers are only written where something is wrong.
  const path: string[] = []
  walk(value)
  return flaws

  function walk (value: unknown): void {
    if (typeof value === 'string') {
      const flaw = findTextFlaw(value)
      if (flaw !== undefined) add(flaw)
    } else if (typeof value === 'number') {
      if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
        add(`must be from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`)
      }
    } else if (typeof value === 'object' && value !== null) {
      if (path.length >= maxDepth) add(explainDepth(maxDepth))
      else for (const name of Object.keys(value)) walkMember(name, (value as Members)[name])
    }
  }

  function walkMember (name: string, value: unknown): void {
    if (flaws.length >= enough) return
    const flaw = findTextFlaw(name)
    if (flaw !== undefined) {
      add(`a name ${flaw}`)
      return
    }
    path.push(name)
    walk(value)
    path.pop()
  }

  function add (detail: string): void {
    flaws.push({ pointer: path.map(name => `/${escapePointer(name)}`).join(''), detail })
  }
}

/** What is wrong with a value that is nested too deep. */
export function explainDepth (maxDepth: number): string {
  return `must not be nested more than ${maxDepth} deep`
}

/** What is wrong with text that could not be stored and shown unchanged; undefined if nothing is. */
export function findTextFlaw (text: string): string | undefined {
  const character = unsupported.exec(text)?.[0]
  if (character !== undefined) {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
    return `must not contain the character U+${code}`
  }
  return text.isWellFormed() ? undefined : 'must not contain a lone surrogate'
}

/** Replaces what cannot be shown by U+FFFD. Only problems that quote what they refuse have such text. */
export function replaceUnsupported (text: string): string {
  return text.replace(allUnsupported, '\ufffd').toWellFormed()
}

/** Escapes a name as a part of a JSON pointer (RFC 6901). */
export function escapePointer (name: string): string {
  // Hardly any name has them, and a test is far cheaper than replacing.
  return /[~/]/.test(name) ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name
}

/** Picks these members of an item, in this order, leaving out what is absent. */
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

/** Writes these members of items as JSON objects, with commas between them. */
export function makeListWriter (members: readonly string[]): (items: readonly Members[]) => string {
  const pick = makePicker(members)
  return items => JSON.stringify(items.map(pick)).slice(1, -1)
}

/** About how many characters these items hold, nested values included. */
export function measureAll (items: readonly object[]): number {
  let length = 0
  for (const item of items) length += measure(item)
  return length
}

function measure (members: object): number {
  let length = 0
  for (const name in members) {
    const value = (members as Members)[name]
    if (typeof value === 'string') length += value.length
    else if (typeof value === 'object' && value !== null) length += measure(value)
    // Numbers and names count too: a large nested value may have nothing else.
    length += 8
  }
  return length
}

/** Bounds of a body. */
export interface BodyLimits {
  /** Members of objects and elements of lists, those of all levels together. */
  readonly maxMembers: number
  /** How deep objects and lists may be nested. */
  readonly maxDepth: number
}

/** An object or a list that is open at a position of the text. */
interface Level {
  /** The names so far; undefined in a list. */
  readonly names: Set<string> | undefined
  /** The name or the number of the member that is being read. */
  at: string | number
}

const codes = { quote: 0x22, comma: 0x2c, openList: 0x5b, escape: 0x5c, closeList: 0x5d, open: 0x7b, close: 0x7d }

/**
 * What is wrong with a JSON text before it is parsed: too many members, or a name that is given twice, of which only
 * the last would be left. One pass that stops at the first flaw; whether it is JSON at all is left to the parser.
 */
export function findFlawInJson (text: string, { maxMembers, maxDepth }: BodyLimits): MemberFlaw | undefined {
  const levels: Level[] = []
  let members = 0
  // Whether a member may begin here: after an opening bracket or a comma.
  let isBeginning = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (isBlank(code)) continue
    if (code === codes.close || code === codes.closeList) {
      levels.pop()
      isBeginning = false
      continue
    }
    if (code === codes.comma) {
      isBeginning = true
      continue
    }
    const end = code === codes.quote ? findEndOfString(text, index) : index
    if (end === -1) return undefined
    const level = isBeginning ? levels.at(-1) : undefined
    isBeginning = false
    if (level !== undefined) {
      if (level.names !== undefined && code !== codes.quote) return undefined
      if (++members > maxMembers) return explainMembers(maxMembers)
      if (!beginMember(level, text, index, end)) return { pointer: toPointer(levels), detail: 'is given twice' }
    }
    if (code === codes.open || code === codes.openList) {
      if (levels.length >= maxDepth) return { pointer: toPointer(levels), detail: explainDepth(maxDepth) }
      levels.push(code === codes.open ? { names: new Set(), at: '' } : { names: undefined, at: -1 })
      isBeginning = true
    }
    index = end
  }
  return undefined
}

/** The flaw of a body with too many members. */
export function explainMembers (maxMembers: number): MemberFlaw {
  return { pointer: '', detail: `must have at most ${maxMembers} members, those of all levels together` }
}

// Returns whether its name is new.
function beginMember (level: Level, text: string, start: number, end: number): boolean {
  const { names } = level
  if (names === undefined) {
    level.at = level.at as number + 1
    return true
  }
  const name = readName(text, start, end)
  level.at = name
  const count = names.size
  return names.add(name).size > count
}

function readName (text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end)
  if (!name.includes('\\')) return name
  try {
    return JSON.parse(text.slice(start, end + 1))
  } catch {
    // Not JSON: the parser will refuse it.
    return name
  }
}

// The position of the closing quote; -1 if it is missing.
function findEndOfString (text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === codes.quote) return index
    if (code === codes.escape) index++
  }
  return -1
}

function isBlank (code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

function toPointer (levels: readonly Level[]): string {
  return levels.map(({ at }) => `/${escapePointer(String(at))}`).join('')
}
