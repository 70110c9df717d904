import { fileURLToPath } from 'node:url'
import { plantedBugs } from './planted.js'

// Hooks of the module loader: a module that is imported with `?planted`, and all that it imports of this repository, is
// loaded once more, with all bugs. Each is there while `globalThis.plantedBug` is its name.

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

const mark = '?planted'

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
  const bugs = Object.entries(plantedBugs).filter(([, { file }]) => path.endsWith(`/lib/${file}.js`))
  if (bugs.length === 0) return loaded
  let source = String(loaded.source)
  for (const [name, { file, text, by }] of bugs) {
    const parts = source.split(text)
    if (parts.length !== 2) throw new Error(`lib/${file}.ts has this ${parts.length - 1} times: ${text}`)
    source = parts.join(by.replaceAll('PLANTED', `(globalThis.plantedBug === '${name}')`))
  }
  return { ...loaded, source }
}
