import { readdirSync, readFileSync } from 'node:fs'
import { join, parse } from 'node:path'

const root = import.meta.dirname
const all = readdirSync(root, { recursive: true, encoding: 'utf8' }).map(file => file.replaceAll('\\', '/'))

/** What tap starts, each in a process of its own: some files of tests, and one for each folder with all the others. */
export const { include } = (JSON.parse(readFileSync('package.json', 'utf8')) as { tap: { include: string[] } }).tap

export const testFiles = all.filter(file => file.endsWith('.test.js')).sort()

/** After what they run; `others` has what is in none of these folders. */
export const folders = all.filter(file => /^folders\/[^/]+\.js$/.test(file)).map(file => parse(file).name)

export function listFolder (name: string): string[] {
  const lone = include.map(pattern => pattern.replace(/^build\/test\/|\*.*/g, ''))
  return testFiles.filter(file =>
    !lone.some(start => file.startsWith(start)) &&
    (folders.find(folder => file.startsWith(`${folder}/`)) ?? 'others') === name)
}

/**
 * Runs the tests of a folder in this process. To load everything anew for each file takes longer than most of what is
 * then done with it, and longest where coverage is measured.
 */
export async function runFolder (name: string): Promise<void> {
  for (const file of listFolder(name)) await import(join(root, file))
}
