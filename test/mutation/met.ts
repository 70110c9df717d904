/** What a file of tests takes, in milliseconds, and the ids of the mutants that it meets. */
export interface Met {
  readonly file: string
  readonly time: number
  readonly mutants: readonly string[]
}

/** The file with a list of `Met`. */
export const notes = 'mutants-met.json'
