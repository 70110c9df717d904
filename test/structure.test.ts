import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import ts from 'typescript'

const sources = [
  ...['lib', 'test', 'examples', 'create'].flatMap(folder => filesIn(folder, true)),
  // Not what is installed in there, among it a link to all of this.
  ...['bench', 'bench/servers', 'tools'].flatMap(folder => filesIn(folder, false))
]
const library = sources.filter(path => path.startsWith('lib/') && path.endsWith('.ts'))

function filesIn (folder: string, recursive: boolean): string[] {
  return readdirSync(folder, { recursive, encoding: 'utf8' })
    .filter(name => /\.[jt]s$/.test(name) && !/(^|\/)(node_modules|build)\/|schema\.d\.ts$/.test(name))
    .map(name => join(folder, name))
}

const lines = new Map<string, string[]>()
const imported = new Map<string, string[]>()

/** Each file is read and parsed once. */
function remember<T> (known: Map<string, T>, path: string, read: (path: string) => T): T {
  const value = known.get(path) ?? read(path)
  known.set(path, value)
  return value
}

const linesOf = (path: string): string[] => remember(lines, path, () => readFileSync(path, 'utf8').split('\n'))

/** What a file belongs to: its folder, or itself where it lies in lib directly. */
function roomOf (path: string): string {
  return relative('lib', dirname(path)) || relative('lib', path).replace(/\.ts$/, '')
}

/** The files of lib that a file imports or passes on, types among them. */
function importsOf (path: string): string[] {
  return remember(imported, path, () => ts.preProcessFile(readFileSync(path, 'utf8')).importedFiles
    .filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => join(dirname(path), fileName.replace(/\.js$/, '.ts'))))
}

type Graph = Map<string, Map<string, string>>

/** For each node the nodes that it imports from, each with an import that shows it. */
function makeGraph (nodeOf: (path: string) => string): Graph {
  const graph: Graph = new Map()
  for (const path of library) {
    const imports = graph.get(nodeOf(path)) ?? new Map<string, string>()
    graph.set(nodeOf(path), imports)
    for (const imported of importsOf(path)) {
      if (nodeOf(imported) !== nodeOf(path)) imports.set(nodeOf(imported), `${path} imports ${imported}`)
    }
  }
  return graph
}

const files = makeGraph(path => path)
const rooms = makeGraph(roomOf)
const outerRooms = makeGraph(path => roomOf(path).split('/')[0] as string)

/** The shortest path from a node back to itself; undefined where there is none. */
function circleFrom (graph: Graph, start: string): string[] | undefined {
  const reached = new Map<string, string[]>([[start, []]])
  // A map grows while it is walked over.
  for (const [room, way] of reached) {
    for (const [next, shown] of graph.get(room) ?? []) {
      if (next === start) return [...way, shown]
      if (!reached.has(next)) reached.set(next, [...way, shown])
    }
  }
  return undefined
}

for (const [name, graph] of Object.entries({ file: files, folder: rooms, 'outer folder': outerRooms })) {
  t.test(`no ${name} of lib imports itself by way of others`, async t => {
    t.ok(graph.size > 5 && [...graph.values()].some(imports => imports.size > 0), `${graph.size} nodes`)
    const circles = new Map<string, string[]>()
    for (const node of graph.keys()) {
      const circle = circleFrom(graph, node)
      // One circle is found from each node on it; it is shown once.
      if (circle !== undefined) circles.set([...circle].sort().join('\n'), circle)
    }
    for (const circle of circles.values()) t.fail(`a circle:\n  ${circle.join('\n  ')}`)
  })
}

t.test('docs/architecture.md has every folder, and imports point downwards in its list', async t => {
  const [, , list = ''] = readFileSync('docs/architecture.md', 'utf8').split(/^\| (folder) \|.*\n.*\n/m)
  const [rows = ''] = list.split('\n\n')
  const names = /`lib\/([\w/-]+?)(?:\/|\.ts)`/g
  const listed = [...rows.matchAll(names)].map(([, name]) => name)
  t.strictSame([...rooms.keys()].sort(), [...listed].sort())
  for (const [room, imports] of rooms) {
    for (const [other, shown] of imports) t.ok(listed.indexOf(room) < listed.indexOf(other), shown)
  }
})

