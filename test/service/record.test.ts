import { type TProperties, Type } from '@sinclair/typebox'
import t from 'tap'
import { compileFamily } from '../../lib/core/family/compile.js'
import { type Family, getFamily } from '../../lib/core/family/family.js'
import { Problem } from '../../lib/core/problems.js'
import { readMakers } from '../../lib/core/service/caller.js'
import { identifyCommand, nameOtherRow } from '../../lib/core/service/command-ids.js'
import type { Command } from '../../lib/core/service/decide.js'
import {
  type CommandRecord, type Decided, digestParams, isSameCommand, listChangedOthers as listLoggedOthers, makeChanges,
  makeRecord as makeLogged, nameRecord, readTarget, restoreProblem, showCommand
} from '../../lib/core/service/record.js'
import { nameRecordOf } from '../../lib/core/service/renamed.js'
import { toShown } from '../../lib/core/service/shown.js'
import { guardStorage } from '../../lib/core/service/storage-access.js'
import type { Stored } from '../../lib/core/storage/storage.js'
import { deals } from '../../lib/deals/deals.js'
import { defineFamily, type FamilyDefinition, memoryStorage } from '../../lib/index.js'

const family = compileFamily(deals.definition as unknown as FamilyDefinition)
const storage = guardStorage(memoryStorage())
const makeRecord = (family: Family, what: Decided, row?: string, makers = readMakers(family, {})): CommandRecord =>
  makeLogged(family, what, { row, makers, storage })
const listChangedOthers = (
  family: Family, decision: Decided['decision'], others: Parameters<typeof listLoggedOthers>[2], own: CommandRecord
) => listLoggedOthers(family, decision, others, own, { makers: readMakers(family, {}), storage })
const now = '2026-02-02T00:00:00.000Z'
const deal: Stored = { id: 'd-1', name: 'tea', price: 1, revision: 3, createdAt: now, updatedAt: now }
const changed: Stored = { ...deal, price: 2, revision: 4 }
const hold: Command = { action: 'HoldDeal', target: 'd-1', params: { reason: 'a' }, id: 'c-1' }
const decided = (part: Partial<Decided>): Decided => ({
  command: hold,
  context: { now, command: 'c-1', principal: undefined, claims: {}, items: {}, newIds: {}, facts: {} },
  current: deal,
  others: [],
  decision: { outcome: 'unchanged' },
  ...part
})
const entry = { id: 'c-1', family: 'deals', target: 'd-1', action: 'HoldDeal', params: { reason: 'a' } }
const { params, ...unnamed } = entry
// Of what changes nothing, the parameters are not kept.
const small = { ...unnamed, digest: digestParams(params) }
const refused = new Problem('wrong-state', 'no', { members: { state: 'held' } })

