import t from 'tap'
import { insert, query, thing, things, where } from '../../lib/storage/conformance/fixture.js'
import type { PostgresClient, PostgresPool } from '../../lib/storage/postgres/driver.js'
import { getLanes } from '../../lib/storage/postgres/lanes.js'
import { StatementNames } from '../../lib/storage/postgres/names.js'
import { StatementRunner } from '../../lib/storage/postgres/runner.js'
import { makePostgres } from './small-limits.js'

t.test('whoever leaves while he waits for a connection takes none', async t => {
  const answers: (() => void)[] = []
  const released: unknown[] = []
  const client: PostgresClient = {
    query: () => new Promise(resolve => { answers.push(() => { resolve({ rows: [[1]] }) }) }),
    release: error => { released.push(error) },
    on: () => {},
    off: () => {}
  }
  const pool: PostgresPool = { connect: async () => client, end: async () => {}, on: () => {}, off: () => {} }
  const names = new StatementNames(false)
  const lanes = getLanes(pool, 4, 1000)
  const runner = new StatementRunner(pool, { lanes, names, statementTimeout: 1000, limitsTime: true })
  const controller = new AbortController()
  const first = runner.read('t', 'SELECT 1', [])
  const second = runner.read('t', 'SELECT 1', [], controller.signal)
  const third = runner.read('t', 'SELECT 1', [])
  const reason = new Error('gone')
  controller.abort(reason)
  await t.rejects(second, reason)
  for (const read of [first, third]) {
    while (answers.length === 0) await new Promise(resolve => setImmediate(resolve))
    answers.shift()?.()
    t.same(await read, [[1]])
  }
  t.same(released, [false, false], 'and no connection is closed for him')
})

t.test('an index is followed in its own order, whichever is asked for of a field with one value', async t => {
  const { storage, statements, dispose } = await makePostgres()
  t.teardown(dispose)
  await storage.prepare(things)
  await storage.commit(insert('things', thing(1, { mood: 'calm', date: '2026-02-01' }), thing(2, { mood: 'calm' })))
  const asked = query({ where: [where('mood', 'eq', 'calm')], sort: ['-mood', 'date'], limit: 10 })
  t.same((await storage.find('things', asked)).items.map(({ id }) => id), [2, 1])
  const [text] = [...statements].filter(text => text.includes('"mood" >='))
  t.match(text, 'ORDER BY "mood" NULLS FIRST, "date" NULLS FIRST, "id"')
})