// The files that a host can import, and that of which the main one passes on everything.
const { exports: listed } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  exports: Readonly<Record<string, { readonly default?: string }>>
}
const entries = ['lib/exports.ts', ...Object.values(listed).flatMap(({ default: file = '' }) =>
  file === '' ? [] : join(file.replace('build/', '').replace(/\.js$/, '.ts')))]

// Each stands on what a host can import, too. Pages are in two rooms.
const satelliteRooms: readonly (readonly string[])[] =
  [['lib/html/', 'lib/pages/'], ['lib/mcp/'], ['lib/openapi/'], ['lib/tools/'], ['lib/webhooks/']]

// Where defaults are put together, and what speaks the languages of pages.
const assembly: Readonly<Record<string, readonly string[]>> = {
  'lib/families.ts': ['lib/html/html.ts', 'lib/openapi/document.ts'],
  'lib/index.ts': ['lib/html/html.ts'],
  'lib/locales/de.ts': ['lib/html/index.ts']
}

t.test('satellites stand on what a host can import, too', async t => {
  for (const satellite of satelliteRooms) {
    const isOwn = (path: string): boolean => satellite.some(folder => path.startsWith(folder))
    const own = library.filter(isOwn)
    t.ok(own.length > 0, satellite.join())
    const taken = own.flatMap(importsOf).filter(path => !isOwn(path) && !entries.includes(path))
    t.strictSame([...new Set(taken)].sort(), [], satellite.join())
  }
})

t.test('nothing but satellites imports a satellite', async t => {
  t.ok(entries.every(path => library.includes(path)) && entries.includes('lib/tools/index.ts'), entries.join())
  const satellites = satelliteRooms.flat()
  const others = library.filter(path => !satellites.some(folder => path.startsWith(folder)))
  t.ok(others.length > 100, `${others.length} files`)
  for (const path of others) {
    const taken = importsOf(path).filter(each => satellites.some(folder => each.startsWith(folder)))
    t.strictSame(taken.sort(), assembly[path] ?? [], path)
  }
})

t.test('nothing in lib opens a connection, but for the driver of PostgreSQL and webhooks', async t => {
  const connects = /\b(?:fetch|connect|createConnection)\(|from '(?:node:(?:https|tls|dgram|dns)|undici)/
  // The script of pages runs in browsers.
  const served = library.filter(path => path !== 'lib/html/script.ts')
  t.equal(served.length, library.length - 1)
  const connecting = served.filter(path => connects.test(readFileSync(path, 'utf8').replace(/\/\*.*?\*\//gs, '')))
  t.strictSame([...new Set(connecting.map(path => dirname(path)))].sort(), ['lib/storage/postgres', 'lib/webhooks'])
})

t.test('no file of lib has more than 400 lines', async t => {
  // The last line ends with a line feed.
  const long = library.map(path => [path, linesOf(path).length - 1] as const).filter(([, lines]) => lines > 400)
  t.strictSame(long, [])
})

t.test('every reason why a mutant stays is of a line that is there, and given once', async t => {
  const path = 'test/mutation/equivalent.json'
  const reasons = JSON.parse(readFileSync(path, 'utf8')) as { file: string, line: string, reason: string }[]
  t.ok(reasons.length > 100, `${reasons.length} reasons`)
  const stale = reasons.filter(({ file, line }) => !linesOf(file).some(each => each.trim() === line))
  t.strictSame(stale, [])
  const changes = reasons.map(({ reason, ...change }) => JSON.stringify(change))
  t.strictSame(changes.filter((change, index) => changes.indexOf(change) !== index), [])
  t.strictSame(reasons.filter(({ reason }) => reason.length < 10), [])
})

t.test('no line has more than 120 characters', async t => {
  t.ok(sources.length > 200, `${sources.length} files`)
  const long = sources.flatMap(path => linesOf(path).flatMap((line, index) =>
    // Code points, as the linter counts; an address is not broken.
    line.length > 120 && [...line].length > 120 && !line.includes('https://') ? [`${path}:${index + 1}`] : []))
  t.strictSame(long, [])
})
