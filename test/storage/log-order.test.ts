import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import t from 'tap'
import { commandsShape } from '../../lib/core/family/fields.js'
import type { Stored } from '../../lib/core/storage/storage.js'
import type { Change, Condition, Storage } from '../../lib/index.js'
import { deals } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { isFast } from '../size.js'
import { recordPostgres, recordSqlite } from './recorded-statements.js'

// A page of a log costs the same wherever it is, however long the log: shown by the plans of the databases.

const logIndex = 'commands_family_target_revision_outcome_created_at_id_idx'
const logLength = 3000

/** A log at one revision, as somebody makes it who repeats himself, beside many short ones. */
function makeEntries (): Change[] {
  return Array.from({ length: 2 * logLength }, (_, index) => ({
    type: 'insert',
    family: 'commands',
    item: makeEntry(index % 2 === 0 ? 'long' : `short-${index % 100}`, index)
  }))
}

function makeEntry (target: string, index: number): Stored & { id: string } {
  const at = new Date(Date.UTC(2026, 0, 1) + index).toISOString()
  return {
    id: `e-${(index * 7919) % 100_003}`,
    family: 'deals',
    target,
    action: 'UnholdDeal',
    outcome: index < 2 ? 'done' : 'unchanged',
    revision: 1,
    createdAt: at,
    updatedAt: at
  }
}

/** A database as it was made before, with another index, which the present ones replace. */
async function prepareEarlier (storage: Storage): Promise<void> {
  await storage.prepare({ ...commandsShape, indexes: [['family', 'target', 'revision']] })
  await storage.commit(makeEntries())
  await storage.close()
}

/** Reads pages of a log in every way that has to be cheap. */
async function readPages (storage: Storage): Promise<void> {
  const book = deals.service({ storage })
  const first = await book.log('long', { limit: 100 })
  const second = await book.log('long', { limit: 100, after: first.next as string })
  t.equal(new Set([...first.items, ...second.items].map(({ id }) => id)).size, 200)
  await book.log('long', { limit: 5, sort: '-revision,-outcome,-createdAt,-id' })
  await t.rejects(book.log('none'), { code: 'not-found' })
  const changes = await storage.find('commands', {
    where: [
      { field: 'family', op: 'eq', values: ['deals'] },
      { field: 'target', op: 'eq', values: ['long'] },
      { field: 'revision', op: 'eq', values: [1, 2, 3] },
      { field: 'outcome', op: 'eq', values: ['done'] }
    ],
    order: [{ field: 'revision', descending: true }, { field: 'id', descending: false }],
    offset: 0,
    limit: 10,
    count: false
  })
  t.equal(changes.items.length, 1)
}

// Whether there are rows at all is asked at the start.
const isOfLog = (text: string): boolean =>
  /^SELECT(?! 1 FROM \S+ (WHERE "position" IS NULL )?LIMIT 1$)/.test(text) &&
    /"commands"/.test(text) && /LIMIT/.test(text)

t.test('sqlite', async t => {
  const database = new DatabaseSync(':memory:')
  const { recording, texts } = recordSqlite(database)
  await prepareEarlier(sqliteStorage({ database: recording }))
  const storage = sqliteStorage({ database: recording })
  t.teardown(() => storage.close())
  await storage.prepare(commandsShape)
  texts.clear()
  await readPages(storage)
  const plans = [...texts].filter(isOfLog).map(text => ({ text, rows: explain(text) }))
  t.ok(plans.length >= 6, `${plans.length} statements`)
  for (const { text, rows } of plans) {
    // The page itself is sorted at last; what is passed over to find it is not.
    const inner = rows.filter(({ detail }) => /commands/.test(detail) && !/PRIMARY KEY/.test(detail))
    t.ok(inner.length > 0 && inner.every(({ detail }) => detail.includes(logIndex)), text)
    const parents = new Set(inner.map(({ parent }) => parent))
    const isChange = /"outcome" = \? ORDER BY "revision" DESC/.test(text)
    t.ok(isChange || rows.every(({ detail, parent }) => !/TEMP B-TREE/.test(detail) || !parents.has(parent)), text)
  }

  t.match(explain('SELECT * FROM commands WHERE principal = ?')[0]?.detail, 'USING INDEX commands_principal_idx')

  function explain (text: string): { detail: string, parent: number }[] {
    return database.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string, parent: number }[]
  }
})

t.test('postgres', { skip: isFast }, async t => {
  const schema = newSchema()
  const pool = new pg.Pool({ connectionString: await postgresUrl(), max: 2 })
  const { recording, asked } = recordPostgres(pool)
  await prepareEarlier(postgresStorage({ pool: recording, schema }))
  const storage = postgresStorage({ pool: recording, schema })
  t.teardown(async () => {
    await storage.close()
    await pool.end()
    await dropSchema(schema)
  })
  for (const statistics of [false, true]) {
    if (statistics) await pool.query(`ANALYZE "${schema}"."commands"`)
    asked.clear()
    if (statistics) await deals.service({ storage }).log('long', { limit: 100 })
    else await readPages(storage)
    const statements = [...asked].filter(([text]) => isOfLog(text))
    t.ok(statements.length > 0, `${statements.length} statements`)
    for (const [text, values] of statements) {
      const { rows } = await pool.query(`EXPLAIN ${text}`, values)
      const plan = rows.map(row => row['QUERY PLAN'] as string).join('\n')
      t.match(plan, new RegExp(`Index (Only )?Scan.* using ${logIndex} `), plan)
      if (!plan.includes('ANY')) t.notMatch(plan, /Limit.*\n\s*->\s*Sort/, 'what is passed over is not sorted')
    }
  }
  asked.clear()
  const where: Condition[] = [{ field: 'principal', op: 'eq', values: ['ann'] }]
  const order = [{ field: 'id', descending: false }]
  await storage.find('commands', { where, order, offset: 0, limit: 10, count: false })
  for (const [text, values] of [...asked].filter(([text]) => isOfLog(text))) {
    const { rows } = await pool.query(`EXPLAIN ${text}`, values)
    t.match(rows.map(row => row['QUERY PLAN'] as string).join('\n'), 'commands_principal_left_200_idx')
  }
})
