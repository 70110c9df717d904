import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import ts from 'typescript'

const sources = [
  ...['lib', 'test', 'examples'].flatMap(folder => filesIn(folder, true)),
  // Not what is installed in there, among it a link to all of this.
  ...['bench', 'bench/servers', 'tools'].flatMap(folder => filesIn(folder, false))
]
const library = sources.filter(path => path.startsWith('lib/') && path.endsWith('.ts'))

function filesIn (folder: string, recursive: boolean): string[] {
  return readdirSync(folder, { recursive, encoding: 'utf8' })
    .filter(name => /\.[jt]s$/.test(name) && !/(^|\/)(node_modules|build)\/|schema\.d\.ts$/.test(name))
    .map(name => join(folder, name))
}

const linesOf = (path: string): string[] => readFileSync(path, 'utf8').split('\n')

/** What a file belongs to: its folder below lib or lib/storage, or itself where it lies in lib directly. */
function roomOf (path: string): string {
  const [first, second, ...below] = relative('lib', path).split('/') as [string, string?, ...string[]]
  return first === 'storage' && below.length > 0 ? `storage/${second}` : first.replace(/\.ts$/, '')
}

/** The files of lib that a file imports or passes on, types among them. */
function importsOf (path: string): string[] {
  return ts.preProcessFile(readFileSync(path, 'utf8')).importedFiles
    .filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => join(dirname(path), fileName.replace(/\.js$/, '.ts')))
}

/** For each room the rooms that it imports from, each with an import that shows it. */
const rooms = new Map<string, Map<string, string>>()
for (const path of library) {
  const doors = rooms.get(roomOf(path)) ?? new Map<string, string>()
  rooms.set(roomOf(path), doors)
  for (const imported of importsOf(path)) {
    if (roomOf(imported) !== roomOf(path)) doors.set(roomOf(imported), `${path} imports ${imported}`)
  }
}

/** The shortest way from a room back to itself; undefined where there is none. */
function circleFrom (start: string): string[] | undefined {
  const reached = new Map<string, string[]>([[start, []]])
  // A map grows while it is walked over.
  for (const [room, way] of reached) {
    for (const [next, shown] of rooms.get(room) ?? []) {
      if (next === start) return [...way, shown]
      if (!reached.has(next)) reached.set(next, [...way, shown])
    }
  }
  return undefined
}

t.test('no folder of lib imports itself by way of others', async t => {
  t.ok(rooms.size > 5 && [...rooms.values()].some(doors => doors.size > 0), `${rooms.size} rooms`)
  const circles = new Map<string, string[]>()
  for (const room of rooms.keys()) {
    const circle = circleFrom(room)
    // One circle is found from each room on it; it is shown once.
    if (circle !== undefined) circles.set([...circle].sort().join('\n'), circle)
  }
  for (const circle of circles.values()) t.fail(`a circle:\n  ${circle.join('\n  ')}`)
})

t.test('docs/architecture.md has every room, and imports point downwards in its list', async t => {
  const [, , list = ''] = readFileSync('docs/architecture.md', 'utf8').split(/^\| (room) \|.*\n.*\n/m)
  const [rows = ''] = list.split('\n\n')
  const listed = rows.split('\n').flatMap(row => [...row.matchAll(/`lib\/(\w+)(?:\/|\.ts)`/g)].map(([, name]) => name))
  const outer = (room: string): string => room.split('/')[0] as string
  t.strictSame([...new Set([...rooms.keys()].map(outer))].sort(), [...listed].sort())
  for (const [room, doors] of rooms) {
    for (const [other, shown] of doors) {
      if (outer(room) !== outer(other)) t.ok(listed.indexOf(outer(room)) < listed.indexOf(outer(other)), shown)
    }
  }
})

t.test('nothing in lib opens a connection, but for the driver of PostgreSQL', async t => {
  const connects = /\b(?:fetch|connect|createConnection)\(|from '(?:node:(?:https|tls|dgram|dns)|undici)/
  const connecting = library.filter(path => connects.test(readFileSync(path, 'utf8').replace(/\/\*.*?\*\//gs, '')))
  t.strictSame([...new Set(connecting.map(path => dirname(path)))], ['lib/storage/postgres'])
})

t.test('no file of lib has more than 200 lines', async t => {
  // The last line ends with a line feed.
  const long = library.map(path => [path, linesOf(path).length - 1] as const).filter(([, lines]) => lines > 200)
  t.strictSame(long, [])
})

t.test('no line has more than 120 characters', async t => {
  t.ok(sources.length > 200, `${sources.length} files`)
  const long = sources.flatMap(path => linesOf(path).flatMap((line, index) =>
    // Code points, as the linter counts; an address is not broken.
    [...line].length > 120 && !line.includes('https://') ? [`${path}:${index + 1}`] : []))
  t.strictSame(long, [])
})
