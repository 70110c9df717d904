import t from 'tap'
import * as library from '../../lib/index.js'
import { mcp } from '../../lib/mcp/mcp.js'
import { runs } from '../size.js'
import { storages } from '../storages.js'
import { makeApp } from './app.js'
import { compare, explain, inject, type Side } from './compare.js'
import type { Got, Sent } from './requests.js'

const length = 100

// Entries of one commit may have either order: then the same entries are on a page, or the page has a part of them.
function findMeant ({ url }: Sent, one: Got, other: Got): string | undefined {
  if (one.status !== other.status || !/^\/\w+(\/|.*\/commands)($|\?)/.test(url)) return undefined
  const [first, second] = [one, other].map(listEntries)
  return first === second ? 'the order of a feed' : undefined
}

function listEntries ({ headers, body }: Got): string {
  if (!String(headers['content-type']).startsWith('application/json')) return ''
  const { items = [], links = {} } = JSON.parse(body) as { items?: object[], links?: { next?: string, prev?: string } }
  return links.next ?? links.prev ?? items.map(item => JSON.stringify(item)).sort().join()
}

t.test('every storage gives the same answers to random requests', async t => {
  for (let seed = 1; seed <= runs(5); seed++) {
    const sides = await Promise.all(storages.map(async ({ name, make }): Promise<Side> => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const app = await makeApp({ ...library, mcp }, storage)
      t.teardown(() => app.close())
      return { name, send: async step => await inject(app, step) }
    }))
    const { requests, difference } = await compare(seed, length, sides, { findMeant })
    t.equal(difference && explain(difference), undefined)
    t.ok(requests >= length)
  }
})

t.test('a difference ends a comparison, unless it is meant', async t => {
  let count = 0
  const answer = (body: string): Got => ({ status: 200, headers: { a: 'b' }, body })
  const same: Side = { name: 'same', send: async step => step.map(() => answer('x')) }
  const other: Side = { name: 'other', send: async step => step.map(() => answer(++count % 3 === 0 ? 'y' : 'x')) }
  const { difference, requests } = await compare(1, 10, [same, other])
  t.strictSame([requests, difference?.parts, difference?.index], [3, ['body'], 2])
  t.match(explain(difference as never), /seed 1, request 2: .*\n {2}differs in body\n {2}same: 200 .*\n {2}other: 200 /)
  count = 0
  const all = await compare(1, 10, [same, other], { findMeant: () => 'on purpose' })
  t.strictSame([all.requests, all.difference, [...all.meant]], [10, undefined, [['on purpose', 3]]])
})
