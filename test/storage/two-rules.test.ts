import t from 'tap'
import { ConstraintError, defineFamily, Type } from '../../lib/index.js'
import { storages } from '../storages.js'

const seats = defineFamily({
  name: 'seats',
  singular: 'seat',
  fields: Type.Object({
    id: Type.Integer(),
    code: Type.String(),
    room: Type.Integer(),
    row: Type.Integer(),
    beside: Type.Optional(Type.Integer()),
    behind: Type.Optional(Type.Integer())
  }),
  create: ['code', 'room', 'row', 'beside', 'behind'],
  edit: ['code', 'room', 'row', 'beside', 'behind'],
  unique: [['room', 'row'], ['code']],
  references: { beside: 'seats', behind: 'seats' }
})

const first = { code: 'a', room: 1, row: 1 }
const second = { code: 'b', room: 2, row: 2 }

/** What breaks rules, and the fields that are named: of the first broken reference, else of the first unique rule. */
const cases = [
  { members: { code: 'a', room: 1, row: 1 }, fields: ['room', 'row'] },
  { members: { code: 'a', beside: 99 }, fields: ['beside'] },
  { members: { code: 'a', room: 1, row: 1, behind: 98 }, fields: ['behind'] },
  { members: { beside: 99, behind: 98 }, fields: ['beside'] },
  { members: { behind: 98 }, fields: ['behind'] },
  { members: { code: 'a' }, fields: ['code'] }
]

for (const { name, make } of storages) {
  t.test(`${name}: of several broken rules, the same is named on every storage`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const service = seats.service({ storage })
    await service.create(first)
    const { item: { id } } = await service.create(second)
    for (const { members, fields } of cases) {
      const isNamed = (error: unknown) => listFields(error)
      const text = JSON.stringify(members)
      const made = await service.create({ code: 'c', room: 3, row: 3, ...members }).catch(isNamed)
      t.strictSame(made, fields, `created with ${text}`)
      t.strictSame(await service.run('edit', id, members).catch(isNamed), fields, `changed to ${text}`)
    }
  })
}

function listFields (error: unknown): unknown {
  const { cause, errors } = error as { cause?: unknown, errors?: readonly { pointer: string }[] }
  return cause instanceof ConstraintError ? cause.fields : errors?.map(({ pointer }) => pointer.slice(1)) ?? error
}
