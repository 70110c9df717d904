import { addErrorListeners, type ConnectionSource, getCode, loadDriver, type PostgresClient } from './driver.js'

// SQLSTATE of a proxy that refuses a setting for the session.
const refusedStart = '08P01'

interface PoolOptions {
  readonly connectionString: string
  readonly max: number
  readonly connectionTimeoutMillis: number
  readonly keepAlive: boolean
}

/**
 * Resolves once it has reached the server. `limitsTime`: sessions have the time limit for statements. A proxy that
 * pools transactions refuses that; then `statementTimeout` is undefined.
 */
export async function openPool (
  options: PoolOptions, statementTimeout: number | undefined
): Promise<{ readonly pool: ConnectionSource, readonly limitsTime: boolean }> {
  const { Pool } = await loadDriver()
  const urls = splitHosts(options.connectionString)
  // Leaves time for every host.
  const connectionTimeoutMillis = Math.ceil(options.connectionTimeoutMillis / urls.length)
  const open = (session: object): ConnectionSource => joinPools(urls.map(connectionString =>
    addErrorListeners(new Pool({ ...options, ...session, connectionString, connectionTimeoutMillis }))))
  if (statementTimeout === undefined) return { pool: open({}), limitsTime: false }
  const pool = open({ statement_timeout: statementTimeout })
  try {
    (await pool.connect()).release()
    return { pool, limitsTime: true }
  } catch (error) {
    await pool.end()
    if (getCode(error) !== refusedStart) throw error
    return await openPool(options, undefined)
  }
}

/** The URLs of `postgres://user@first:5432,second:5432/crm`, one for each host. */
export function splitHosts (connectionString: string): string[] {
  const [, start, hosts = '', rest = ''] =
    /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#@]*)([/?#].*)?$/is.exec(connectionString) ?? []
  return start === undefined ? [connectionString] : hosts.split(',').map(host => `${start}${host}${rest}`)
}

/**
 * Connects to the first host that accepts writes, as libpq does with `target_session_attrs=read-write`. Begins with the
 * last good one: an old primary that is started again may not know yet that there is a new one.
 */
function joinPools (pools: readonly ConnectionSource[]): ConnectionSource {
  const [first] = pools as [ConnectionSource]
  // A single host may be a standby, for families that are only read.
  if (pools.length === 1) return first
  const writable = new WeakSet<PostgresClient>()
  let good = 0
  return {
    options: first.options ?? {},
    get waitingCount () {
      return pools[good]?.waitingCount ?? 0
    },
    async connect () {
      let failure: unknown
      for (const index of pools.keys()) {
        const at = (good + index) % pools.length
        try {
          const client = await (pools[at] as ConnectionSource).connect()
          if (!writable.has(client)) await checkWritable(client)
          writable.add(client)
          good = at
          return client
        } catch (error) {
          failure = error
        }
      }
      throw failure
    },
    async end () {
      await Promise.all(pools.map(pool => pool.end()))
    }
  }
}

async function checkWritable (client: PostgresClient): Promise<void> {
  try {
    const { rows: [row] } = await client.query({ text: 'SHOW transaction_read_only', rowMode: 'array' })
    if ((row as [string])[0] !== 'off') throw new Error('No host of PostgreSQL accepts writes')
  } catch (error) {
    client.release(true)
    throw error
  }
}
