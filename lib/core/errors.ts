import type { FastifyErrorConstructor } from '@fastify/error'
import createError from '@fastify/error'

/** Every error that a mistake in the host's code or options causes. */
export const errorCodes = makeErrors({
  // defining a family
  FST_DEALBOOK_INVALID_DEFINITION: ['defineFamily "%s": %s', TypeError],
  FST_DEALBOOK_INVALID_EXTENSION: ['extend "%s": %s', TypeError],
  FST_DEALBOOK_INVALID_RENAMING: ['rename "%s": %s', TypeError],
  FST_DEALBOOK_INVALID_HTML_OPTION: ['html: %s', TypeError],
  FST_DEALBOOK_INVALID_DECIMAL: ['decimal: %s', TypeError],
  // mounting it
  FST_DEALBOOK_INVALID_OPTION: ['fastify-dealbook, %s: %s', TypeError],
  FST_DEALBOOK_MOUNTED_TWICE: ['fastify-dealbook, %s: two families of this name are mounted at %s. Choose a ' +
    'different prefix or version for one of them', Error],
  FST_DEALBOOK_ROUTE_TAKEN: ['fastify-dealbook: a route at %s already exists. %s', Error],
  FST_DEALBOOK_NAME_TAKEN: ['fastify-dealbook, %s: %s belongs to %s at the same prefix. Choose a different prefix, ' +
    'or set "unversioned: false" for one of them, which leaves /rest/commands, /command and /query to the other',
  Error],
  FST_DEALBOOK_UNVERSIONED_TWICE: [
    'fastify-dealbook, %s: two mounts at one prefix have the option "unversioned"', Error
  ],
  FST_DEALBOOK_NO_NEIGHBOUR: ['fastify-dealbook, %s: an operation needs the family "%s", which is not mounted at the ' +
    'same prefix in the same scope', Error],
  FST_DEALBOOK_OTHER_STORAGE: ['fastify-dealbook, %s: the operation "%s" also changes items of the family "%s", ' +
    'which must have the same storage', Error],
  FST_DEALBOOK_REFERENCE_STORAGE: ['fastify-dealbook, %s: "%s" refers to the family "%s", which must have the ' +
    'same storage', Error],
  // results of the host's functions
  FST_DEALBOOK_INVALID_GRANT: ['fastify-dealbook, %s: authorize %s', TypeError],
  FST_DEALBOOK_NO_STORAGE: ['fastify-dealbook, %s: the function "storage" returned no storage; if there is none, ' +
    'it should throw a problem', TypeError],
  FST_DEALBOOK_UNKNOWN_OPERATION: ['fastify-dealbook, %s: there is no operation "%s".%s', TypeError],
  FST_DEALBOOK_INVALID_VERDICT: ['fastify-dealbook, %s: allowed returned %s; it must return true, false or the ' +
    'reason why not', TypeError],
  FST_DEALBOOK_INVALID_FACTS: ['fastify-dealbook, %s: prepare returned a %s; it must return an object, or nothing',
    TypeError],
  FST_DEALBOOK_INVALID_LOOKUP: ['fastify-dealbook, %s: prepare made an invalid lookup: %s', TypeError],
  FST_DEALBOOK_INVALID_ITEM: ['fastify-dealbook, %s, %s: the resulting item is invalid: %s %s', TypeError],
  FST_DEALBOOK_FAILED_DERIVE: ['fastify-dealbook, %s, %s: derive of the field "%s" failed: %s', TypeError],
  FST_DEALBOOK_FAILED_PREFILL: ['fastify-dealbook, %s, %s: prefill failed: %s', TypeError],
  FST_DEALBOOK_CHANGED_ARGUMENT: ['fastify-dealbook, %s, %s: %s changes its arguments, which are frozen; it must ' +
    'return a new item or value instead. %s', TypeError],
  // loading items
  FST_DEALBOOK_NO_FAMILY: ['fastify-dealbook: this is not a family made by defineFamily', TypeError],
  FST_DEALBOOK_INVALID_LOAD: ['%s, item %s: %s %s', TypeError],
  FST_DEALBOOK_INTERRUPTED: [
    '%s: the storage failed: %s. If this was temporary, call it again: it continues after what is stored', Error
  ],
  // copying a storage
  FST_DEALBOOK_INVALID_CONSUMER: ['consume: %s', TypeError],
  FST_DEALBOOK_INVALID_COPY: ['copyStorage: %s', Error],
  // dropping commands
  FST_DEALBOOK_INVALID_PRUNE: ['prune: %s', TypeError],
  // erasing personal data
  FST_DEALBOOK_INVALID_ERASURE: ['erase: %s', TypeError],
  FST_DEALBOOK_ERASURE_HELD: ['erase: entries that are to be erased are not handled yet by the consumers %s. Nothing ' +
    'was done. Wait for them, remove them, or set ignoreConsumers', Error],
  // verifying a log
  FST_DEALBOOK_INVALID_VERIFICATION: ['verifyLog: %s', TypeError],
  // storages
  FST_DEALBOOK_DRIVER_MISSING: ['%s', Error],
  FST_DEALBOOK_INVALID_STORAGE_OPTION: ['fastify-dealbook, storage: %s', TypeError],
  FST_DEALBOOK_MIGRATION_NEEDED: ['fastify-dealbook: the database lacks something that %s needs. Run this, or ' +
    'give the storage migrate: "auto":\n\n%s', Error],
  FST_DEALBOOK_NO_MIGRATIONS: ['writeMigration: this storage has no tables', TypeError],
  FST_DEALBOOK_CHAINED: ['fastify-dealbook, storage: the log in the table "%s" is chained: give the storage ' +
    'chain: true, in all processes and tools, or chain: false to write entries that are not', Error],
  FST_DEALBOOK_NOT_PREPARED: ['the family "%s" was not prepared', Error],
  FST_DEALBOOK_NO_TABLE: ['%s: the mapped table "%s" does not exist', Error],
  FST_DEALBOOK_TABLE_SHARED: ['The families "%s" and "%s" would share the table "%s"', Error],
  FST_DEALBOOK_COLUMN_SHARED: ['%s: the fields "%s" and "%s" would share the column "%s"; rename one of them', Error],
  FST_DEALBOOK_NO_COLUMN: ['%s: the table "%s" has no column "%s" for the field "%s"; it has %s. ' +
    'Name the column in tables.%s.columns', Error],
  FST_DEALBOOK_COLUMN_REQUIRED: ['%s: nothing can be created in the table "%s": it has required columns ' +
    'that no field is mapped to: %s. Add fields for them, or give them a DEFAULT', Error],
  FST_DEALBOOK_INVALID_FLAG: ['%s: tables cannot map the boolean "%s" to two values: %s', Error],
  FST_DEALBOOK_COLUMN_TYPE: ['%s: the column "%s" of the table "%s" has the type %s, ' +
    'which does not fit the field "%s" (%s, %s)', Error],
  FST_DEALBOOK_FIELD_KIND: ['%s: the field "%s" is of the kind %s, but existing items have the kind %s', Error],
  FST_DEALBOOK_NEEDS_DEFAULT: ['%s: existing items lack the field "%s", which is required. ' +
    'Give it a default, or make it Type.Optional%s', Error],
  FST_DEALBOOK_UNIQUE_MISSING: ['%s: the table "%s" does not keep "%s" unique, as the family declares: %s', Error],
  FST_DEALBOOK_NOT_UNIQUE: ['%s: "%s" must be unique, but some items have the same value: %s. Change all but one of ' +
    'them, or remove the entry of "unique"', Error],
  FST_DEALBOOK_NO_ID: ['%s: a family needs the field "id"', Error],
  FST_DEALBOOK_UNKNOWN_FIELD: ['%s: there is no field "%s"', Error],
  FST_DEALBOOK_UNKNOWN_MAPPED_FAMILY: ['fastify-dealbook: tables has "%s", but no family with that name is ' +
    'kept in this storage; known families are %s.%s', Error],
  FST_DEALBOOK_UNKNOWN_MAPPED_FIELD: ['%s: tables maps the field "%s", which the family does not have', Error],
  FST_DEALBOOK_REPEATED_CHANGE: ['%s %s: more than one change in one commit', Error]
})

type Definition = readonly [message: string, base: ErrorConstructor]

function makeErrors<T extends Record<string, Definition>> (
  table: T
): { readonly [Code in keyof T]: FastifyErrorConstructor<{ code: string }, unknown[]> } {
  const made = Object.entries(table).map(([code, [message, base]]) => [code, createError(code, message, 500, base)])
  return Object.fromEntries(made)
}
