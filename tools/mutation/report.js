import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'

// What no test can notice: the line that is changed, and why. Without a mutator and a replacement: each change of it.
const reasons = JSON.parse(readFileSync('test/mutation/equivalent.json', 'utf8'))

const isNoticed = ({ status }) => status === 'Killed' || status === 'Timeout'

/** The reason why no test can notice it, if there is one. */
export function explain ({ fileName, line, mutatorName, replacement }) {
  return reasons.find(reason => reason.file === fileName && reason.line === line &&
    (reason.mutator ?? mutatorName) === mutatorName && (reason.replacement ?? replacement) === replacement)
}

/** Prints the mutants that no test has noticed, unless they are explained, and the figures of files and folders. */
export function report (judged) {
  const places = new Map()
  for (const { mutant, result } of judged) {
    const reason = isNoticed(result) ? undefined : explain(mutant)
    for (const place of [mutant.fileName, dirname(mutant.fileName)]) {
      if (!places.has(place)) {
        places.set(place, { all: 0, Killed: 0, Timeout: 0, Survived: 0, NotMet: 0, explained: 0, static: 0 })
      }
      const counts = places.get(place)
      counts.all++
      counts[result.status]++
      if (result.isStatic) counts.static++
      if (reason !== undefined) counts.explained++
    }
    if (!isNoticed(result) && reason === undefined) console.log(describe(mutant, result))
  }
  for (const [place, { all, Killed, Timeout, Survived, NotMet, explained, static: atLoad }] of places) {
    console.log(`${place}: ${Killed + Timeout} of ${all}, ${(100 * (Killed + Timeout) / all).toFixed(1)} %` +
      ` (${Timeout} by time; ${Survived} survived and ${NotMet} met by no test, ${explained} of them explained;` +
      ` ${atLoad} only at load)`)
  }
}

function describe ({ fileName, location: { start }, mutatorName, original, replacement }, { status, tests, of }) {
  const by = status === 'NotMet' ? 'met by no test' : `passed ${tests} of ${of} tests`
  const change = `${mutatorName}: ${short(original)} -> ${short(replacement)}`
  return `${fileName}:${start.line + 1}:${start.column + 1} ${by}, ${change}`
}

function short (text) {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > 60 ? `${line.slice(0, 59)}…` : line
}
