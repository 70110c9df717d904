import { Type } from '@sinclair/typebox'
import { isDeepStrictEqual } from 'node:util'
import type { ProblemCode } from '../../problems.js'
import type { FamilyShape, Id, Stored } from '../../storage/storage.js'
import type { Members } from './params.js'
import { fieldsOf } from './shape.js'

/** What a request wants done, whichever form said it. */
export interface Command {
  /** The action of an operation, or that of creating or deleting; undefined where nothing is to be changed. */
  readonly action: string | undefined
  /** The item it is for; undefined where it creates one. */
  readonly target: Id | undefined
  readonly params: Members
  /** The id that the client chose for the command. */
  readonly id?: string | undefined
  /** The client's Idempotency-Key, from which the id is made. */
  readonly key?: string | undefined
  /** Where only the item shows what is meant: the action and its parameters, or a problem. Pure. */
  readonly interpret?: (current: Stored) => Pick<Command, 'action' | 'params'>
}

export type Outcome = 'done' | 'unchanged' | 'refused'

/** A command as it stands in the log. Its revision is that of the item after it. */
export interface CommandRecord extends Stored {
  readonly id: string
  readonly family: string
  /** The id of the item, as text. */
  readonly target: string
  readonly action: string
  readonly params: Members
  readonly outcome: Outcome
  readonly principal?: string
  /** Why it was refused. */
  readonly problem?: { readonly code: ProblemCode, readonly detail: string, readonly members: Members }
  /** The created item, where the answer may have to be given again. */
  readonly result?: Stored
}

/** What clients see of a command, but for the member that names the item. */
export const CommandMembers = Type.Object({
  id: Type.String({ description: 'The id of the command' }),
  action: Type.String({ description: 'The operation' }),
  params: Type.Object({}, { additionalProperties: true, description: 'The parameters of the operation' }),
  outcome: Type.Union([Type.Literal('done'), Type.Literal('unchanged'), Type.Literal('refused')], { description: 'What became of it' }),
  revision: Type.Integer({ description: 'The revision of the item after it' }),
  createdAt: Type.String({ format: 'date-time', description: 'When it was decided' }),
  principal: Type.Optional(Type.String({ description: 'Who asked for it' })),
  problem: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Why it was refused' }))
})

/** The commands of all families, for the storage. */
export const commandsShape: FamilyShape = {
  name: 'commands',
  fields: fieldsOf(Type.Object({
    ...CommandMembers.properties,
    family: Type.String(),
    target: Type.String(),
    result: Type.Optional(Type.Object({})),
    updatedAt: Type.String({ format: 'date-time' })
  })),
  indexes: [['family', 'target', 'revision']]
}

/** Client-chosen ids: 1 to 100 of these characters. */
export function isCommandId (text: string): boolean {
  return /^[A-Za-z0-9._~-]{1,100}$/.test(text)
}

/** Whether the same was asked for before, by the same principal. */
export function isSameCommand (record: CommandRecord, family: string, command: Command, principal: string | undefined): boolean {
  return record.family === family &&
    record.action === command.action &&
    record.principal === principal &&
    (command.target === undefined || record.target === String(command.target)) &&
    isDeepStrictEqual(record.params, command.params)
}
