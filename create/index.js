#!/usr/bin/env node
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const usage = 'npm create fastify-dealbook [folder]'

/** Copies the template into a folder, and returns the path to it. */
function create (name) {
  const folder = resolve(name)
  if (existsSync(folder)) {
    if (!statSync(folder).isDirectory()) throw new Error(`${name} is a file: choose a different name`)
    // A new repository has only this.
    const has = readdirSync(folder).filter(entry => entry !== '.git')
    if (has.length > 0) throw new Error(`The folder ${name} is not empty: choose a different name`)
  }
  cpSync(new URL('template', import.meta.url), folder, { recursive: true })
  // npm leaves out a file named .gitignore when it packs.
  renameSync(join(folder, 'gitignore'), join(folder, '.gitignore'))
  const file = join(folder, 'package.json')
  const content = { ...JSON.parse(readFileSync(file, 'utf8')), name: packageName(basename(folder)) }
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`)
  return folder
}

/** As npm allows it. */
function packageName (text) {
  return text.toLowerCase().replace(/[^a-z0-9._-]+/g, '-').replace(/^[._-]+|-+$/g, '').slice(0, 200) || 'dealbook-app'
}

function quote (path) {
  return /^[\w./\\:-]+$/.test(path) ? path : JSON.stringify(path)
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true, options: { help: { type: 'boolean', short: 'h' } }
  })
  if (positionals.length > 1) throw new Error(`One folder, not ${positionals.length}: ${usage}`)
  if (values.help) console.log(usage)
  else {
    const to = relative('', create(positionals[0] ?? 'dealbook-app'))
    console.log(`Next:
${to === '' ? '' : `  cd ${quote(to)}\n`}  npm install
  npm test
  npm start`)
  }
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
