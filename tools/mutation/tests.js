// What each test meets, and which of them may notice a mutant.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { forEach, runBundle } from './process.js'

/** Runs every test without a mutant, each file in a process of its own; what is known of a file is not run again. */
export async function measure (bundle, digests, folder, jobs) {
  const tests = []
  const failing = []
  await forEach(digests, jobs, async ([file, digest]) => {
    const known = join(folder, 'tests', basename(bundle, '.mjs'), `${file}.json`)
    let notes = existsSync(known) ? JSON.parse(readFileSync(known, 'utf8')) : {}
    // A test that fails may do so by something else.
    const isGood = notes.tests !== undefined && !notes.tests.some(test => test?.failed)
    if (!isGood || notes.digest !== digest) {
      notes = { digest }
      await runBundle(bundle, { files: [{ file }] }, 600_000, answer => Object.assign(notes, answer))
      mkdirSync(dirname(known), { recursive: true })
      writeFileSync(known, JSON.stringify(notes))
    }
    if (notes.tests === undefined) failing.push(file)
    for (const [number, test] of (notes.tests ?? []).entries()) {
      if (test === null) continue
      const name = `${file} ${number}`
      if (test.failed) failing.push(`${file}: ${test.title}`)
      else tests.push({ ...test, name, file, number, load: notes.hits, cost: Math.max(test.cpu, test.time / 4) })
    }
  })
  return { tests, failing }
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
 * First those that have noticed most mutants of the same file or folder in their time, or are named like it, then the
 * quickest of each file, as many as the budget of milliseconds allows, but at least one.
 */
export function choose (tests, fileName, kills, budget) {
  const [stem, parent] = [basename(fileName, '.ts'), basename(dirname(fileName))]
  const guess = file => file.includes(stem) ? 0.5 : file.startsWith(`${parent}/`) ? 0.25 : 0
  const countKills = (place, test) => kills.get(`${place} ${test}`) ?? 0
  const weigh = ({ name, file, cost }) =>
    (countKills(fileName, name) + countKills(dirname(fileName), name) / 10 + guess(file)) / (cost + 20)
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
  let left = budget
  return ranked.map(({ test }) => test).filter(({ cost }, index) => {
    const isTaken = cost <= left || index === 0
    if (isTaken) left -= cost
    return isTaken
  })
}
