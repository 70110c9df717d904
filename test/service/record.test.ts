import t from 'tap'
import { compileFamily } from '../../lib/core/family/compile.js'
import { Problem } from '../../lib/core/problems.js'
import type { Command } from '../../lib/core/service/decide.js'
import {
  type Decided, digestParams, listChangedOthers, makeChanges, makeRecord, readTarget, restoreProblem, showCommand
} from '../../lib/core/service/record.js'
import type { Stored } from '../../lib/core/storage/storage.js'
import { deals } from '../../lib/deals/deals.js'
import type { FamilyDefinition } from '../../lib/index.js'

const family = compileFamily(deals.definition as unknown as FamilyDefinition)
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
    { ...entry, action: 'DeleteDeal', params: {}, outcome: 'done', revision: 4 },
    [{ type: 'delete', family: 'deals', id: 'd-1', expected: 3 }]
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
    { ...entry, outcome: 'done', changes: { name: {}, holdReason: { to: 'a' } }, revision: 4 },
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
    { type: 'require', family: 'deals', id: 'd-3', expected: 9 },
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