/** Given what was decided, then this is recorded, and these changes are committed. */
const table: readonly (readonly [given: string, decided: Decided, record: object, changes: object[]])[] = [
  [
    'a change',
    decided({ decision: { outcome: 'done', after: changed } }),
    { ...entry, outcome: 'done', changes: { price: { from: 1, to: 2 } }, revision: 4 },
    [{ type: 'replace', family: 'deals', item: changed, expected: 3, current: deal }]
  ],
  [
    'nothing changed',
    decided({}),
    { ...small, outcome: 'unchanged', revision: 3 },
    []
  ],
  [
    'a refusal',
    decided({ decision: { outcome: 'refused', problem: refused } }),
    {
      ...small,
      outcome: 'refused',
      revision: 3,
      problem: { code: 'wrong-state', detail: 'no', members: { state: 'held' } }
    },
    []
  ],
  [
    'a deletion',
    decided({
      command: { ...hold, action: 'DeleteDeal', params: {} },
      decision: { outcome: 'done', after: undefined }
    }),
    {
      ...entry,
      action: 'DeleteDeal',
      params: {},
      outcome: 'done',
      changes: {
        id: { from: 'd-1' },
        name: { from: 'tea' },
        price: { from: 1 },
        createdAt: { from: now },
        updatedAt: { from: now }
      },
      revision: 4
    },
    [{ type: 'delete', family: 'deals', id: 'd-1', expected: 3, current: deal }]
  ],
  [
    'a creation',
    decided({
      command: { action: 'CreateDeal', target: undefined, params: { name: 'tea' } },
      current: undefined,
      decision: { outcome: 'done', after: deal }
    }),
    { ...entry, action: 'CreateDeal', params: { name: 'tea' }, outcome: 'done', revision: 3 },
    [{ type: 'insert', family: 'deals', item: deal }]
  ],
  [
    'a creation under a key, whose answer may be wanted again',
    decided({
      command: { action: 'CreateDeal', target: undefined, params: {}, key: 'k' },
      current: undefined,
      decision: { outcome: 'done', after: deal }
    }),
    { ...entry, action: 'CreateDeal', params: {}, outcome: 'done', revision: 3, result: deal },
    [{ type: 'insert', family: 'deals', item: deal }]
  ],
  [
    'a change by a principal',
    decided({
      context: { now, command: 'c-1', principal: 'ann', claims: {}, items: {}, newIds: {}, facts: {} },
      decision: { outcome: 'done', after: changed }
    }),
    { ...entry, outcome: 'done', changes: { price: { from: 1, to: 2 } }, revision: 4, principal: 'ann' },
    [{ type: 'replace', family: 'deals', item: changed, expected: 3, current: deal }]
  ],
  [
    'a change of what is absent, and of what is long',
    decided({ decision: { outcome: 'done', after: { ...changed, name: 'x'.repeat(201), price: 1, holdReason: 'a' } } }),
    {
      ...entry,
      outcome: 'done',
      changes: { name: { from: 'tea', to: 'x'.repeat(201) }, holdReason: { to: 'a' } },
      revision: 4
    },
    [{
      type: 'replace',
      family: 'deals',
      item: { ...changed, name: 'x'.repeat(201), price: 1, holdReason: 'a' },
      expected: 3,
      current: deal
    }]
  ]
]

for (const [given, what, expected, changes] of table) {
  t.test(`given ${given}`, async t => {
    const record = makeRecord(family, what)
    t.strictSame(record, { ...expected, createdAt: now, updatedAt: now })
    const logged = { type: 'insert', family: 'commands', item: record }
    t.strictSame(makeChanges(family, what, record, []), [...changes, logged], 'with the entry in the same commit')
  })
}

t.test('given others that a command needed, of which one is changed', async t => {
  const [to, fee]: [Stored, Stored] = [{ ...deal, id: 'd-2' }, { ...deal, id: 'd-3', revision: 9 }]
  const after = { ...to, price: 5, revision: 4 }
  const others = [{ name: 'fee', family, current: fee }, { name: 'to', family, current: to }]
  const what = decided({ others, decision: { outcome: 'done', after: changed, others: new Map([['to', after]]) } })
  const record = makeRecord(family, what)
  const changedOthers = listChangedOthers(family, what.decision, others, record)
  const [{ record: other } = { record }] = changedOthers
  const { id } = other
  t.match(id, /^[0-9a-f-]{36}$/, 'it has a row of its own')
  t.strictSame(other, {
    ...record,
    id,
    chosenId: 'c-1',
    target: 'd-2',
    about: { family: 'deals', id: 'd-1' },
    changes: { price: { from: 1, to: 5 } },
    revision: 4
  })
  t.equal(listChangedOthers(family, what.decision, others, record)[0]?.record.id, id, 'always the same')
  t.strictSame(makeChanges(family, what, record, changedOthers), [
    { type: 'replace', family: 'deals', item: changed, expected: 3, current: deal },
    { type: 'replace', family: 'deals', item: after, expected: 3, current: to },
    { type: 'insert', family: 'commands', item: other },
    { type: 'require', family: 'deals', id: 'd-3', expected: 9, current: fee },
    { type: 'insert', family: 'commands', item: record }
  ], 'all in one commit; who was only read stays as it is')
})

