/** A pattern is larger than it may be. */
export class PatternSizeError extends Error {
  override readonly name = 'PatternSizeError'
  constructor (readonly maxSize: number) {
    super(`the pattern is larger than ${maxSize}`)
  }
}

// Reading a class of Unicode takes up to a millisecond.
const sizeOfUnicodeClass = 10
// Without regard to case, a range is read character by character, up to the last that has another case.
const lastWithCase = 0x1e943
const charactersOfRange = 3000

// What a pattern is made of: quoted text, classes, other escapes, groups, counted repetitions, characters.
const tokens = new RegExp([
  /\\Q(?<quoted>.*?)(?:\\E|$)/,
  /(?<class>\\[pP](?:\{[^}]*\}|.)|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])/,
  /\\(?:x\{\w*\}|.)/,
  /(?<open>\((?<prefix>\?(?:P?<\w*>|[\w-]*:?))?)|(?<close>\))/,
  /\{(?<least>\d+)(?<comma>,(?<most>\d*))?\}/,
  /./
].map(({ source }) => source).join('|'), 'gsu')

/**
 * How large a pattern is, from its text alone, since compiling a large one may take seconds and hundreds of megabytes:
 * its characters and classes, with all counted repetitions written out, and what it takes to read large classes.
 * Throws where it is larger than this.
 */
export function measurePattern (text: string, maxSize: number): number {
  const ignoresCase = /\(\?[\w-]*i/.test(text)
  // Of the whole, and of the groups that are open.
  const sizes = [0]
  const add = (size: number): void => { sizes.push((sizes.pop() as number) + size) }
  // Of what a repetition would repeat.
  let last = 0
  let reading = 0
  for (const { groups = {} } of text.matchAll(tokens)) {
    const { quoted, class: characters, open, prefix, close, least } = groups
    if (open !== undefined) {
      sizes.push(prefix?.endsWith(':') === true ? 0 : 2)
    } else if (least !== undefined) {
      const times = countTimes(groups)
      add(last * (times - 1))
      last *= times
    } else {
      if (close !== undefined && sizes.length > 1) last = sizes.pop() as number
      else if (quoted !== undefined) last = quoted.length
      else last = 1
      if (characters !== undefined) reading += measureReading(characters, ignoresCase)
      add(last)
    }
  }
  const size = sizes.reduce((sum, size) => sum + size, reading)
  if (size > maxSize) throw new PatternSizeError(maxSize)
  return size
}

/** What need not be there takes twice as much as what must. */
function countTimes ({ least, comma, most }: Readonly<Record<string, string | undefined>>): number {
  const count = Math.max(1, Number(least))
  if (comma === undefined) return count
  return most === '' ? count + 1 : count + 2 * Math.max(0, Number(most) - count)
}

function measureReading (characters: string, ignoresCase: boolean): number {
  let size = sizeOfUnicodeClass * [...characters.matchAll(/\\p/gi)].length
  if (!ignoresCase) return size
  for (const [, hexadecimal, character] of characters.matchAll(/-(?:\\x\{?([\da-f]+)|(.))/gisu)) {
    const end = hexadecimal === undefined ? (character as string).codePointAt(0) as number : parseInt(hexadecimal, 16)
    size += Math.floor(Math.min(end, lastWithCase) / charactersOfRange)
  }
  return size
}
