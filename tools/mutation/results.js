// What is known of each mutant, in one file for each changed file; a mutant is known again when lines before it change.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export class Results {
  #folder
  #files = new Map()

  constructor (folder) {
    this.#folder = join(folder, 'results')
  }

  #path (fileName) {
    return join(this.#folder, `${fileName}.json`)
  }

  of (fileName) {
    if (!this.#files.has(fileName)) {
      const path = this.#path(fileName)
      this.#files.set(fileName, existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {})
    }
    return this.#files.get(fileName)
  }

  save (fileName, key, result) {
    const results = this.of(fileName)
    results[key] = result
    const path = this.#path(fileName)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(`${path}.new`, JSON.stringify(results))
    // So that it is whole, whenever this is stopped.
    renameSync(`${path}.new`, path)
  }
}

/** Adds to each mutant the text that it replaces, its line, and a key that other changes of the file leave alone. */
export function name (mutants) {
  const lines = new Map()
  const counts = new Map()
  return mutants.map(mutant => {
    const { fileName, location: { start, end }, mutatorName, replacement } = mutant
    if (!lines.has(fileName)) lines.set(fileName, readFileSync(fileName, 'utf8').split('\n'))
    const all = lines.get(fileName)
    const part = all.slice(start.line, end.line + 1)
    part[part.length - 1] = part.at(-1).slice(0, end.column)
    part[0] = part[0].slice(start.column)
    const original = part.join('\n')
    const text = JSON.stringify([mutatorName, all[start.line].trim(), original, replacement])
    const nth = counts.get(fileName + text) ?? 0
    counts.set(fileName + text, nth + 1)
    const key = `${createHash('sha1').update(text).digest('hex').slice(0, 16)} ${nth}`
    return { ...mutant, original, line: all[start.line].trim(), key }
  })
}