t.test('a refusal that was recorded is the same refusal again', async t => {
  const record = makeRecord(family, decided({ decision: { outcome: 'refused', problem: refused } }))
  t.strictSame(restoreProblem(record)?.document(), refused.document())
  t.equal(restoreProblem(makeRecord(family, decided({}))), undefined)
})

t.test('what clients see of a command', async t => {
  const record = makeRecord(family, decided({ decision: { outcome: 'refused', problem: refused } }))
  t.strictSame(showCommand(family, record, 'c-1'), {
    id: 'c-1',
    deal: 'd-1',
    action: 'HoldDeal',
    outcome: 'refused',
    revision: 3,
    createdAt: now,
    problem: refused.document()
  })
  t.notOk('id' in showCommand(family, record, undefined), 'what is not in the log has no id to be found by')
  t.equal(readTarget({ ...family, idKind: 'integer' }, { ...record, target: '7' }), 7)
})

t.test('a creation is marked, unless its id is random', async t => {
  const creation = (params: object): Decided => decided({
    command: { action: 'CreateDeal', target: undefined, params: { name: 'tea', ...params } },
    current: undefined,
    decision: { outcome: 'done', after: deal }
  })
  const makers = { clock: () => new Date(), makeId: undefined, makeCommandId: () => 'c' }
  const own = { ...makers, makeId: () => 'd-1' }
  const counted = { ...family, idKind: 'integer' } as typeof family
  const mark = (...given: Parameters<typeof makeRecord>) => {
    const { createdHigh: high, createdLow: low } = makeRecord(...given)
    return high === undefined && low === undefined ? 'none' : `${high} ${low}`
  }
  const marked = mark(family, creation({ id: 'd-1' }), undefined, makers)
  t.match(marked, /^\d+ \d+$/, 'an id of the client')
  t.equal(mark(family, creation({}), undefined, own), marked, 'an id of the host')
  t.equal(mark(counted, creation({}), undefined, makers), marked, 'an id that is counted')
  t.not(mark({ ...counted, name: 'others' }, creation({}), undefined, makers), marked)
  t.equal(mark(family, creation({}), undefined, makers), 'none')
  t.equal(mark(family, creation({})), 'none')
  t.equal(mark(counted, decided({ decision: { outcome: 'done', after: changed } }), undefined, own), 'none', 'a change')
})

t.test('items that are created with an item are stored before it, which may refer to them', async t => {
  const [made, other]: [Stored, Stored] = [{ ...deal, id: 'd-2', revision: 1 }, { ...deal, id: 'd-3' }]
  const makers = { clock: () => new Date(), makeId: () => 'd-2', makeCommandId: () => 'c' }
  const others = [{ name: 'to', family, current: other }]
  const after = { ...other, price: 5, revision: 4 }
  const what = decided({
    others,
    decision: {
      outcome: 'done', after: changed, others: new Map([['to', after]]), created: new Map([['bill', made], ['x', made]])
    }
  })
  const record = makeRecord(family, what)
  const created = [
    { name: 'bill', family, caller: { makers } },
    { name: 'note', family, caller: { makers } },
    { name: 'x', family, caller: { makers: { ...makers, makeId: undefined } } }
  ]
  const list = listChangedOthers(family, what.decision, [...others, ...created], record)
  t.strictSame(list.map(({ other: { name } }) => name), ['to', 'bill', 'x'], 'what is not created has no entry')
  const [, bill, marked] = list.map(({ record }) => record)
  t.notOk('changes' in bill! || 'createdHigh' in marked!)
  t.type(bill!.createdHigh, 'number', 'an id of the host is marked')
  t.match(bill, { chosenId: 'c-1', target: 'd-2', revision: 1, about: { family: 'deals', id: 'd-1' } })
  t.strictSame(makeChanges(family, what, record, list.slice(0, 2)).map(change =>
    [change.type, change.family, 'item' in change ? change.item.id : change.id]), [
    ['insert', 'deals', 'd-2'],
    ['replace', 'deals', 'd-1'],
    ['replace', 'deals', 'd-3'],
    ['insert', 'commands', list[0]!.record.id],
    ['insert', 'commands', bill!.id],
    ['insert', 'commands', 'c-1']
  ])
  const alone = decided({ decision: { outcome: 'done', after: changed, created: new Map([['bill', made]]) } })
  const [only] = listChangedOthers(family, alone.decision, created.slice(0, 1), record)
  t.equal(makeChanges(family, alone, record, [only!]).length, 4)
  t.strictSame(listChangedOthers(family, { outcome: 'unchanged' }, others, record), [])
  const refusal = { outcome: 'refused', problem: refused } as const
  t.strictSame(listChangedOthers(family, refusal, others, record), [])
})

