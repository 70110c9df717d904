import { plantAll } from '../planting.js'
import { chooseOptions, type Options } from './options.js'
import { plantedBugs } from './planted.js'
import { Simulation } from './workload.js'

/** What one history showed. The same seed and options give the same digest. */
export interface Report {
  readonly seed: number
  readonly options: Options
  readonly violation: string | undefined
  readonly digest: string
  readonly events: number
  readonly commits: number
  /** Every step, if it was asked for. */
  readonly trace: readonly string[]
}

/** Runs one history. @param changed options instead of those that the seed chooses */
export async function simulate (
  seed: number, changed: Partial<Options> = {}, isTraced = false
): Promise<Report> {
  const options = { ...chooseOptions(seed), ...changed }
  const simulation = new Simulation(seed, options, isTraced)
  await simulation.run()
  const { world, judge: { journal } } = simulation
  const { violation, digest, steps: events, trace = [] } = world
  return { seed, options, violation, digest, events, commits: journal.commits, trace }
}

/** Smaller options with which the same seed still fails. */
export async function shrink ({ seed, options: failing }: Report): Promise<Report> {
  let smallest = await simulate(seed, failing)
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false
    for (const name of Object.keys(smallest.options) as (keyof Options)[]) {
      for (const value of listSmaller(smallest.options[name], name)) {
        const report = await simulate(seed, { ...smallest.options, [name]: value })
        if (report.violation === undefined) continue
        smallest = report
        isSmaller = true
        break
      }
    }
  }
  return smallest
}

const least: Partial<Options> = { processes: 1, clients: 1, commands: 1, latest: 5 }

function listSmaller (value: number | boolean, name: keyof Options): readonly (number | boolean)[] {
  if (typeof value === 'boolean') return value ? [false] : []
  const low = Number(least[name] ?? 0)
  const isWhole = Number.isInteger(value)
  return [low, ...isWhole ? [Math.floor((low + value) / 2), value - 1] : []].filter(each => each < value && each >= low)
}

const mark = '?planted'
let runPlanted: ReturnType<typeof plantAll> | undefined

/** The simulation of the library with a bug. @param name of `plantedBugs` */
export async function plant (name: string): Promise<typeof simulate> {
  const run = runPlanted ??= plantAll({ mark, bugs: plantedBugs })
  const planted = await import(`${import.meta.url}${mark}`) as { readonly simulate: typeof simulate }
  return (...given) => run(name, () => planted.simulate(...given))
}
