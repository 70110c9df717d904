import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { Query, Storage } from '../../lib/index.js'
import { defineFamily } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { isLong } from '../size.js'
import { storages } from '../storages.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), rank: Type.Integer(), text: Type.String() }),
  create: ['rank', 'text']
})

interface Page {
  readonly items: readonly { readonly id: number }[]
  readonly total?: number
  readonly links: { readonly next?: string, readonly prev?: string }
}

async function read (app: FastifyInstance, url: string): Promise<Page> {
  const answer = await app.inject({ url, headers: { accept: 'application/json' } })
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json()
}

/** The ids on page after page, and how many pages there are. */
async function crawl (app: FastifyInstance, first: string, rel: 'next' | 'prev'): Promise<number[][]> {
  const pages: number[][] = []
  for (let url: string | undefined = first; url !== undefined;) {
    const { items, links }: Page = await read(app, url)
    pages.push(items.map(({ id }) => id))
    url = links[rel]
  }
  return pages
}

interface Watched {
  readonly storage: Storage
  /** The largest number of items that it was asked for at once. */
  takeLargest (): number
  /** How often it was asked. */
  takeReads (): number
}

function watchLimits (storage: Storage): Watched {
  let [largest, reads] = [0, 0]
  const look = ({ limit }: Query): void => {
    largest = Math.max(largest, limit)
    reads++
  }
  const { findText } = storage
  const watched: Storage = {
    prepare: shape => storage.prepare(shape),
    get: (...rest) => storage.get(...rest),
    commit: changes => storage.commit(changes),
    close: () => storage.close(),
    find (family, query, signal) {
      look(query)
      return storage.find(family, query, signal)
    },
    ...findText === undefined
      ? {}
      : {
          findText (family: string, query: Query, members: readonly string[], signal?: AbortSignal) {
            look(query)
            return findText.call(storage, family, query, members, signal)
          }
        }
  }
  const takeLargest = (): number => {
    const taken = largest
    largest = 0
    return taken
  }
  const takeReads = (): number => {
    const taken = reads
    reads = 0
    return taken
  }
  return { storage: watched, takeLargest, takeReads }
}

for (const { name, make } of storages) {
  t.test(`${name}: a page of long items ends before it is too long`, async t => {
    const fixture = await make()
    t.teardown(() => fixture.dispose())
    const { storage, takeLargest, takeReads } = watchLimits(fixture.storage)
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(notes, { storage })
    const [short, long] = ['x', 'x'.repeat(200_000)]
    // Short ones first, so that nothing seems long at the beginning.
    const count = isLong ? 180 : 130
    const all = Array.from({ length: count }, (_, index) =>
      ({ id: index + 1, rank: index % 7, text: index < 60 ? short : long }))
    await loadItems(fixture.storage, notes, all)
    const upwards = all.map(({ id }) => id)
    const byRank = all.toSorted((a, b) => a.rank - b.rank || a.id - b.id).map(({ id }) => id)
    takeLargest()

    for (const [sort, ids] of [['id', upwards], ['rank', byRank]] as const) {
      const forth = await crawl(app, `/notes?maxpagesize=1000&sort=${sort}`, 'next')
      t.strictSame(forth.flat(), ids, `${sort}: all of them, each once, in order`)
      t.ok(forth.length > 1, `${sort}: on several pages`)
      const first = await read(app, `/notes?maxpagesize=70&sort=-${sort}`)
      const second = await read(app, first.links.next as string)
      const back = await crawl(app, second.links.prev as string, 'prev')
      t.strictSame(back.toReversed().flat(), first.items.map(({ id }) => id), `${sort}: and back`)
      const whole = await read(app, `/notes?maxpagesize=55&sort=${sort}&rank=0&text=x&count=exact`)
      t.equal(whole.total, 9, `${sort}: with the total`)
      t.ok(takeLargest() <= 51, `${sort}: never many at once`)
    }

    const numbered = await app.inject('/notes?page=1&maxpagesize=1000')
    t.equal(numbered.statusCode, 400, 'the next number would begin too late')
    t.match(numbered.json(), { errors: [{ parameter: 'maxpagesize', detail: /^The items are so long that 1\d\d of/ }] })
    t.equal((await app.inject('/notes?page=2&maxpagesize=60')).statusCode, 400)
    t.equal((await read(app, '/notes?page=2&maxpagesize=40')).items.length, 40)
    t.equal((await read(app, '/notes?page=1&maxpagesize=60')).items.length, 60)

    for (const path of ['/notes?lt=61', '/notes?lt=61&sort=-rank', '/notes?lt=61&format=xml']) {
      takeReads()
      t.equal((await app.inject(path)).statusCode, 200)
      const most = storage.findText === undefined || path.endsWith('xml') ? 3 : 1
      t.ok(takeReads() <= most, `${path}: a page of short ones is one query, or a few where the storage writes no text`)
    }

    takeLargest()
    const lines = await app.inject('/notes.ndjson')
    t.equal(lines.body.trim().split('\n').length, count)
    t.ok(takeLargest() <= 51, 'an export never reads many at once either')
    const html = await app.inject('/notes.html?maxpagesize=1000')
    t.equal(html.statusCode, 200)
    t.ok(takeLargest() <= 51)
  })
}