t.test('what is kept of a refusal is what it says', async t => {
  const errors = [{ pointer: '/a', detail: 'is wrong' }]
  for (const [problem, kept] of [
    [new Problem('wrong-state', 'no'), {}],
    [new Problem('wrong-state', 'no', { status: 418 }), { status: 418 }],
    [new Problem('wrong-state', 'no', { errors }), { errors }],
    [new Problem('wrong-state', 'no', { headers: { 'x-a': 'b' } }), { headers: { 'x-a': 'b' } }]
  ] as const) {
    for (const command of [hold, { ...hold, keepsItem: true }]) {
      const record = makeRecord(family, decided({ command, decision: { outcome: 'refused', problem } }))
      t.strictSame(record.problem, { code: 'wrong-state', detail: 'no', members: {}, ...kept })
      const { code, message, statusCode, headers } = problem
      const restored = { code, message, statusCode, headers, errors: problem.errors, replayed: true }
      t.match(restoreProblem(record), restored)
      t.notOk('result' in record)
    }
  }
  const unchanged = makeRecord(family, decided({ command: { ...hold, keepsItem: true } }))
  t.strictSame(unchanged.result, deal)
  const anonymous = { ...hold, id: undefined, keepsItem: true }
  t.notOk('result' in makeRecord(family, decided({ command: anonymous })), 'what cannot be asked for again')
})

t.test('two commands are the same if all of this is the same', async t => {
  const record = makeRecord(family, decided({
    context: { ...decided({}).context, principal: 'ann' },
    command: { ...hold, params: { reason: 'a', on: { b: 1, a: [2] } } },
    decision: { outcome: 'done', after: changed }
  }))
  const same: Command = { ...hold, params: { on: { a: [2], b: 1 }, reason: 'a' } }
  const { params, ...kept } = record
  const digested = { ...kept, digest: digestParams(same.params) }
  const rows: readonly (readonly [what: string, isSame: boolean, Parameters<typeof isSameCommand>])[] = [
    ['all', true, [record, family, same, 'ann']],
    ['without a target', true, [record, family, { ...same, target: undefined }, 'ann']],
    ['a digest', true, [digested, family, same, 'ann']],
    ['no parameters', true, [kept as CommandRecord, family, { ...same, params: {} }, 'ann']],
    ['a family', false, [record, { ...family, name: 'notes' }, same, 'ann']],
    ['a family alone', false, [record, { ...family, name: 'notes' }, { ...same, target: undefined }, 'ann']],
    ['a target', false, [record, family, { ...same, target: 'd-2' }, 'ann']],
    ['an action', false, [record, family, { ...same, action: 'UnholdDeal' }, 'ann']],
    ['a principal', false, [record, family, same, 'bob']],
    ['nobody', false, [record, family, same, undefined]],
    ['parameters', false, [record, family, { ...same, params: { ...same.params, reason: 'b' } }, 'ann']],
    ['parameters that are missing', false, [record, family, { ...same, params: {} }, 'ann']],
    ['a different digest', false, [{ ...digested, digest: 'x' }, family, same, 'ann']],
    ['content', true, [{ ...kept, digest: 'x' }, family, { ...same, action: 'EditDeal', content: () => 'x' }, 'bob']],
    ['different content', false, [digested, family, { ...same, content: () => 'x' }, 'ann']]
  ]
  for (const [what, isSame, given] of rows) t.equal(isSameCommand(...given), isSame, what)
})

