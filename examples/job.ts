// A nightly job without HTTP, on the server's data: STORAGE=sqlite:./dealbook.db node build/examples/job.js 2030-01-31
import type { Storage } from 'fastify-dealbook'
import { deals, Problem } from 'fastify-dealbook'
import { defaultStorage, openStorage } from './storage-from-url.js'

const principal = 'nightly job'

/** How many deals a run of the job completed, and which it skipped, such as held ones. */
export interface Report {
  completed: number
  refused: string[]
}

/**
 * Completes the open deals whose completion date is before this day. Safe to run twice and to be killed at any
 * moment: each deal is completed with its own command id, and a command id runs only once.
 */
export async function completeDueDeals (storage: Storage, day: string): Promise<Report> {
  const book = deals.service({ storage })
  const report: Report = { completed: 0, refused: [] }
  const due = `status=open&completionDate.lt=${day}`
  // By cursor, not by page number: completed deals are no longer found, so pages would shift.
  let page = await book.find(due, { limit: 100, principal })
  for (;;) {
    for (const { id } of page.items) {
      try {
        // Includes the day: a refused deal is not retried today, but tomorrow.
        const command = `complete-${id}-${day}`
        const done = await book.run('complete', id, { comment: `Due before ${day}` }, { principal, command })
        // Otherwise another run of this job with the same id, or a person, was faster.
        if (done.changed && !done.replayed) report.completed++
      } catch (error) {
        if (!(error instanceof Problem && ['wrong-state', 'not-found'].includes(error.code))) throw error
        report.refused.push(id)
      }
    }
    if (page.next === undefined) return report
    page = await book.find(due, { limit: 100, principal, after: page.next })
  }
}

if (import.meta.filename === process.argv[1]) {
  const storage = await openStorage(process.env.STORAGE ?? defaultStorage)
  const day = process.argv[2] ?? new Date().toISOString().slice(0, 10)
  console.log(JSON.stringify(await completeDueDeals(storage, day)))
  await storage.close()
}
