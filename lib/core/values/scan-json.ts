import type { MemberFlaw } from './json.js'
import { escapePointer, explainDepth } from './json.js'

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