t.test('a command has a row of its own, by its id or its key, for each principal', async t => {
  const derived = '01234567-89ab-8def-8123-456789abcdef'
  const pairs: readonly (readonly [ids: Parameters<typeof identifyCommand>[0], principal: string | undefined])[] = [
    [{ id: 'c-1' }, undefined], [{ id: 'c-1' }, 'ann'], [{ id: 'c-1' }, 'bob'], [{ id: 'c-2' }, 'ann'],
    [{ key: 'c-1' }, undefined], [{ key: 'c-1' }, 'ann'], [{ key: 'c-1' }, 'bob'], [{ key: 'c-2' }, 'ann'],
    [{ id: derived }, undefined], [{ id: derived }, 'ann']
  ]
  const found = pairs.map(pair => identifyCommand(...pair)!)
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  t.equal(new Set(found.map(({ row }) => row)).size, pairs.length)
  for (const [index, { id, row }] of found.entries()) {
    const { id: given = row } = pairs[index]![0]
    t.equal(id, given, 'the id is as it was given, or derived')
    if (index === 0) t.equal(row, 'c-1', 'without a principal, it is the row')
    else t.match(row, uuid)
  }
  t.strictSame(identifyCommand({ key: 'c-1' }, 'ann'), found[5], 'always the same')
  t.equal(identifyCommand({}, 'ann'), undefined)
  const record = { ...makeRecord(family, decided({})), id: 'row', principal: 'ann' }
  t.equal(nameRecord({ ...record, chosenId: 'mine' }, 'ann'), 'mine')
  t.equal(nameRecord({ ...record, chosenId: 'mine' }, 'bob'), 'row')
  t.equal(nameRecord(record, 'ann'), 'row')
  const kept = makeRecord(family, decided({}), 'row')
  t.match(kept, { id: 'row', chosenId: 'c-1' })
  t.notOk('chosenId' in makeRecord(family, decided({}), 'c-1'))
  t.match(showCommand(family, kept, 'row'), { id: 'row', chosenId: 'c-1' })
  t.notOk('chosenId' in showCommand(family, kept, 'c-1'))
  t.notOk('problem' in showCommand(family, kept, 'c-1'))
})

t.test('what is derived is as earlier versions have stored it', async t => {
  t.equal(digestParams({ b: 1, a: { d: [1, { y: 1, x: 2 }], c: 2 } }), 'cnmUPLdSMw-2bV50b7KabMxOTJpDXiW04lNVc3qaqnI')
  t.equal(identifyCommand({ key: 'k' }, 'ann')?.row, '07c7e824-6cd0-8c81-8f5f-87c016f456da')
  t.equal(identifyCommand({ key: 'k' }, undefined)?.row, '0957ca85-469a-8ba2-b253-074aa307c18a')
  t.equal(identifyCommand({ id: 'c' }, 'ann')?.row, '157adb4c-8818-8f5d-b7c1-10135b325642')
  t.equal(nameOtherRow('c-1', 'deals', 'd-2'), 'c4633529-2355-8eba-89f6-97b88e8ce74e')
  const creation = makeRecord(family, decided({
    command: { action: 'CreateDeal', target: undefined, params: { id: 'd-1' } },
    current: undefined,
    decision: { outcome: 'done', after: deal }
  }))
  t.match(creation, { createdHigh: 208312927215412, createdLow: 213203394244391 })
})

