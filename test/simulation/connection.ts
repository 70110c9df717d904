import { askOneMore, writeFoundText } from '../../lib/core/storage/pages.js'
import { makeListWriter } from '../../lib/core/values/json.js'
import {
  BusyError, type Change, ConflictError, type FamilyShape, type Found, type Query, type Storage, type StorageReads,
  type Stored
} from '../../lib/index.js'
import { addReplicas, type PostgresServer } from '../../lib/storage/postgres/replicas.js'
import type { Copy } from './copies.js'
import type { Database } from './database.js'
import type { Random } from './random.js'

export const away = 'The database is away'

/** Probabilities, and times in milliseconds. */
export interface Faults {
  /** Of a statement or its answer that is late. */
  late: number
  /** The longest delay of a late one; others take a few milliseconds. */
  latest: number
  /** Of a commit that is refused as a conflict though there is none, such as after a deadlock. */
  conflict: number
  /** Of a commit that fails, and has no effect. */
  lostBefore: number
  /** Of a commit that fails, and has its effect. */
  lostAfter: number
  /** Of a read that fails. */
  read: number
  busy: number
}

export const noFaults: Faults = { late: 0, latest: 0, conflict: 0, lostBefore: 0, lostAfter: 0, read: 0, busy: 0 }

/** Which of the optional parts the storages have. */
export interface Parts {
  /** Whether processes are notified of commits; otherwise they poll. */
  readonly watches: boolean
  readonly texts: boolean
  /** Whether accounts have ids of a sequence. */
  readonly sequence: boolean
  /** Whether a standby may take over, so that what was read may be lost. */
  readonly confirms: boolean
  /** Whether each process knows only its own fields, as in a table to which the next version adds a column. */
  readonly isProjected: boolean
}

export const allParts: Parts =
  { watches: true, texts: true, sequence: false, confirms: true, isProjected: false }

export interface Connection {
  readonly faults: Faults
  readonly parts: Parts
  readonly random: Random
  /** Runs it in the database, whatever becomes of the process. */
  send (time: number, run: () => void): void
  /** Runs it in the process, unless that is dropped. */
  answer (time: number, run: () => void): void
  /** Of a commit: `done`, or why not. */
  note (changes: readonly Change[], outcome: string): void
  /** A commit of this process was acknowledged. */
  acknowledged? (): void
}

interface Asking {
  /** The family whose table is used. */
  readonly family?: string
  /** Whether it waits for the standby. */
  readonly isSafe?: () => boolean
}

/** Statements of one process: how long they take, and whether they are answered. */
class Statements {
  constructor (readonly database: Database, readonly connection: Connection) {}

  chooseTime (family?: string): number {
    const { database, connection: { random, faults } } = this
    const time = random.chance(faults.late) ? random.between(20, faults.latest) : random.between(0, 4)
    const locked = family === undefined ? undefined : database.lockedUntil.get(family)
    return locked === undefined ? time : Math.max(time, locked - database.now())
  }

  ask<T> (work: () => T, { family, isSafe }: Asking = {}): Promise<T> {
    const { database, connection: { random, send, answer } } = this
    return new Promise((resolve, reject) => {
      const begin = (finish: (settle: () => void) => void): void => {
        if (database.awayUntil > database.now()) {
          finish(() => { reject(new Error(away)) })
        } else if (isSafe?.() === false) database.whenSafe(() => { finish(run(work, resolve, reject)) })
        else finish(run(work, resolve, reject))
      }
      // Most are answered at once, which is one event less.
      if (random.chance(0.6)) return answer(this.chooseTime(family), () => { begin(settle => { settle() }) })
      // An old answer, if the time until it arrives is long.
      send(this.chooseTime(family), () => { begin(settle => { answer(this.chooseTime(), settle) }) })
    })
  }

  read<T> (work: () => T, asking?: Asking): Promise<T> {
    const { random, faults } = this.connection
    return this.ask(() => {
      if (random.chance(faults.busy)) throw new BusyError('Too many reads')
      if (random.chance(faults.read)) throw new Error('the connection was closed')
      return work()
    }, asking)
  }
}

