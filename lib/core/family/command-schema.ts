import { Type } from '@sinclair/typebox'
import type { FamilyShape } from '../storage/storage.js'
import { listFields } from './fields.js'

/** What clients see of a command, whatever its family, but for the member that names the item. */
export const CommandMembers = Type.Object({
  id: Type.String({ description: 'The id of the command' }),
  action: Type.String({ description: 'The operation' }),
  params: Type.Optional(Type.Object({}, {
    additionalProperties: true,
    description: 'The parameters of the operation, where it changed something'
  })),
  outcome: Type.Union([Type.Literal('done'), Type.Literal('unchanged'), Type.Literal('refused')], {
    description: 'What became of it'
  }),
  revision: Type.Integer({ description: 'The revision of the item after it' }),
  createdAt: Type.String({ format: 'date-time', description: 'When it was decided' }),
  principal: Type.Optional(Type.String({ description: 'Who asked for it' })),
  chosenId: Type.Optional(Type.String({ description: 'The id that its principal knows it by, where that is another' })),
  problem: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Why it was refused' })),
  about: Type.Optional(Type.Object({
    family: Type.String({ maxLength: 100 }),
    id: Type.Union([Type.String({ maxLength: 100 }), Type.Integer()])
  }, { description: 'The item that the command was for, where it changed this one too' }))
})

/** The fields of the log, for filters and forms. */
export const logFields = listFields(CommandMembers)

/** The commands of all families, for the storage. */
export const commandsShape: FamilyShape = {
  name: 'commands',
  fields: listFields(Type.Object({
    ...CommandMembers.properties,
    // Both stand in an index: names and ids are short.
    family: Type.String({ maxLength: 100 }),
    target: Type.String({ maxLength: 100 }),
    result: Type.Optional(Type.Object({})),
    digest: Type.Optional(Type.String()),
    changes: Type.Optional(Type.Object({})),
    updatedAt: Type.String({ format: 'date-time' })
  })),
  // The order of a log.
  indexes: [['family', 'target', 'revision', 'outcome', 'createdAt', 'id']]
}
