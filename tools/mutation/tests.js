// What each test meets, and which of them may notice a mutant.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { forEach, runBundle } from './process.js'

/** Runs every test without a mutant, each file in a process of its own; what is known of a file is not run again. */
export async function measure (bundle, digests, folder, jobs) {
  const tests = []
  const left = []
  await forEach(digests, jobs, async ([file, digest]) => {
    const known = join(folder, 'tests', `${file}.json`)
    let notes = existsSync(known) ? JSON.parse(readFileSync(known, 'utf8')) : {}
    if (notes.digest !== digest) {
      const { answer = {} } = await runBundle(bundle, { files: [{ file }] }, 600_000)
      notes = { digest, ...answer }
      mkdirSync(dirname(known), { recursive: true })
      writeFileSync(known, JSON.stringify(notes))
    }
    if (notes.tests === undefined) left.push(file)
    for (const [number, test] of (notes.tests ?? []).entries()) {
      if (test === null) continue
      const name = `${file} ${number}`
      if (test.failed) left.push(`${file}: ${test.title}`)
      else tests.push({ ...test, name, file, number, load: notes.hits, cost: Math.max(test.cpu, test.time / 4) })
    }
  })
  return { tests, left }
}

/** The tests that meet each mutant, by its id. */
export function findMeetings (tests) {
  const meetings = new Map()
  for (const test of tests) {
    for (const id of new Set([...Object.keys(test.hits), ...Object.keys(test.load)])) {
      if (!meetings.has(id)) meetings.set(id, [])
      meetings.get(id).push(test)
    }
  }
  return meetings
}

/**
 * First those that have noticed other mutants of the same file, then the quickest of each file, as many as the budget
 * allows.
 */
export function choose (tests, fileName, kills, budget) {
  const stem = basename(fileName, '.ts')
  const weigh = ({ name, file }) => (kills.get(`${fileName} ${name}`) ?? 0) + (file.includes(stem) ? 0.5 : 0)
  const turns = new Map()
  const ranked = tests
    .map(test => ({ test, weight: weigh(test) }))
    .sort((one, other) => other.weight - one.weight || one.test.cost - other.test.cost)
    .map(({ test, weight }) => {
      const turn = turns.get(test.file) ?? 0
      turns.set(test.file, turn + 1)
      return { test, weight, turn }
    })
    .sort((one, other) => other.weight - one.weight || one.turn - other.turn)
  let sum = 0
  const chosen = ranked.map(({ test }) => test).filter(({ cost }) => (sum += cost) <= budget || sum === cost)
  const files = new Map()
  for (const { file, number } of chosen) files.set(file, [...files.get(file) ?? [], number])
  return { chosen, files: Array.from(files, ([file, numbers]) => ({ file, tests: numbers })) }
}
