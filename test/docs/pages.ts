import { readdirSync, readFileSync } from 'node:fs'

/** One fenced block of a page. */
export interface Block {
  readonly page: string
  /** Which of the page's blocks it is, from 1. */
  readonly number: number
  readonly language: string
  readonly text: string
  /** What the HTML comment right before it says. */
  readonly comment: string
  /** The block that stands after it with nothing but blank lines between them. */
  readonly next: Block | undefined
}

/** The page whose blocks belong together: tutorial.test.ts does one after the other. */
export const tutorial = 'docs/tutorial.md'

/** The README and all of docs/, by their paths. */
export const pages: ReadonlyMap<string, string> = new Map(
  ['README.md', ...readdirSync('docs').filter(name => name.endsWith('.md')).sort().map(name => `docs/${name}`)]
    .map(path => [path, readFileSync(path, 'utf8')])
)

export const blocks: readonly Block[] = [...pages].flatMap(([page, text]) => blocksOf(page, text))

/** The blocks of all pages in this language, each of which stands for itself. */
export function blocksIn (language: string): Block[] {
  return blocks.filter(block => block.language === language && block.page !== tutorial)
}

/** A file of the tutorial after a block that says what becomes of it. */
export function changeFile ({ comment, text }: Block, read: (file: string) => string): { file: string, text: string } {
  const [, file, how, place] = /^(?:file: )?([\w.]+\.(?:ts|json))(?:, (below|in place of): (.+))?$/.exec(comment) ?? []
  if (file === undefined) throw new Error(`what is to be done with this block? "${comment}"`)
  if (how === undefined || place === undefined) return { file, text }
  const lines = read(file).split('\n')
  const at = lines.findIndex(line => line.trim().startsWith(place))
  if (at === -1) throw new Error(`${file} has no line "${place}"`)
  lines.splice(how === 'below' ? at + 1 : at, how === 'below' ? 0 : 1, text.trimEnd())
  return { file, text: lines.join('\n') }
}

/** The files of the tutorial at its end. */
export function writeTutorial (): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const block of blocks.filter(({ page, language }) => page === tutorial && language === 'ts')) {
    const { file, text } = changeFile(block, name => files.get(name) ?? '')
    files.set(file, text)
  }
  return files
}

/** What an answer must look like, for `match`; "…" stands for anything. */
export function toPattern (shown: unknown): unknown {
  if (shown === '…') return /./
  if (Array.isArray(shown)) return shown.map(toPattern)
  if (typeof shown === 'object' && shown !== null) {
    return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, toPattern(value)]))
  }
  // A string would also match where it is only a part.
  return typeof shown === 'string' ? new RegExp(`^${shown.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`) : shown
}

function blocksOf (page: string, text: string): Block[] {
  const found = [...text.matchAll(/(?:^<!--((?:(?!-->)[^])*)-->\n)?^```(\w+)\n(.*?)^```$/gms)]
  const made: Block[] = []
  // From the last, since each knows the one after it.
  for (const [index, match] of [...found.entries()].reverse()) {
    const end = match.index + match[0].length
    const following = made[0]
    const after = found[index + 1]
    const adjoins = after !== undefined && text.slice(end, after.index).trim() === ''
    made.unshift({
      page,
      number: index + 1,
      language: match[2] as string,
      text: match[3] as string,
      comment: (match[1] ?? '').trim(),
      next: adjoins ? following : undefined
    })
  }
  return made
}
