// Lets tests run with mutants, and tells which of them notice which.
import { forEach, runBundle } from './process.js'
import { choose } from './tests.js'

const batchSize = 40
// For a mutant in a batch, in milliseconds: most are noticed at once, and the others run alone.
const batchBudget = 1000

export class Judge {
  #bundle
  #meetings
  #jobs
  /** How often a test has noticed mutants of a file. */
  #kills = new Map()
  /** Tests that have failed in a batch without a mutant. */
  #doubted = new Set()

  constructor (bundle, meetings, jobs) {
    this.#bundle = bundle
    this.#meetings = meetings
    this.#jobs = jobs
  }

  note (fileName, { killer } = {}) {
    if (killer === undefined) return
    const key = `${fileName} ${killer}`
    this.#kills.set(key, (this.#kills.get(key) ?? 0) + 1)
  }

  #describe (id) {
    const met = this.#meetings.get(id) ?? []
    return { met, isStatic: met.length > 0 && met.every(({ hits }) => hits[id] === undefined) }
  }

  /** Many in a process; calls `done` for each, with the status `Left` if it is to run alone. */
  async runBatches (mutants, done) {
    const queues = [...groupByFile(mutants).values()]
    // A file may have most of them.
    const shared = Array.from({ length: this.#jobs }, () => queues).flat()
    await forEach(shared, this.#jobs, async queue => {
      while (queue.length > 0) {
        const batch = queue.splice(0, batchSize).map(mutant => this.#plan(mutant))
        const ready = batch.filter(({ chosen }) => chosen.length > 0)
        for (const each of batch) if (!ready.includes(each)) done(each.mutant, { status: 'Left' })
        let count = 0
        let hasEnded = false
        const trials = ready.map(({ trial }) => trial)
        await runBundle(this.#bundle, { files: [], trials }, 20_000, ({ killer, doubt }) => {
          const { mutant, chosen, isStatic, met } = ready[count++]
          hasEnded = doubt !== undefined
          if (hasEnded) this.#doubted.add(doubt)
          if (killer === undefined) return done(mutant, { status: 'Left' })
          const result = { status: 'Killed', killer, isStatic, tests: chosen.length, of: met.length }
          this.note(mutant.fileName, result)
          done(mutant, result)
        })
        // One with which the process hung, or ended, runs alone; those after it come next.
        if (count < ready.length && !hasEnded) done(ready[count++].mutant, { status: 'Left' })
        queue.unshift(...ready.slice(count).map(({ mutant }) => mutant))
      }
    })
  }

  /** Only tests whose files have loaded without meeting it. */
  #plan (mutant) {
    const { id, fileName } = mutant
    const described = this.#describe(id)
    const fit = described.met.filter(({ name, load }) => load[id] === undefined && !this.#doubted.has(name))
    const chosen = choose(fit, fileName, this.#kills, batchBudget)
    const tests = chosen.map(test => ({ file: test.file, number: test.number, limit: limitOf(id, [test]) }))
    return { mutant, chosen, ...described, trial: { mutant: id, tests } }
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
