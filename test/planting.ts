import { register } from 'node:module'
import { fileURLToPath } from 'node:url'

// Hooks of the module loader: a module that is imported with a mark, such as `?planted`, and all that it imports of
// this repository, is loaded once more, with all bugs. Each is there while `globalThis.plantedBug` is its name.

/** A text of a file in `lib`, as it is compiled, and what takes its place. */
export interface Planted {
  readonly file: string
  readonly text: string
  /** With `PLANTED`, which is true while this bug is wanted. */
  readonly by: string
}

interface Planting {
  readonly mark: string
  readonly bugs: Readonly<Record<string, Planted>>
}

/** Once for each mark. Returns what calls a function while a bug is there. */
export function plantAll (planting: Planting): <T>(name: string, work: () => Promise<T>) => Promise<T> {
  // Without functions, and whatever else belongs to the tests.
  register(import.meta.url, { data: JSON.parse(JSON.stringify(planting)) as Planting })
  const wanted = globalThis as { plantedBug?: string }
  return async (name, work) => {
    wanted.plantedBug = name
    try {
      return await work()
    } finally {
      delete wanted.plantedBug
    }
  }
}

let mark = ''
let planted: readonly (readonly [name: string, bug: Planted])[] = []

export function initialize (planting: Planting): void {
  mark = planting.mark
  planted = Object.entries(planting.bugs)
}

interface Resolved {
  readonly url: string
  readonly [member: string]: unknown
}

type NextResolve = (specifier: string, context: object) => Promise<Resolved>

export async function resolve (
  specifier: string, context: { readonly parentURL?: string }, next: NextResolve
): Promise<Resolved> {
  const resolved = await next(specifier, context)
  const { parentURL = '' } = context
  if (!parentURL.endsWith(mark) || !specifier.startsWith('.') || resolved.url.includes('?')) return resolved
  return { ...resolved, url: `${resolved.url}${mark}` }
}

interface Loaded {
  readonly source?: unknown
  readonly [member: string]: unknown
}

export async function load (
  url: string, context: object, next: (url: string, context: object) => Promise<Loaded>
): Promise<Loaded> {
  const loaded = await next(url, context)
  if (!url.startsWith('file:') || !url.endsWith(mark)) return loaded
  const path = fileURLToPath(url.slice(0, -mark.length))
  const bugs = planted.filter(([, { file }]) => path.endsWith(`/lib/${file}.js`))
  if (bugs.length === 0) return loaded
  let source = String(loaded.source)
  for (const [name, { file, text, by }] of bugs) {
    const parts = source.split(text)
    if (parts.length !== 2) throw new Error(`lib/${file}.ts has this ${parts.length - 1} times: ${text}`)
    source = parts.join(by.replaceAll('PLANTED', `(globalThis.plantedBug === '${name}')`))
  }
  return { ...loaded, source }
}
