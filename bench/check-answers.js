// Checks, before anything is measured, that every contender gives the right answers.
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { ask } from './processes.js'
import { itemsOf, requestOf } from './requests.js'
import { customerIdOf, customerOf, priceOf, startOf } from './scenarios.js'

/** Sends the n-th request of a scenario. */
export async function send (server, scenario, n) {
  const { method = 'GET', path, body } = requestOf(server.name, scenario)(n, server)
  const answer = await fetch(server.url + path, {
    method,
    headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${server.name} answers ${answer.status} to ${scenario}: ${text}`)
  return { headers: answer.headers, text }
}

export async function checkAnswers (server) {
  for (const scenario of server.scenarios) {
    try {
      await checks[scenario](server, async n => JSON.parse((await send(server, scenario, n)).text))
    } catch (error) {
      throw new Error(`${server.name} is not right: ${scenario}`, { cause: error })
    }
  }
}

const checks = {
  async page (server, answerTo) {
    for (const n of [1, 50, 98]) {
      const expected = idsFrom(server, startOf(n, server) + 1, ({ age }) => age >= 30 && age <= 60)
      deepStrictEqual(idsOf(itemsOf(server.name, await answerTo(n))), expected)
    }
  },
  async numbered (server, answerTo) {
    deepStrictEqual(idsOf(itemsOf(server.name, await answerTo(1))), idsFrom(server, 999 * 50 + 1, () => true))
  },
  async one (server, answerTo) {
    for (const n of [0, 7, 99]) {
      const { id, age, children } = await answerTo(n)
      deepStrictEqual({ id: Number(id), age, children }, customerOf(customerIdOf(n, server)))
    }
  },
  async operation (server, answerTo) {
    const [first] = server.ids
    for (const n of [server.ids.length, server.ids.length * 2]) {
      const { id, price } = await answerTo(n)
      deepStrictEqual({ id, price }, { id: first, price: priceOf(n) })
    }
    strictEqual(await ask(server.child, { log: first }), server.writesLess ? 0 : 2, 'rows in the log')
  }
}

// Platformatic sends every primary key as text.
const idsOf = items => items.map(({ id }) => Number(id))

/** The ids of a page of 50 matching customers, starting with this one. */
function idsFrom ({ customers }, start, matches) {
  const ids = []
  for (let id = start; id <= customers && ids.length < 50; id++) if (matches(customerOf(id))) ids.push(id)
  return ids
}
