import { fileURLToPath } from 'node:url'
import { plantedBugs } from './planted.js'

// Hooks of the module loader: a module that is imported with `?planted=…`, and all that it imports of this repository,
// is loaded once more, with the bug of that name.

interface Resolved {
  readonly url: string
  readonly [member: string]: unknown
}

type NextResolve = (specifier: string, context: object) => Promise<Resolved>

export async function resolve (
  specifier: string, context: { readonly parentURL?: string }, next: NextResolve
): Promise<Resolved> {
  const resolved = await next(specifier, context)
  const name = readName(context.parentURL)
  if (name === null || !specifier.startsWith('.') || resolved.url.includes('?')) return resolved
  return { ...resolved, url: `${resolved.url}?planted=${name}` }
}

interface Loaded {
  readonly source?: unknown
  readonly [member: string]: unknown
}

export async function load (
  url: string, context: object, next: (url: string, context: object) => Promise<Loaded>
): Promise<Loaded> {
  const loaded = await next(url, context)
  const bug = plantedBugs[readName(url) ?? '']
  if (bug === undefined || !fileURLToPath(url.split('?')[0] as string).endsWith(`/lib/${bug.file}.js`)) return loaded
  const parts = String(loaded.source).split(bug.text)
  if (parts.length !== 2) throw new Error(`lib/${bug.file}.ts has this ${parts.length - 1} times: ${bug.text}`)
  return { ...loaded, source: parts.join(bug.by) }
}

function readName (url: string | undefined): string | null {
  return url?.startsWith('file:') === true ? new URL(url).searchParams.get('planted') : null
}