/** A version of boxes: what it shows, what clients send, and the parameters of its operation. */
function compileBoxes (fields: TProperties, create: readonly string[], params: TProperties, more: object = {}) {
  return compileFamily({
    name: 'boxes',
    singular: 'box',
    fields: Type.Object({ id: Type.Integer(), ...fields }),
    create,
    edit: ['a'],
    operations: {
      note: {
        name: 'note',
        verb: 'note',
        participle: 'noted',
        noun: 'notes',
        action: 'NoteBox',
        params: Type.Object(params),
        apply: (box: object) => box
      }
    },
    ...more
  } as unknown as FamilyDefinition)
}

t.test('of an entry, a version shows what it has', async t => {
  const pin = Type.Optional(Type.String({ writeOnly: true }))
  const text = Type.Optional(Type.String())
  const compile = (more: object = {}) =>
    compileBoxes({ a: Type.Integer(), shown: text, pin }, ['a'], { text, pin }, more)
  const title = 'The operation is not allowed in this state'
  const hidden = { code: 'wrong-state', detail: title, members: {} }
  const problem = (errors?: readonly object[], more: object = {}) =>
    ({ code: 'wrong-state', detail: 'x', members: { x: 1 }, ...(errors && { errors }), ...more })
  const flaw = (pointer: string) => ({ pointer, detail: 'x' })
  const [x, change] = ['x', { from: 1, to: 2 }]
  type Row = readonly [what: string, given: object, expected?: object]
  const rows: readonly Row[] = [
    ['a creation', { action: 'CreateBox', params: { a: 1, shown: x } }],
    ['a creation with more', { action: 'CreateBox', params: { a: 1, b: x, pin: x } }, { params: { a: 1 } }],
    ['an edit', { action: 'EditBox', params: { a: 1, shown: x } }],
    ['an edit with more', { action: 'EditBox', params: { b: x } }, { params: {} }],
    ['an operation', { action: 'NoteBox', params: { text: x } }],
    ['an operation with more', { action: 'NoteBox', params: { text: x, a: 1, pin: x } }, { params: { text: x } }],
    ['a deletion', { action: 'DeleteBox', params: {} }],
    ['a deletion with more', { action: 'DeleteBox', params: { a: 1 } }, { params: {} }],
    ['an unknown operation', { action: 'AuditBox', params: { a: 1 } }, { params: undefined }],
    ['no parameters', { action: 'AuditBox' }],
    ['changes', { action: 'NoteBox', changes: { a: change, pin: {} } }, { changes: { a: change, pin: {} } }],
    ['changes of what it shows', { action: 'NoteBox', changes: { a: change, shown: { to: x, omitted: ['from'] } } }],
    ['changes that an earlier version left out', { action: 'NoteBox', changes: { a: change, shown: {} } },
      { changes: { a: change, shown: { omitted: ['from', 'to'] } } }],
    ['more changes', { action: 'NoteBox', changes: { a: change, b: change } }, { changes: { a: change } }],
    ['a secret change', { action: 'NoteBox', changes: { pin: change } }, { changes: { pin: {} } }],
    ['a refusal', { action: 'NoteBox', problem: problem() }],
    ['a refusal of fields', { action: 'NoteBox', problem: problem([flaw('/a'), flaw('/text/0'), flaw('')]) }],
    ['a refusal of a query', { action: 'NoteBox', problem: problem([{ parameter: 'b', detail: x }]) }],
    ['a refusal of more', { action: 'NoteBox', problem: problem([flaw('/a'), flaw('/b')]) }, { problem: hidden }],
    ['a refusal with a status', { action: 'NoteBox', problem: problem([flaw('/b')], { status: 418 }) },
      { problem: { ...hidden, status: 418 } }],
    ['an unknown refusal', { action: 'AuditBox', problem: problem() }, { problem: hidden }]
  ]
  const base = makeRecord(family, decided({}))
  for (const [what, given, expected] of rows) {
    const boxes = compile()
    const record = { ...base, family: 'boxes', ...given } as CommandRecord
    const shown = toShown(boxes, record, boxes)
    if (expected === undefined) t.equal(shown, record, `${what}: as it is`)
    else t.strictSame({ ...shown }, JSON.parse(JSON.stringify({ ...record, ...expected })), what)
    t.equal(JSON.stringify(toShown(boxes, record, boxes)), JSON.stringify(shown), 'again')
  }
  const record = { ...base, family: 'boxes', action: 'NoteBox', params: { text: x } } as CommandRecord
  t.notOk('params' in toShown(compile(), record, undefined), 'of a family that is not known')
  const kept = { ...record, action: 'DeleteBox', params: {} }
  t.notOk('params' in toShown(compile({ remove: false }), kept, compile({ remove: false })), 'nor what it cannot do')
  const plain = compile({ create: undefined, edit: undefined })
  t.equal(toShown(plain, record, plain), record)
  t.notOk('params' in toShown(plain, { ...record, action: 'CreateBox' }, plain))
})

