/** What became of the commits of a queue, for whoever watches it. */
export class CommitCounts {
  #batches = 0
  #commits = 0
  #refused = 0

  /** So many commits go in one transaction. */
  addBatch (commits: number): void {
    this.#batches++
    this.#commits += commits
  }

  /** There was no room for a commit, or no time. */
  addRefusal (): void {
    this.#refused++
  }

  /** @param waiting how many commits wait now */
  metrics (waiting: number): Readonly<Record<string, number>> {
    return {
      batches_total: this.#batches,
      commits_total: this.#commits,
      commits_refused_total: this.#refused,
      commits_waiting: waiting
    }
  }
}
