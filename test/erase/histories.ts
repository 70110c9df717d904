import fc from 'fast-check'
import { Problem, type Storage } from '../../lib/index.js'
import { buyers, orders } from './people.js'

// Every personal value of a person has its mark, so that none is missed.
const mark = (person: number, value: number): string => `zq${person}x${value}`
const ageOf = (person: number, value: number): number => 910_000 + 1000 * person + value
const bornOf = (person: number, value: number): string =>
  `17${70 + person}-01-${String(1 + value % 28).padStart(2, '0')}`

export type Step = readonly [what: number, person: number, value: number]

export const persons = 3
export const steps = fc.array(
  fc.tuple(fc.nat(11), fc.nat(persons - 1), fc.nat(999)), { minLength: 5, maxLength: 25 }
) as fc.Arbitrary<Step[]>

/** Commands of all kinds, also such as are refused, repeated or change nothing. */
export async function makeHistory (storage: Storage, history: readonly Step[], fixed = false): Promise<number[]> {
  let made = 0
  const makers = fixed
    ? { clock: () => new Date(1_900_000_000_000 + made), makeCommandId: () => `c-${++made}` }
    : {}
  const [some, sold] = [buyers.service({ storage, ...makers }), orders.service({ storage, ...makers })]
  const ids: number[] = []
  const ordered: number[] = []
  for (let person = 0; person < persons; person++) {
    const name = mark(person, 0)
    const phones = [{ kind: 'home', phone: name }]
    const { item } = await some.create({
      name,
      code: name,
      email: `${name}@example.org`,
      born: bornOf(person, 0),
      age: ageOf(person, 0),
      phones,
      notes: [`${name} is here`],
      remark: name
    }, { principal: 'ann', ...person % 2 === 0 && { key: `key-${person}` } })
    ids.push(item.id)
    ordered.push((await sold.create({ person: item.id, amount: 5 })).item.id)
  }
  for (const [at, [what, person, value]] of history.entries()) {
    const [id, order] = [ids[person] as number, ordered[person] as number]
    const text = mark(person, value)
    const { name } = await some.get(id).catch(() => ({ name: '' }))
    const options = { principal: 'bob', ...value % 3 === 0 && { command: `own-${at}` } }
    const done = {
      0: () => some.run('rename', id, { to: text, because: `${name}, who called` }, options),
      1: () => some.run('rename', id, { to: text, because: 'none', years: ageOf(person, value) }, options),
      2: () => some.run('edit', id, { name: text, email: `${text}@example.org` }, options),
      3: () => some.run('edit', id, { email: null, born: bornOf(person, value), age: ageOf(person, value) }, options),
      4: () => some.run('edit', id, { phones: ['work', 'home'].map(kind => ({ kind, phone: text })) }, options),
      5: () => some.run('edit', id, { notes: [text, `for ${text}`] }, options),
      6: () => some.run('raise', id, { by: 1 + value % 5 }, options),
      7: () => some.run('leave', id, {}, options),
      8: () => sold.run('deliver', order, { to: text, note: `to ${name}` }, options),
      9: () => some.run('cancel', id, { order, remark: text }, options),
      10: () => some.run('edit', id, { born: null, notes: [] }, options),
      11: async () => {
        await sold.remove(order, options)
        await some.remove(id, options)
      }
    }[what]
    await done?.().catch((error: unknown) => { if (!(error instanceof Problem)) throw error })
  }
  return ids
}
