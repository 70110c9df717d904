import type { Layout } from '../sql/layout.js'
import { quote } from '../sql/names.js'
import type { Kind } from '../storage.js'
import { postgresDialect as dialect } from './dialect.js'
import type { Action, Effect } from './effects.js'

/** An effect in a batch: the n-th of all, in the c-th commit. */
export interface Row {
  readonly n: number
  readonly c: number
  readonly effect: Effect
}

/** The rows that a family has in a batch, with the actions among them. */
export interface Part {
  readonly layout: Layout
  readonly actions: ReadonlySet<Action>
  readonly json: string
}

export function partOf (layout: Layout, rows: readonly Row[]): Part {
  const records = rows.map(({ n, c, effect: { action, expected, json } }) => `{"$n":${n},"$c":${c},"$a":"${action}","$x":${expected ?? null},${json}}`)
  return { layout, actions: new Set(rows.map(({ effect }) => effect.action)), json: `[${records.join(',')}]` }
}

/**
 * One statement for a whole batch: locks the rows that are to change, in the order of their ids, finds the commits for which
 * everything is as expected, and does those. It answers with the rows that were not as expected, and the revision there.
 *
 * All parts of a statement see the data as it was when it began. Where another process was faster in between, an insert or
 * update touches fewer rows than it should; then the division by zero at the end undoes the whole, to be tried again.
 */
export function batchText (parts: readonly Part[]): string {
  const ctes: string[] = []
  const refused: string[] = []
  const counts: string[] = []
  parts.forEach(({ layout, actions }, p) => {
    const { table } = layout
    const id = quote(layout.id.name as string)
    const revision = quote(layout.columns.find(({ field }) => field.name === 'revision')?.name as string)
    const columns = layout.columns.flatMap(({ name, kind }) => name === undefined ? [] : [{ name: quote(name), type: recordTypes[kind] }])
    const names = columns.map(({ name }) => name).join(', ')
    ctes.push(`given${p} AS MATERIALIZED (SELECT * FROM json_to_recordset($${p + 1}::json) AS r ("$n" integer, "$c" integer, "$a" text, "$x" bigint, ` +
      `${columns.map(({ name, type }) => `${name} ${type}`).join(', ')}))`)

    if (actions.has('replace') || actions.has('delete')) {
      ctes.push(`locked${p} AS MATERIALIZED (SELECT t.${id} AS id, t.${revision} AS revision FROM ${table} t ` +
        `WHERE t.${id} = ANY (ARRAY(SELECT ${id} FROM given${p} WHERE "$x" IS NOT NULL)) ORDER BY t.${id} FOR UPDATE)`)
      refused.push(`SELECT g."$n", g."$c", l.revision FROM given${p} g LEFT JOIN locked${p} l ON l.id = g.${id} ` +
        'WHERE g."$x" IS NOT NULL AND l.revision IS DISTINCT FROM g."$x"')
    }
    if (actions.has('insert') || actions.has('check')) {
      refused.push(`SELECT g."$n", g."$c", t.${revision} AS revision FROM given${p} g JOIN ${table} t ON t.${id} = g.${id} WHERE g."$x" IS NULL`)
    }
    ctes.push(`done${p} AS MATERIALIZED (SELECT * FROM given${p} WHERE "$c" NOT IN (SELECT "$c" FROM refused))`)
    const count = (action: Action): void => {
      counts.push(`(SELECT count(*) FROM ${action}${p}) = (SELECT count(*) FROM done${p} WHERE "$a" = '${action}')`)
    }
    if (actions.has('insert')) {
      ctes.push(`insert${p} AS (INSERT INTO ${table} (${names}) SELECT ${names} FROM done${p} WHERE "$a" = 'insert' ORDER BY ${id} ` +
        `ON CONFLICT (${id}) DO NOTHING RETURNING 1)`)
      count('insert')
    }
    if (actions.has('replace')) {
      ctes.push(`replace${p} AS (UPDATE ${table} t SET ${columns.map(({ name }) => `${name} = d.${name}`).join(', ')} ` +
        `FROM done${p} d WHERE t.${id} = d.${id} AND d."$a" = 'replace' RETURNING 1)`)
      count('replace')
    }
    if (actions.has('delete')) {
      ctes.push(`delete${p} AS (DELETE FROM ${table} t USING done${p} d WHERE t.${id} = d.${id} AND d."$a" = 'delete' RETURNING 1)`)
      count('delete')
    }
  })
  // What is refused is known before anything is done, but needs all that is given and locked.
  const early = ctes.filter(cte => /^(given|locked)/.test(cte))
  const late = ctes.filter(cte => !/^(given|locked)/.test(cte))
  const whole = counts.length === 0 ? 'true' : counts.join(' AND ')
  return `WITH ${[...early, `refused AS MATERIALIZED (${refused.join(' UNION ALL ')})`, ...late].join(', ')} ` +
    `SELECT "$n", revision FROM refused UNION ALL SELECT -1, 1 / CASE WHEN ${whole} THEN 1 ELSE 0 END`
}

/** The code of the error that means: another process was faster in between. */
export const overtaken = '22012'

const recordTypes: Record<Kind, string> = {
  ...dialect.types,
  string: 'text'
}
