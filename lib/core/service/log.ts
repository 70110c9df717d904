import { logFields } from '../family/command-schema.js'
import type { Family } from '../family/family.js'
import type { NounOperation } from '../family/operation.js'
import type { Condition, Id, Storage } from '../storage/storage.js'
import type { CommandRecord } from './command.js'

/**
 * The conditions of the commands in the log of an item or, for an operation, in the part of it that its noun names.
 * Refused commands are not in that part: a refused hold is not a hold.
 */
export function selectLog ({ name }: Family, id: Id, operation?: NounOperation): Condition[] {
  return [
    { field: 'family', op: 'eq', values: [name] },
    { field: 'target', op: 'eq', values: [String(id)] },
    ...(operation === undefined ? [] : selectNoun(operation))
  ]
}

function selectNoun ({ action }: NounOperation): Condition[] {
  return [{ field: 'action', op: 'eq', values: [action] }, { field: 'outcome', op: 'ne', values: ['refused'] }]
}

/** The same for one command that was found by its id. */
export function isInLog (record: CommandRecord, { name }: Family, id: Id, operation?: NounOperation): boolean {
  return record.family === name && record.target === String(id) &&
    (operation === undefined || (record.action === operation.action && record.outcome !== 'refused'))
}

/** Whether the log of an item, which may be gone, has an entry. */
export async function hasLog (storage: Pick<Storage, 'find'>, family: Family, id: Id): Promise<boolean> {
  const order = [...logOrder, { field: 'id', descending: false }]
  const query = { where: selectLog(family, id), order, offset: 0, limit: 1, count: false }
  return (await storage.find('commands', query)).items.length > 0
}

/**
 * The order of the log where a client asks for none: that of the changes; of one revision, the change that made it,
 * then what was refused, then what changed nothing. So the changes are found among any number of the others.
 */
const logOrder = ['revision', 'outcome', 'createdAt'].map(field => ({ field, descending: false }))

/** A log, as it is listed. */
export const logList = { name: 'commands', fields: logFields, order: logOrder }
