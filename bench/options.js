// The options of the command line.
import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { contenders, inShort } from './contenders.js'
import { scenarios } from './scenarios.js'

const help = `node bench/run.js, or npm run bench -- …
  --short               only ${inShort.join(', ')}, 32 connections: two minutes
  --only a,b            of ${Object.keys(contenders).join(', ')}
  --scenario a,b        of ${Object.keys(scenarios).join(', ')}
  --connections 32,1    the first has the whole number of rounds, the others half of it
  --rounds 5 --seconds 2 --warm 4   how often, how long, how long before it counts
  --ours FOLDER         another checkout of ours, built, beside each of ours; may be repeated
  --write               keeps the tables in bench/README.md, the plot in docs/bench.svg and the ratios in README.md`

export function readOptions (args) {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean' },
      short: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      only: { type: 'string' },
      scenario: { type: 'string' },
      connections: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      warm: { type: 'string' },
      ours: { type: 'string', multiple: true, default: [] }
    }
  })
  if (values.help) {
    console.log(help)
    process.exit(0)
  }
  const { short } = values
  return {
    write: values.write,
    names: choose(values.only, contenders, short ? inShort : Object.keys(contenders)),
    scenarios: choose(values.scenario, scenarios, Object.keys(scenarios)),
    connections: (values.connections?.split(',') ?? (short ? [32] : [32, 1, 256])).map(positive),
    rounds: positive(values.rounds ?? (short ? 3 : 5)),
    seconds: positive(values.seconds ?? 2),
    warm: positive(values.warm ?? (short ? 3 : 4)),
    checkouts: values.ours.map(checkoutAt)
  }
}

function choose (given, known, otherwise) {
  const names = given?.split(',') ?? otherwise
  const wrong = names.find(name => !Object.hasOwn(known, name))
  if (wrong !== undefined) throw new Error(`There is no ${wrong}, only ${Object.keys(known).join(', ')}`)
  return names
}

function positive (given) {
  const number = Number(given)
  if (!(number > 0)) throw new Error(`${given} is not a positive number`)
  return number
}

function checkoutAt (given) {
  const folder = resolve(given)
  if (!existsSync(join(folder, 'build/lib/index.js'))) {
    throw new Error(`There is no build in ${folder}: run npx tsc there`)
  }
  return { folder, name: basename(folder) }
}
