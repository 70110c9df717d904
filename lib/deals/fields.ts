import { Type } from '@sinclair/typebox'
import type { ItemOf } from '../family/definition.js'

/** A name, a reason: text that people write. */
export const text = (description: string, maxLength: number) => Type.String({ minLength: 1, maxLength, description })

/** An amount of money. */
export const amount = (description: string) => Type.Number({ minimum: 0, description })

export const dealFields = Type.Object({
  id: Type.String({ description: 'The id of the deal' }),
  name: text('What the deal is called', 1000),
  price: amount('The price agreed on'),
  held: Type.Boolean({ default: false, description: 'Whether the deal is held' }),
  holdReason: Type.Optional(text('Why the deal is held', 4000)),
  status: Type.Union([Type.Literal('open'), Type.Literal('completed'), Type.Literal('cancelled')], {
    default: 'open',
    description: 'Where the deal stands'
  }),
  completionDate: Type.Optional(Type.String({
    format: 'date',
    description: 'The day on which the deal is to be completed'
  })),
  amercement: Type.Optional(amount('What was charged for cancelling or for a change of the completion date'))
})

/** A deal as it is stored and shown. */
export type Deal = ItemOf<typeof dealFields.properties>
