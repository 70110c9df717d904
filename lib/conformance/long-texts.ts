import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Storage } from '../core/storage/storage.js'
import type { Case } from './fixture.js'
import { assertIds, insert, shape, thing, where } from './fixture.js'

const essays = shape('essays', 'integer', [{ name: 'text', kind: 'string', optional: true }], [['text']])

/** Text that no index can make shorter. */
function makeText (length: number): string {
  return randomBytes(length).toString('base64').slice(0, length)
}

async function store (storage: Storage, texts: readonly string[]): Promise<void> {
  await storage.prepare(essays)
  await storage.commit(insert('essays', ...texts.map((text, index) => thing(index + 1, { text })), thing(0)))
}

export const longTexts: readonly Case[] = [
  {
    name: 'long texts: 4,000 characters of any kind are stored, read, found and ordered',
    async run ({ storage }) {
      const texts = ['a', '漢', '😀', '~'].map(first => first + makeText(4000 - first.length))
      await store(storage, texts)
      for (const [index, text] of texts.entries()) {
        assert.equal((await storage.get('essays', index + 1))?.['text'], text)
        await assertIds(storage, { where: [where('text', 'eq', text)] }, [index + 1], 'essays')
        await assertIds(storage, { where: [where('text', 'eq', text.slice(0, -1))] }, [], 'essays')
      }
      await assertIds(storage, { sort: ['text'] }, [0, 1, 4, 2, 3], 'essays')
      await assertIds(storage, { where: [where('text', 'gt', texts[1])], sort: ['-text'] }, [3], 'essays')
      await assertIds(storage, { where: [where('text', 'lte', texts[3])], sort: ['-text'] }, [4, 1], 'essays')
    }
  },
  {
    name: 'long texts: those that begin alike are told apart, whatever is asked',
    async run ({ storage }) {
      const same = 'x'.repeat(199)
      // In their order.
      const texts = [same, `${same}a`, `${same}aa`, `${same}aa`, `${same}aab`, `${same}b${'y'.repeat(4000)}`]
        .concat(`${same}b${'y'.repeat(4000)}z`, `${same}😀`, `${same}😀a`)
      const ids = texts.map((_, index) => texts.length - index)
      // Those that are equal go by their ids.
      ids.splice(2, 2, 6, 7)
      await storage.prepare(essays)
      await storage.commit(insert('essays', ...texts.map((text, index) => thing(ids[index] as number, { text }))))
      await assertIds(storage, { sort: ['text'] }, ids, 'essays')
      const backwards = [...ids].reverse()
      await assertIds(storage, { sort: ['-text', '-id'], limit: 4, offset: 2 }, backwards.slice(2, 6), 'essays')
      for (const [at, text] of texts.entries()) {
        const from = texts.indexOf(text)
        const to = texts.lastIndexOf(text) + 1
        const sort = ['text']
        await assertIds(storage, { where: [where('text', 'eq', text)], sort }, ids.slice(from, to), 'essays')
        await assertIds(storage, { where: [where('text', 'lt', text)], sort }, ids.slice(0, from), 'essays')
        await assertIds(storage, { where: [where('text', 'lte', text)], sort }, ids.slice(0, to), 'essays')
        await assertIds(storage, { where: [where('text', 'gt', text)], sort }, ids.slice(to), 'essays')
        await assertIds(storage, { where: [where('text', 'gte', text)], sort }, ids.slice(from), 'essays')
        const others = [...ids.slice(0, from), ...ids.slice(to)]
        await assertIds(storage, { where: [where('text', 'ne', text)], sort }, others, 'essays')
        const both = [...new Set([...ids.slice(0, 1), ...ids.slice(from, to)])]
        await assertIds(storage, { where: [where('text', 'eq', same, text)], sort, limit: at + 9 }, both, 'essays')
      }
    }
  }
]
