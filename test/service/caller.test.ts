import t from 'tap'
import { getFamily } from '../../lib/core/family/family.js'
import { checkGrant } from '../../lib/core/service/caller.js'
import type { Condition } from '../../lib/index.js'
import { decimal, defineFamily, Type } from '../../lib/index.js'

const cards = getFamily(defineFamily({
  name: 'cards', singular: 'card', fields: Type.Object({ id: Type.String(), price: decimal({ scale: 2 }) })
}))
const plain = getFamily(defineFamily({
  name: 'plain', singular: 'plain', fields: Type.Object({ id: Type.String(), price: Type.Integer() })
}))

t.test('decimals in a grant are compared as numbers', async t => {
  const where: readonly Condition[] = [{ field: 'price', op: 'eq', values: ['1.5'] }]
  for (const [family, grant, expected] of [
    [cards, { principal: 'ann', where }, { principal: 'ann', where: [{ ...where[0], values: [1.5] }] }],
    [cards, { principal: 'ann' }, { principal: 'ann' }], [cards, undefined, {}],
    [plain, { where: [{ field: 'price', op: 'gt', value: 1 }] }, { where: [{ field: 'price', op: 'gt', value: 1 }] }]
  ] as const) {
    t.strictSame(checkGrant(family, grant), expected)
  }
})
