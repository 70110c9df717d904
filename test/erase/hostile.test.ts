// Values and places in which a person could be left.
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { defineFamily, type Service, type Storage, Type } from '../../lib/index.js'
import { consume, erase, listConsumers } from '../../lib/tools/index.js'
import { places, readRows } from './places.js'

const members = defineFamily({
  name: 'members',
  singular: 'member',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    tags: Type.Array(Type.String(), { default: [] }),
    rows: Type.Array(Type.Object({ notes: Type.Array(Type.Object({ by: Type.String(), text: Type.String() })) }),
      { default: [] }),
    more: Type.Optional(Type.Record(Type.String(), Type.String())),
    open: Type.Boolean({ default: true }),
    bills: Type.Integer({ default: 0 })
  }),
  create: ['name', 'tags', 'rows', 'more'],
  edit: ['name', 'tags', 'rows', 'more', 'open'],
  personal: ['name', 'tags', 'rows.notes.by', 'more'],
  operations: {
    greet: {
      name: 'greet',
      verb: 'greet',
      participle: 'greeted',
      noun: 'greetings',
      action: 'GreetMember',
      params: Type.Object({ text: Type.String(), deep: Type.Optional(Type.Array(Type.Object({ to: Type.String() }))) }),
      apply: member => ({ ...member, bills: member.bills + 1 })
    }
  }
})

const bills = defineFamily({
  name: 'bills',
  singular: 'bill',
  fields: Type.Object({
    id: Type.Integer(), member: Type.Integer(), amount: Type.Integer({ default: 0 }), note: Type.Optional(Type.String())
  }),
  create: ['member'],
  references: { member: members },
  operations: {
    charge: {
      name: 'charge',
      verb: 'charge',
      participle: 'charged',
      noun: 'charges',
      action: 'ChargeBill',
      params: Type.Object({ amount: Type.Integer(), why: Type.String() }),
      with: { member: 'member' },
      allowed: (_bill, _params, { items: { member } }) => member.open || `${member.name} has left`,
      apply: (bill, { amount }, { items: { member } }) =>
        ({ item: { ...bill, amount }, others: { member: { ...member, bills: member.bills + amount } } })
    }
  }
})

const all = [members, bills]
const tables = ['members', 'bills', 'commands', 'command-consumers']

// In a database, letters may be escaped; these stay as they are, or are the test of how values are found.
const names: Readonly<Record<string, string>> = {
  plain: 'Zqann Smith',
  quotes: 'Zqann "the \'quoted\'" O\'Smith',
  backslash: 'Zqann \\ Smith \\u0041',
  markup: 'Zqann <b>&amp; Smith</b>',
  pattern: 'Zqann.*(Smith)+$ [a-z]',
  like: 'Zqann%_Smith',
  lines: 'Zqann\nSmith\tJr',
  unicode: 'Zqann Зоя 王 😀 Ünal',
  letters: 'Zqann İSMITH ẞ',
  long: `Zqann ${'Smith '.repeat(400).trim()}`
}

async function work (storage: Storage, name: string): Promise<number> {
  const options = { storage }
  const [book, billed]: [Service<typeof members.definition.fields.properties>, Service] =
    [members.service(options) as never, bills.service(options) as never]
  const { item: { id } } = await book.create({
    name,
    tags: [name, 'regular'],
    rows: [{ notes: [{ by: name, text: 'first' }, { by: 'zzothers', text: 'second' }] }],
    more: { nick: name }
  }, { key: 'made' })
  const run = book.run as unknown as (name: string, id: number, params: object, options?: object) => Promise<unknown>
  await run('greet', id, { text: `Dear ${name}, hello`, deep: [{ to: name }] }, { command: 'greeted' })
  await run('edit', id, { tags: ['gone', name], rows: [] }, { command: 'edited' })
  const bill = (await billed.create({ member: id } as never)).item.id
  const charge = billed.run as unknown as typeof run
  await charge('charge', bill as number, { amount: 5, why: `asked by ${name.toUpperCase()}!` }, { command: 'charged' })
  await run('edit', id, { open: false })
  await charge('charge', bill as number, { amount: 6, why: name }, { command: 'refused' }).catch(() => {})
  return id
}

/** All texts, as they were before they were written as JSON. */
const listTexts = (value: unknown): string[] =>
  typeof value === 'object' && value !== null ? Object.values(value).flatMap(listTexts) : [String(value)]

for (const { name: place, make } of places) {
  t.test(`${place}: whatever letters a name has, and wherever it is`, async t => {
    for (const [what, name] of Object.entries(names)) {
      const { storage, dump } = await make(t, tables)
      const id = await work(storage, name)
      const twin = (await members.service({ storage }).create({ name: 'Zqanna Smithers' })).item.id
      const refused = (await readRows(storage, ['commands']))['commands']?.find(({ outcome }) => outcome === 'refused')
      t.match(refused, { problem: { detail: `${name} has left`.slice(0, 1000) } }, what)
      await erase(storage, all, { family: 'members', id, by: 'dpo' })
      const rows = await readRows(storage, tables)
      const found = listTexts(rows).filter(text => /zqann(?!a)/i.test(text))
      t.strictSame(found, [], what)
      t.notMatch(await dump(), /Zqann(?!a)/i, what)
      t.match(await members.service({ storage }).get(twin), { name: 'Zqanna Smithers' })
      t.ok(JSON.stringify(rows).includes('zzothers') === false, 'of who wrote notes, too')
      t.match(rows['commands']?.find(({ outcome }) => outcome === 'refused'), { problem: { code: 'wrong-state' } })
    }
  })

  t.test(`${place}: letters that are written in two ways are the same`, async t => {
    const { storage } = await make(t, tables)
    const name = 'Zqanné Smith'
    const id = await work(storage, name.normalize('NFC'))
    const run = members.service({ storage }).run as unknown as (...given: unknown[]) => Promise<unknown>
    await run('greet', id, { text: `Hello ${name.normalize('NFD')}` })
    await erase(storage, all, { family: 'members', id })
    t.strictSame(listTexts(await readRows(storage, tables)).filter(text => /zqann/i.test(text)), [])
  })

  t.test(`${place}: entries that a consumer has set aside`, async t => {
    const { storage, dump } = await make(t, tables)
    const id = await work(storage, 'Zqann Smith')
    const stop = new AbortController()
    const running = consume(storage, {
      name: 'mailer',
      families: all,
      maxAttempts: 1,
      signal: stop.signal,
      handler ({ params }) { throw new Error(`No mail to ${JSON.stringify(params)} of Zqann Smith`) }
    })
    const findParked = async () => (await listConsumers(storage)).flatMap(({ parked }) => parked)
    while ((await findParked()).length < 2) await delay(5)
    stop.abort()
    await running
    const { parked } = await erase(storage, all, { family: 'members', id, ignoreConsumers: true })
    t.ok(parked >= 2, `${parked} errors`)
    t.strictSame((await findParked()).filter(({ error }) => /zqann/i.test(String(error))), [])
    t.notMatch(await dump(), /zqann/i)
  })
}
