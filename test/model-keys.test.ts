import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { bills, people } from './family/keyed.js'
import type { KeyedStep } from './family/keys-model.js'
import { KeyedModel } from './family/keys-model.js'
import { runs } from './size.js'
import { storages } from './storages.js'

const amounts: Readonly<Record<string, number>> = { memory: 60, sqlite: 20, postgres: 20 }

const id = fc.nat({ max: 5 })
const keyedStep: fc.Arbitrary<KeyedStep> = fc.oneof(
  fc.record({
    family: fc.constant('people' as const),
    action: fc.constantFrom('create', 'edit', 'remove'),
    index: id,
    members: fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), boss: id }, { requiredKeys: ['name'] })
  }),
  fc.record({
    family: fc.constant('bills' as const),
    action: fc.constantFrom('create', 'create', 'edit', 'remove'),
    index: id,
    members: fc.record({
      number: fc.constantFrom('1', '2', '3'),
      customer: id,
      payer: fc.option(id),
      room: fc.constantFrom(1, 2),
      day: fc.constantFrom('2026-01-01', '2026-01-02')
    }, { requiredKeys: ['customer'] })
  })
)

for (const { name, make } of storages) {
  t.test(`${name}: any sequence of requests keeps what is unique, and what is referred to`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const services = { people: people.service({ storage }), bills: bills.service({ storage }) }
    await fc.assert(fc.asyncProperty(fc.array(keyedStep, { minLength: 10, maxLength: 40 }), async steps => {
      const model = new KeyedModel()
      for (const { id } of (await services.bills.find('', { limit: 1000 })).items) await services.bills.remove(id)
      await clearPeople(services.people)
      // Ids are never given again, so the n-th of a sequence stands for the n-th that was made in it.
      const made: Record<string, (number | string)[]> = { people: [], bills: [] }
      for (const step of steps) await takeKeyed(services, model, made, step)
      for (const family of ['people', 'bills'] as const) {
        const { items } = await services[family].find('', { limit: 1000, sort: 'id' })
        const kept = [...model.items[family] ?? []].sort((a, b) => a.id < b.id ? -1 : 1)
        const found = items.map(({ revision, createdAt, updatedAt, ...item }) => ({ ...item }))
        if (!isDeepStrictEqual(found, kept)) throw new Error(`${JSON.stringify(found)} where the model has others`)
      }
    }), { numRuns: runs(amounts[name] ?? 10) })
    t.pass('they agree')
  })
}

interface KeyedServices {
  readonly people: ReturnType<typeof people.service>
  readonly bills: ReturnType<typeof bills.service>
}

/** All of them, whoever refers to whom. */
async function clearPeople (service: KeyedServices['people']): Promise<void> {
  const { items } = await service.find('', { limit: 1000 })
  for (const { id } of items) await service.run('edit', id, { boss: null })
  for (const { id } of items) await service.remove(id)
}

async function takeKeyed (
  services: KeyedServices,
  model: KeyedModel,
  made: Record<string, (number | string)[]>,
  { family, action, index, members: given }: KeyedStep
): Promise<void> {
  const service = services[family] as unknown as ReturnType<typeof people.service>
  const toId = (value: unknown): unknown => made['people']?.[value as number] ?? 1_000_000 + (value as number)
  const members = Object.fromEntries(Object.entries(given).map(([field, value]) =>
    [field, ['boss', 'customer', 'payer'].includes(field) && value !== null ? toId(value) : value]))
  const id = action === 'create' ? undefined : made[family]?.[index]
  const before = model.items[family]?.find(item => item.id === id)
  if (action !== 'create' && before === undefined) return
  const defaults = family === 'bills' ? { payer: null } : {}
  const after = { ...defaults, ...before, ...members }
  const allowed = model.judge({ family, action, index, members }, id, after)
  try {
    if (action === 'remove') {
      await service.remove(id as number)
      model.remove(family, id as number)
    } else if (action === 'edit') {
      await service.run('edit', id as number, members)
      model.put(family, after as never)
    } else {
      const { item } = await service.create(members as never)
      made[family]?.push(item.id)
      model.put(family, { ...after, id: item.id })
    }
  } catch (error) {
    if (allowed.includes((error as { code: string }).code)) return
    throw error
  }
  if (allowed.length > 0) throw new Error(`${action} of ${family} was done where the model has ${allowed.join()}`)
}