t.test('an entry has the names of its version, and its parameters those of its command', async t => {
  const notes = defineFamily({
    name: 'notes',
    singular: 'note',
    fields: Type.Object({ id: Type.Integer(), text: Type.String() }),
    create: ['text'],
    edit: ['text']
  })
  const [plain, renamed] = [getFamily(notes), getFamily(notes.rename({ text: 'hue' }))]
  const base = { ...makeRecord(family, decided({})), family: 'notes', action: 'EditNote' } as CommandRecord
  const write = (name: string) => ({
    params: { [name]: 'a' },
    changes: { [name]: { from: 'a', to: 'b' } },
    result: { id: 1, [name]: 'b', revision: 2, createdAt: now, updatedAt: now },
    problem: {
      code: 'wrong-state', detail: `/${name} is bad`, members: {}, errors: [{ pointer: `/${name}`, detail: 'is bad' }]
    }
  })
  const [old, own] = [write('text'), write('hue')]
  const record = { ...base, ...old } as CommandRecord
  t.strictSame(nameRecordOf(renamed, record, renamed), { ...base, ...own } as CommandRecord)
  t.strictSame(nameRecordOf(renamed, record, undefined), { ...base, ...own, params: old.params } as CommandRecord)
  t.strictSame(nameRecordOf(renamed, record, plain), { ...base, ...own, params: old.params } as CommandRecord)
  t.strictSame(nameRecordOf(plain, record, renamed), { ...base, ...old, params: own.params } as CommandRecord)
  t.equal(nameRecordOf(plain, record, plain), record)
  t.equal(nameRecordOf(plain, record, undefined), record)
  t.strictSame(nameRecordOf(renamed, base, renamed), base, 'what it does not have is not made')
  t.strictSame(nameRecordOf(plain, base, renamed), base)
})

t.test('a secret parameter of an operation is not in the log, which has a digest of all', async t => {
  const storage = memoryStorage()
  const doors = defineFamily({
    name: 'doors',
    singular: 'door',
    fields: Type.Object({ id: Type.Integer(), isOpen: Type.Boolean({ default: false }) }),
    create: [],
    operations: {
      unlock: {
        name: 'unlock',
        verb: 'unlock',
        participle: 'unlocked',
        noun: 'unlocks',
        action: 'UnlockDoor',
        params: Type.Object({ code: Type.String({ writeOnly: true }), by: Type.String() }),
        apply: door => ({ ...door, isOpen: true })
      }
    }
  })
  const book = doors.service({ storage })
  const { item: { id } } = await book.create({})
  const unlock = async (code: string) => await book.run('unlock', id, { code, by: 'ann' }, { command: 'c-1' })
  await unlock('1234')
  const row = await storage.get('commands', 'c-1')
  t.strictSame([row?.['params'], typeof row?.['digest']], [{ by: 'ann' }, 'string'])
  t.equal((await unlock('1234')).replayed, true)
  await t.rejects(unlock('9999'), { code: 'id-reused' })
})
