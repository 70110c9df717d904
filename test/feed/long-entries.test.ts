import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { writePosition } from '../../lib/core/service/log-reads.js'
import { measureAll } from '../../lib/core/values/json.js'
import type { Storage } from '../../lib/index.js'
import { defineFamily, html, json, Type } from '../../lib/index.js'
import { consume } from '../../lib/tools/index.js'
import { isLong } from '../size.js'
import { storages } from '../storages.js'
import { readEvents } from './events.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), owner: Type.String(), text: Type.String() }),
  create: ['owner', 'text'],
  title: 'owner'
})

// Short ones first, so that nothing seems long at the beginning.
const [short, long] = isLong ? [120, 110] : [120, 20]
const text = 'x'.repeat(isLong ? 1_000_000 : 150_000)
const count = short + long
// Of an entry.
const length = text.length + 1000
// What is read at once, however many short ones came before.
const mostAtOnce = 2_000_000 + length

/** Counts the characters that each read returns. */
function measureReads (storage: Storage, canWriteText: boolean) {
  const { findText } = storage
  const read = { most: 0, all: 0 }
  const note = (length: number): void => {
    read.most = Math.max(read.most, length)
    read.all += length
  }
  const measured: Storage = {
    prepare: shape => storage.prepare(shape),
    get: (...asked) => storage.get(...asked),
    commit: changes => storage.commit(changes),
    close: () => storage.close(),
    ...(storage.watch && { watch: wake => (storage as Required<Storage>).watch(wake) }),
    async find (...asked) {
      const found = await storage.find(...asked)
      note(measureAll(found.items))
      return found
    },
    ...(canWriteText && findText !== undefined && {
      async findText (...asked) {
        const found = await findText.apply(storage, asked)
        note(found.text.length)
        return found
      }
    })
  }
  const take = () => {
    const taken = { ...read }
    read.most = read.all = 0
    return taken
  }
  return { measured, take }
}

/** The longest piece that is written to a stream. */
function watchWrites (app: FastifyInstance): { longest: number } {
  const written = { longest: 0 }
  app.addHook('onRequest', async (_request, { raw }) => {
    const write = raw.write.bind(raw) as (...args: unknown[]) => boolean
    raw.write = (chunk: string | Buffer, ...rest: unknown[]) => {
      written.longest = Math.max(written.longest, chunk.length)
      return write(chunk, ...rest)
    }
  })
  return written
}

async function fill (storage: Storage): Promise<void> {
  const book = notes.service({ storage })
  for (let made = 0; made < count; made++) await book.create({ owner: 'ann', text: made < short ? 'x' : text })
}

async function open (t: Test, storage: Storage): Promise<{ url: string, written: { longest: number } }> {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  const written = watchWrites(app)
  await app.register(notes, {
    storage,
    prefix: '/app',
    representations: [json, html()],
    authorize: ({ headers: { 'x-user': user } }) =>
      user === undefined ? {} : { where: [{ field: 'owner', op: 'eq', values: [String(user)] }] }
  })
  return { url: await app.listen({ port: 0 }), written }
}

for (const { name, make } of storages) {
  for (const canWriteText of name === 'sqlite' ? [true, false] : [name !== 'memory']) {
    t.test(`${name}${canWriteText ? '' : ', without texts'}: long entries are read and written in parts`, async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      await fill(storage)
      const { measured, take } = measureReads(storage, canWriteText)
      const { url, written } = await open(t, measured)
      take()

      const all = await readEvents(`${url}/app/rest/commands?after=${writePosition(0)}`)
      const events = await all.take(count)
      all.close()
      t.strictSame(events.map(({ data }) => data['note']), Array.from({ length: count }, (_, index) => index + 1))
      t.ok(written.longest < 2 * length, `${written.longest} characters are written at once`)
      const read = take()
      t.ok(read.most <= mostAtOnce, `a stream: ${read.most} characters are read at once`)

      const seen: unknown[] = []
      const stop = new AbortController()
      await consume(measured, {
        name: 'all',
        families: [notes],
        signal: stop.signal,
        handler ({ note }) { if (seen.push(note) === count) stop.abort() }
      })
      t.equal(seen.length, count)
      t.ok(take().most <= mostAtOnce, 'a consumer')

      // Few characters where the storage can leave out the long ones, and otherwise few at once.
      const most = canWriteText ? 50_000 : mostAtOnce
      const headers = { 'x-user': 'bob' }
      for (const path of ['/app/rest/commands?maxpagesize=1', '/app/rest/commands', '/app/']) {
        const accept = path === '/app/' ? 'text/html' : 'application/json'
        const answer = await fetch(url + path, { headers: { ...headers, accept } })
        t.equal(answer.status, 200)
        t.notMatch(await answer.text(), 'xxxxx')
        const read = take()
        t.ok(read.most <= most, `${path}, of which nothing is shown: ${read.most} characters are read at once`)
      }

      const none = await readEvents(`${url}/app/rest/commands?after=${writePosition(0)}`, headers)
      await notes.service({ storage: measured }).create({ owner: 'bob', text: 'y' })
      t.strictSame((await none.take(1)).map(({ data }) => data['note']), [count + 1])
      none.close()
      t.ok(take().all < (canWriteText ? 15 * length : Infinity), 'a stream of which nothing is shown')
      const own = await fetch(`${url}/app/rest/commands`, { headers })
      t.strictSame((await own.json() as { items: { note: number }[] }).items.map(({ note }) => note), [count + 1])
    })
  }
}
