// Prepared statements of an expert for only these four requests, on SQLite: one transaction per write, or one for all
// writes in the same turn of the event loop.
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { customerOf } from '../scenarios.js'
import { given } from './serve.js'

const require = createRequire(import.meta.resolve('fastify-dealbook'))
const hasSqlite = Number(process.versions.node.split('.')[0]) >= 22
const { DatabaseSync } = hasSqlite ? await import('node:sqlite') : require('@photostructure/sqlite')

const tables = `
  CREATE TABLE customers (
    id INTEGER PRIMARY KEY, age INTEGER NOT NULL, children INTEGER NOT NULL, revision INTEGER NOT NULL
  );
  CREATE TABLE deals (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, price REAL NOT NULL, held INTEGER NOT NULL, status TEXT NOT NULL,
    revision INTEGER NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
  );
  CREATE TABLE commands (
    id TEXT PRIMARY KEY, deal TEXT NOT NULL, action TEXT NOT NULL, params TEXT NOT NULL, revision INTEGER NOT NULL,
    created_at TEXT NOT NULL
  );`

/** A file with the rows that every contender has, and every commit on the disk. */
export function openDatabase () {
  const db = new DatabaseSync(given.file)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  db.exec(tables)
  db.exec('BEGIN')
  const addCustomer = db.prepare('INSERT INTO customers VALUES (?, ?, ?, 1)')
  for (let id = 1; id <= given.customers; id++) {
    const { age, children } = customerOf(id)
    addCustomer.run(id, age, children)
  }
  const addDeal = db.prepare('INSERT INTO deals VALUES (?, ?, 1, 0, ?, 1, ?, ?)')
  const now = new Date().toISOString()
  const ids = Array.from({ length: given.deals }, () => randomUUID())
  for (const id of ids) addDeal.run(id, 'a deal', 'open', now, now)
  db.exec('COMMIT')
  return { db, ids, countLog: id => db.prepare('SELECT * FROM commands WHERE deal = ?').all(id).length }
}

export function prepareReads (db) {
  const where = 'id > ? AND +age >= ? AND +age <= ? ORDER BY id LIMIT 51'
  const offset = 'ORDER BY id LIMIT 51 OFFSET ?'
  const asJson = `SELECT json_group_array(json_object('id', id, 'age', age, 'children', children)) AS items,
    count(*) AS count, max(id) AS last FROM`
  const keyed = db.prepare(`SELECT id, age, children FROM customers WHERE ${where}`)
  const numbered = db.prepare(`SELECT id, age, children FROM customers ${offset}`)
  const single = db.prepare('SELECT id, age, children, revision FROM customers WHERE id = ?')
  const keyedJson = db.prepare(`${asJson} (SELECT * FROM customers WHERE ${where.replace(51, 50)})`)
  const numberedJson = db.prepare(`${asJson} (SELECT * FROM customers ${offset.replace(51, 50)})`)
  const singleJson = db.prepare(`
    SELECT json_object('id', id, 'age', age, 'children', children) AS item, revision FROM customers WHERE id = ?`)
  return {
    keyed: (gt, least, most) => keyed.all(gt, least, most),
    numbered: page => numbered.all((page - 1) * 50),
    single: id => single.get(id),
    keyedJson: (gt, least, most) => keyedJson.get(gt, least, most),
    numberedJson: page => numberedJson.get((page - 1) * 50),
    singleJson: id => singleJson.get(id)
  }
}

/** The deal after the change of its price, or the status that refuses it: 404, 409. */
export function prepareChange (db) {
  const dealById = db.prepare('SELECT * FROM deals WHERE id = ?')
  const setPrice = db.prepare(`
    UPDATE deals SET price = ?, revision = revision + 1, updated_at = ? WHERE id = ? AND revision = ?`)
  const record = db.prepare('INSERT INTO commands VALUES (?, ?, ?, ?, ?, ?)')
  return (id, params) => {
    const found = dealById.get(id)
    if (found === undefined) return { refused: 404 }
    if (found.status !== 'open' || found.held === 1) return { refused: 409 }
    const at = new Date().toISOString()
    setPrice.run(params.newPrice, at, id, found.revision)
    record.run(randomUUID(), id, 'ChangeDealPrice', JSON.stringify(params), found.revision + 1, at)
    const { created_at: createdAt, updated_at: _, ...deal } = found
    return {
      deal: { ...deal, held: false, price: params.newPrice, revision: found.revision + 1, createdAt, updatedAt: at }
    }
  }
}

export function inTransaction (db, run) {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = run()
    db.exec('COMMIT')
    return result
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

/** Runs the writes of one turn of the event loop as one transaction; they resolve when it is on disk. */
export function inGroups (db) {
  let waiting = []
  const commit = () => {
    const group = waiting
    waiting = []
    try {
      const results = inTransaction(db, () => group.map(({ run }) => run()))
      group.forEach(({ resolve }, index) => { resolve(results[index]) })
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }
  return run => new Promise((resolve, reject) => {
    if (waiting.push({ run, resolve, reject }) === 1) setImmediate(commit)
  })
}
