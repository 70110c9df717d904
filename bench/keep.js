// Keeps the results of a run: tables in bench/README.md, plots in docs/, and a summary in README.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { isPinned } from './processes.js'

/** Replaces the text between two comments with that name. */
export function keepText (file, name, text) {
  const place = new URL(`../${file}`, import.meta.url)
  const [start, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`]
  const parts = readFileSync(place, 'utf8').split(new RegExp(`${start}[^]*${end}`))
  if (parts.length !== 2) throw new Error(`${file} has no ${start} … ${end}`)
  writeFileSync(place, parts.join(`${start}\n${text}\n${end}`))
}

export function keepPlot (name, svg) {
  writeFileSync(new URL(`../docs/${name}.svg`, import.meta.url), svg)
}

const { model } = cpus()[0]

/** The kind of processor. */
export const processor = model === 'unknown' ? arch() : model

/** The date, machine and settings, in a sentence. */
export function describeRun (command) {
  const cores = `${availableParallelism()} cores (${processor})`
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB of memory`
  const system = `${type()} ${release().split(/[.-]/).slice(0, 2).join('.')}, Node ${process.versions.node}`
  const pinned = isPinned ? 'servers bound to one core, the load to another' : 'nothing bound to a core'
  const date = new Date().toISOString().slice(0, 10)
  return `${date}, ${cores}, ${memory}, ${system}, ${pinned}: \`${command}\``
}
