// npm run bench: the contenders of contenders.js, each in a bare host and a process of its own, in turns.
import { runContest } from './contest.js'
import { readOptions } from './options.js'
import { makeTables } from './report.js'

const options = readOptions(process.argv.slice(2))
const rows = await runContest(options)
console.log(makeTables(rows, options.connections))
const busiest = rows.reduce((most, row) => row.busy > most.busy ? row : most)
console.log(`\nThe load was busy ${(busiest.busy * 100).toFixed(0)} % of the time at most (${busiest.server.name}).`)
