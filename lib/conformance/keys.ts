import assert from 'node:assert/strict'
import type { ConstraintOptions, ConstraintRule } from '../core/storage/constraint-error.js'
import { ConstraintError } from '../core/storage/constraint-error.js'
import type { Change, FamilyShape, Id, Storage, Stored } from '../core/storage/storage.js'
import { query, shape, thing } from './fixture.js'

/** Refer to `notes`, to `things` and to each other. */
export const links: FamilyShape = {
  ...shape('links', 'integer', [
    { name: 'number', kind: 'integer', optional: true },
    { name: 'text', kind: 'string', optional: true },
    { name: 'share', kind: 'number', optional: true },
    { name: 'at', kind: 'date-time', optional: true },
    { name: 'day', kind: 'date', optional: true },
    { name: 'isGood', kind: 'boolean', optional: true },
    { name: 'note', kind: 'string', optional: true },
    { name: 'thing', kind: 'integer', optional: false, nullable: true, default: null },
    { name: 'next', kind: 'integer', optional: true }
  ], [['text'], ['note'], ['thing'], ['next']]),
  unique: [['number'], ['text'], ['share'], ['at'], ['day', 'isGood']],
  references: { note: 'notes', thing: 'things', next: 'links' }
}

export function link (id: number, members: Record<string, unknown> = {}, revision = 1): Stored {
  return thing(id, { thing: null, ...members }, revision)
}

/** Asserts that a commit is refused by a rule, and that nothing of it was done. */
export async function assertBroken (
  storage: Storage,
  changes: readonly Change[],
  rule: ConstraintRule,
  { fields = [], other }: ConstraintOptions = {},
  id?: Id
): Promise<void> {
  const before = await readAll(storage)
  await assert.rejects(storage.commit(changes), error => {
    assert.ok(error instanceof ConstraintError, `${String(error)} is no ConstraintError`)
    assert.deepEqual([error.rule, error.declared, [...error.fields].sort()], [rule, true, [...fields].sort()])
    if (rule !== 'unique') assert.equal(error.other, other)
    if (id !== undefined) assert.equal(error.id, id)
    return true
  })
  assert.deepEqual(await readAll(storage), before)
}

async function readAll (storage: Storage): Promise<unknown> {
  const found = await Promise.all(['things', 'notes', 'links'].map(family => storage.find(family, query())))
  return found.map(({ items }) => items.map(item => ({ ...item })))
}
