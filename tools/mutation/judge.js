// Lets tests run with mutants, and tells which of them notice which.
import { dirname } from 'node:path'
import { forEach, runBundle } from './process.js'
import { choose } from './tests.js'

const batchSize = 60
// A mutant may be the reason for a few.
const maxDoubts = 20

export class Judge {
  #bundle
  #meetings
  #jobs
  /** How often a test has noticed mutants of a file, or a folder. */
  #kills = new Map()
  /** How often tests have failed in a batch without a mutant. */
  #doubts = new Map()
  /** The tests that have passed with a mutant. */
  #passed = new Map()

  constructor (bundle, meetings, jobs) {
    this.#bundle = bundle
    this.#meetings = meetings
    this.#jobs = jobs
  }

  note (fileName, { killer } = {}) {
    if (killer === undefined) return
    for (const place of [fileName, dirname(fileName)]) {
      const key = `${place} ${killer}`
      this.#kills.set(key, (this.#kills.get(key) ?? 0) + 1)
    }
  }

  #doubt (test) {
    this.#doubts.set(test, (this.#doubts.get(test) ?? 0) + 1)
  }

  #describe (id) {
    const met = this.#meetings.get(id) ?? []
    return { met, isStatic: met.length > 0 && met.every(({ hits }) => hits[id] === undefined) }
  }

  /**
   * Many in a process, each with as many milliseconds of tests as the budget allows. Calls `done` for each, with the
   * status `Passed` if no test noticed it, `Left` if it is to run alone.
   */
  async runBatches (mutants, budget, done) {
    const queues = [...groupByFile(mutants).values()]
    // A file may have most of them.
    const shared = Array.from({ length: this.#jobs }, () => queues).flat()
    await forEach(shared, this.#jobs, async queue => {
      while (queue.length > 0) {
        const batch = queue.splice(0, batchSize).map(mutant => this.#plan(mutant, budget))
        const ready = batch.filter(({ chosen }) => chosen.length > 0)
        for (const plan of batch) if (!ready.includes(plan)) done(plan.mutant, this.#describePassed(plan))
        let count = 0
        let hasStopped = false
        const again = []
        const hear = ({ killer, doubts, isDone, isHanging }) => {
          for (const test of doubts) this.#doubt(test)
          const plan = ready[count++]
          const { mutant, chosen, isStatic, met } = plan
          const about = { isStatic, tests: chosen.length, of: met.length }
          hasStopped = !isDone
          if (killer !== undefined) {
            const result = { status: 'Killed', killer, ...about }
            this.note(mutant.fileName, result)
            done(mutant, result)
          } else if (isDone) done(mutant, this.#describePassed(plan))
          else if (!isHanging) done(mutant, { status: 'Left' })
          else if (count === 1) done(mutant, { status: 'Timeout', ...about })
          // An earlier one may be the reason, so it is to be the first of a process.
          else again.push(mutant)
        }
        const trials = ready.map(({ trial }) => trial)
        await runBundle(this.#bundle, { files: [], trials }, 20_000 + 4 * budget, hear)
        // One with which the process has ended by itself runs alone; those after it come next.
        if (count < ready.length && !hasStopped) done(ready[count++].mutant, { status: 'Left' })
        queue.unshift(...again, ...ready.slice(count).map(({ mutant }) => mutant))
      }
    })
  }

  #describePassed ({ mutant, chosen, fit, isStatic, met }) {
    if (fit.length === 0) return { status: 'Left' }
    const passed = this.#passed.get(mutant.id) ?? new Set()
    for (const { name } of chosen) passed.add(name)
    this.#passed.set(mutant.id, passed)
    return { status: 'Passed', isStatic, tests: passed.size, of: met.length }
  }

  /** Tests that meet it by themselves: what runs while files are loaded has run without it. */
  #plan (mutant, budget) {
    const { id, fileName } = mutant
    const described = this.#describe(id)
    const isDoubted = name => (this.#doubts.get(name) ?? 0) >= maxDoubts
    const fit = described.met.filter(({ name, hits }) => hits[id] !== undefined && !isDoubted(name))
    const open = fit.filter(({ name }) => this.#passed.get(id)?.has(name) !== true)
    const chosen = choose(open, fileName, this.#kills, budget)
    const tests = chosen.map(test => {
      const { file, number, time } = test
      return { file, number, limit: limitOf(id, [test]), time }
    })
    return { mutant, chosen, fit, ...described, trial: { mutant: id, tests } }
  }

  /** In a process of its own. */
  async runAlone ({ id, fileName }, budget) {
    const { met, isStatic } = this.#describe(id)
    if (met.length === 0) return { status: 'NotMet' }
    const chosen = choose(met, fileName, this.#kills, budget)
    const files = new Map()
    for (const { file, number } of chosen) files.set(file, [...files.get(file) ?? [], number])
    const numbered = Array.from(files, ([file, tests]) => ({ file, tests }))
    const order = { mutant: id, limit: limitOf(id, chosen), files: numbered }
    const expected = chosen.reduce((sum, { time }) => sum + time, 0)
    let answer = {}
    const isLate = await runBundle(this.#bundle, order, 10_000 + 3 * expected, heard => { answer = heard })
    const status = isLate ? 'Timeout' : answer.hasSurvived ? 'Survived' : 'Killed'
    const result = { status, killer: answer.killer, isStatic, tests: chosen.length, of: met.length }
    this.note(fileName, result)
    return result
  }
}

/** How often these tests may meet the mutant: a loop without an end is to fail. */
function limitOf (id, tests) {
  return 1000 + 10 * tests.reduce((sum, { hits, load }) => sum + (hits[id] ?? 0) + (load[id] ?? 0), 0)
}

function groupByFile (mutants) {
  const groups = new Map()
  for (const mutant of mutants) groups.set(mutant.fileName, [...groups.get(mutant.fileName) ?? [], mutant])
  return groups
}
