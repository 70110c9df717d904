import type { Options } from './options.js'

/** A seed that found a bug, with the options at that time: a changed workload changes what a seed means. */
export interface KeptSeed {
  readonly seed: number
  readonly options?: Partial<Options>
  /** The commit that fixed it. */
  readonly fixedBy: string
  readonly what: string
}

export const keptSeeds: readonly KeptSeed[] = []
