import t from 'tap'
import { type Family, getFamily } from '../../lib/core/family/family.js'
import type { Caller } from '../../lib/core/service/caller.js'
import type { Command } from '../../lib/core/service/decide.js'
import type { CommandRecord } from '../../lib/core/service/record.js'
import { refuseByConstraint } from '../../lib/core/service/refusal.js'
import { asBase, enter, findMounted, findOther, nameRecordOf } from '../../lib/core/service/renamed.js'
import type { Stored } from '../../lib/index.js'
import { ConstraintError, defineFamily, invalidBody, Problem, Type } from '../../lib/index.js'

const plugin = defineFamily({
  name: 'bills',
  singular: 'bill',
  fields: Type.Object({ id: Type.Integer(), total: Type.Integer(), size: Type.Integer({ default: 1 }) }),
  create: ['total'],
  edit: ['size']
})
const [bills, swapped] = [getFamily(plugin), getFamily(plugin.rename({ total: 'size', size: 'total' }))]
const wide = getFamily(plugin.extend({ fields: Type.Object({ note: Type.Optional(Type.String()) }) }))
const item = { id: 1, total: 5, size: 2, revision: 1 } as unknown as Stored
const [total, size] = ['/total', '/size'].map(pointer => ({ pointer, detail: 'is bad' })) as
  [{ pointer: string, detail: string }, { pointer: string, detail: string }]

function makeCaller (mounted?: Family, members: object = {}): Caller {
  const caller = {
    authorize: () => ({}), other: () => mounted && { family: mounted, caller: makeCaller() }, ...members
  }
  return caller as unknown as Caller
}

function open (family: Family, given: Partial<Command> = {}, members: object = {}) {
  const command = { action: 'EditBill', params: {}, ...given } as Command
  return enter({ family, caller: makeCaller(undefined, members), command })
}

const thrown = (run: () => unknown): unknown => {
  try {
    return run()
  } catch (error) {
    return error
  }
}

t.test('what has no other names is passed on', t => {
  const { showItem, showOutcome, showProblem, ...entered } = open(bills)
  for (const value of [item, undefined]) t.equal(showItem(value), value)
  for (const value of [new Problem('busy', 'x'), 'x']) t.equal(showProblem(value), value)
  const outcome = { item } as never
  t.equal(showOutcome(outcome), outcome)
  const called = { family: bills, caller: entered.caller }
  t.equal(asBase(called), called)
  t.end()
})

t.test('other families are those that are mounted, with all fields that rules know', t => {
  const own = { family: swapped, caller: makeCaller(bills) }
  t.equal(findMounted(own, undefined)?.family, bills)
  t.equal(findOther(own, undefined).family, bills)
  t.equal(findMounted(own, bills)?.family, bills)
  const renamed = findMounted({ family: bills, caller: makeCaller(swapped) }, bills)
  t.equal(renamed?.family, bills)
  const narrow = { family: bills, caller: makeCaller(bills) }
  const found = findMounted(narrow, wide)
  t.equal(found?.family, wide, 'one of which a narrower version is mounted')
  t.strictSame(Object.keys(found ?? {}), ['family', 'caller'])
  t.strictSame(found?.caller.authorize({} as never), {})
  const alone = { family: bills, caller: makeCaller() }
  t.equal(findMounted(alone, wide), undefined)
  t.throws(() => findOther(alone, wide), {
    code: 'FST_DEALBOOK_NO_NEIGHBOUR', message: /bills.*needs the family "bills"/
  })
  t.end()
})

t.test('a command has what it had', t => {
  const { command, caller } = open(swapped)
  t.strictSame([command.interpret, command.precondition, caller.committed], [undefined, undefined, undefined])
  const seen: unknown[] = []
  const note = (given: unknown): void => { seen.push(given) }
  open(swapped, { precondition: note }).command.precondition?.(item)
  t.match(seen, [{ id: 1, total: 2, size: 5 }])
  t.end()
})

t.test('problems have the names of the version, and texts of the host stay', t => {
  const { showProblem } = open(swapped)
  const rule = { fields: ['total'], declared: true }
  const ours = new ConstraintError('bills', 1, 'unique', rule)
  const host = (cause: Error, errors = [total]) => new Problem('constraint', '/total is odd', { cause, errors })
  const mixed = [total, { parameter: 'x', detail: 'is bad' }]
  const text = '/total is bad'
  const rows: [what: string, given: Problem, detail: string, errors: unknown][] = [
    ['ours', invalidBody([total, size]), invalidBody([size, total]).message, [size, total]],
    ['of the host', new Problem('wrong-state', '/total is low', { errors: [total] }), '/total is low', [size]],
    ['of the host, like ours at first', new Problem('wrong-state', '/total is bad!', { errors: [total] }),
      '/total is bad!', [size]],
    ['of the body', invalidBody([{ pointer: '', detail: 'x' }]), 'The body x', [{ pointer: '', detail: 'x' }]],
    ['of what keeps its name', invalidBody([{ pointer: '/id', detail: 'x' }]), '/id x',
      [{ pointer: '/id', detail: 'x' }]],
    ['of a part', invalidBody([{ pointer: '/total/0/a~1b', detail: 'x' }]), '/size/0/a~1b x',
      [{ pointer: '/size/0/a~1b', detail: 'x' }]],
    ['of a query too', new Problem('invalid-query', text, { errors: mixed }), text, [size, mixed[1]]],
    ['without flaws', new Problem('wrong-state', 'No', { errors: [] }), 'No', []],
    ['of a constraint', refuseByConstraint(ours), refuseByConstraint(ours, () => '/size').message,
      [{ pointer: '/size', detail: 'is already taken' }]],
    ['of a constraint, of the host', host(ours), '/total is odd', [size]]
  ]
  for (const [what, given, detail, errors] of rows) {
    const shown = showProblem(given) as Problem
    t.strictSame([shown.message, shown.errors ?? [], shown.code], [detail, errors, given.code], what)
  }
  const other = host(new ConstraintError('others', 1, 'unique', rule))
  for (const same of [other, new Problem('in-use', 'x'), new Error('/total'), '/total', undefined]) {
    t.equal(showProblem(same), same)
  }
  t.end()
})

t.test('what functions of the version throw has its names already', async t => {
  const own = new Problem('forbidden', '/total', { errors: [total] })
  for (const error of [own, new Error('no'), 'text', undefined]) {
    const fail = () => { throw error }
    const { command, caller, showProblem } = open(swapped, { precondition: fail, interpret: fail }, { authorize: fail })
    const failed = [
      thrown(() => command.precondition?.(item)), thrown(() => command.interpret?.(item)),
      thrown(() => caller.authorize({ action: 'read', params: {} } as never))
    ]
    t.strictSame(failed, [error, error, error])
    for (const each of failed) t.equal(showProblem(each), error)
    const late = open(swapped, {}, { authorize: async () => fail() })
    const waited = await Promise.resolve(late.caller.authorize({ action: 'read', params: {} } as never))
      .catch((error: unknown) => error)
    t.equal(late.showProblem(waited), error)
  }
})

t.test('a refusal in the log without flaws stays as it is', t => {
  const problem = { code: 'wrong-state', detail: 'No', members: {} }
  const record = { id: 'c', family: 'bills', target: '1', action: 'EditBill', problem } as unknown as CommandRecord
  t.strictSame(nameRecordOf(swapped, record, swapped), record)
  t.end()
})