/** The storage of one process. */
export function connect (database: Database, connection: Connection): Storage {
  const { random, faults, parts, answer, note } = connection
  const { watches, texts, sequence, confirms, isProjected } = parts
  const statements = new Statements(database, connection)
  const shapes = new Map<string, Set<string>>()
  const prepared = new Set<FamilyShape>()
  const project = (family: string, item: Stored): Stored => {
    const known = isProjected ? shapes.get(family) : undefined
    return known === undefined
      ? item
      : Object.fromEntries(Object.entries(item).filter(([name]) => known.has(name))) as Stored
  }
  /** With the fields of other versions as they are. */
  const complete = (change: Change): Change => {
    const known = isProjected ? shapes.get(change.family) : undefined
    if (change.type !== 'replace' || known === undefined) return change
    const before = Object.entries(database.peek(change.family, change.item.id) ?? {})
    return { ...change, item: { ...Object.fromEntries(before.filter(([name]) => !known.has(name))), ...change.item } }
  }
  const find = (family: string, query: Query): Found => {
    const { items, ...found } = database.find(family, query)
    return { items: isProjected ? items.map(item => project(family, item)) : items, ...found }
  }
  const asking = (family: string, query: Query): Asking =>
    ({ family, isSafe: () => !database.isCut || !database.needsNumbers(family, query) })

  function commit (given: readonly Change[]): void {
    const changes = isProjected ? given.map(complete) : given
    if (random.chance(faults.busy)) throw new BusyError('Too many commits')
    if (random.chance(faults.lostBefore)) throw new Error('the connection was closed before the commit')
    const changed = changes.find(({ type }) => type !== 'insert')
    if (changed !== undefined && random.chance(faults.conflict)) {
      throw new ConflictError(changed.family, 'item' in changed ? changed.item.id : changed.id)
    }
    database.commit(changes)
    if (database.isCut) throw new Error('the connection was closed while the commit waited for the standby')
    if (random.chance(faults.lostAfter)) throw new Error('the connection was closed after the commit')
  }

  async function prepare (shape: FamilyShape): Promise<void> {
    if (prepared.has(shape)) return
    const known = shapes.get(shape.name) ?? new Set()
    for (const { name } of shape.fields) known.add(name)
    shapes.set(shape.name, known)
    await statements.ask(() => {
      if (isProjected && database.needsMigration(shape)) {
        database.lockedUntil.set(shape.name, database.now() + random.between(0, 300))
      }
      database.prepare(shape)
    }, { isSafe: () => !database.isCut })
    prepared.add(shape)
  }

  return {
    prepare,
    find: (family, query) => statements.read(() => find(family, query), asking(family, query)),
    get: (family, id) => statements.read(() => {
      const item = database.get(family, id)
      return item && project(family, item)
    }, { family }),
    async commit (changes) {
      const sent = copy(changes)
      await statements.ask(() => {
        try {
          commit(sent)
          note(sent, 'done')
        } catch (error) {
          note(sent, String((error as Error).message))
          throw error
        }
      }, { family: changes[0]?.family ?? '' })
      connection.acknowledged?.()
    },
    ...(texts && {
      findText: (family: string, query: Query, members: readonly string[]) => statements.read(
        () => writeFoundText(find(family, askOneMore(query)), query, makeListWriter(members)), asking(family, query))
    }),
    ...(sequence && {
      // Other programs take ids of it, too, or choose their own, which it then returns again.
      nextId: (family: string) => statements.read(() => family !== 'accounts'
        ? undefined
        : random.chance(0.1) ? database.list(family)[0]?.id ?? database.nextId() : database.nextId())
    }),
    ...(confirms && {
      confirm: (family: string, id: string | number) => statements.read(() => {
        if (database.get(family, id) === undefined) throw new Error('it was lost in a failover')
      }, { isSafe: () => !database.isCut })
    }),
    ...(watches && {
      watch: (wake: () => void) => database.watch(() => { answer(statements.chooseTime(), wake) })
    }),
    async close () {}
  }
}

/** The storage of one process, with those of the replicas. */
export function connectAll (database: Database, connection: Connection): Storage {
  const primary = connect(database, connection)
  const { copies } = database
  if (copies.length === 0) return primary
  const statements = new Statements(database, connection)
  const makeServer = (storage: Storage, located: Database | Copy): PostgresServer => ({
    storage,
    readPosition: () => statements.read(() => {
      const { timeline, bytes } = located.position
      return { timeline, bytes: BigInt(bytes) }
    }),
    close: async () => {}
  })
  return addReplicas(makeServer(primary, database), copies.map(copy =>
    makeServer({ ...primary, ...connectCopy(database, copy, statements) }, copy)))
}

function connectCopy (database: Database, copy: Copy, statements: Statements): StorageReads {
  const find = (family: string, query: Query): Found => database.find(family, query, copy.items(family))
  return {
    find: (family, query) => statements.read(() => find(family, query)),
    findText: (family, query, members) => statements.read(() =>
      writeFoundText(find(family, askOneMore(query)), query, makeListWriter(members))),
    get: (family, id) => statements.read(() => find(family, {
      where: [{ field: 'id', op: 'eq', values: [id] }], order: [], offset: 0, limit: 1, count: false
    }).items[0])
  }
}

function run<T> (work: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): () => void {
  try {
    const value = work()
    return () => { resolve(value) }
  } catch (error) {
    return () => { reject(error) }
  }
}

function copy<T> (value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze(value.map(member => copy(member ?? null))) as T
  const copied = { ...value } as Record<string, unknown>
  for (const name of Object.keys(copied)) {
    if (copied[name] === undefined) delete copied[name]
    else copied[name] = copy(copied[name])
  }
  return Object.freeze(copied) as T
}
