import { defineFamily, Type } from 'fastify-dealbook'

// One declaration: types, validation, columns, filters, pages and OpenAPI come from it.
export const tickets = defineFamily({
  name: 'tickets',
  singular: 'ticket',
  fields: Type.Object({
    id: Type.Integer(),
    subject: Type.String({ minLength: 1, maxLength: 200 }),
    status: Type.Union([Type.Literal('open'), Type.Literal('resolved')], { default: 'open' }),
    answer: Type.Optional(Type.String({ maxLength: 1000 }))
  }),
  create: ['subject'],
  edit: ['subject'],
  operations: {
    resolve: {
      name: 'resolve',
      verb: 'resolve',
      participle: 'resolved',
      noun: 'resolutions',
      action: 'ResolveTicket',
      params: Type.Object({ answer: Type.String({ minLength: 1, maxLength: 1000 }) }),
      allowed: ticket => ticket.status === 'open' || 'The ticket is already resolved',
      apply: (ticket, { answer }) => ({ ...ticket, status: 'resolved', answer })
    }
  },
  states: { open: 'warning', resolved: 'done' },
  title: 'subject',
  list: ['subject', 'status']
})
