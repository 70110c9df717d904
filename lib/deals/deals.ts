import { defineFamily, defineQuery } from '../http/plugin/define-family.js'
import { dealFields } from './fields.js'
import { cancel, changeCompletionDate, changePrice, complete, hold, unhold } from './operations.js'

/**
 * The deals: created, deleted, and driven by business operations, each in every URL form.
 *
 * @example
 * app.register(deals, { storage, prefix: '/crm', version: 'v1' })   // PUT /crm/rest/v1/deals/{id}/hold
 */
export const deals = defineFamily({
  name: 'deals',
  singular: 'deal',
  fields: dealFields,
  create: ['name', 'price', 'completionDate'],
  operations: {
    hold,
    unhold,
    complete,
    cancel,
    'change-price': changePrice,
    'change-completion-date': changeCompletionDate
  },
  edit: ['name'],
  attributes: {
    fields: ['held', 'holdReason'],
    read (wanted, current) {
      if (wanted.held) {
        if (wanted.holdReason === undefined) return { field: 'holdReason', detail: 'is required where held is true' }
        return { operation: 'hold', params: { reason: wanted.holdReason } }
      }
      // A client that only turns held off may leave the reason as it was.
      if (wanted.holdReason !== undefined && wanted.holdReason !== current.holdReason) {
        return { field: 'holdReason', detail: 'goes only with held: true' }
      }
      return { operation: 'unhold', params: {} }
    }
  },
  state: deal => deal.status === 'open' && deal.held ? 'held' : deal.status,
  title: 'name',
  list: ['name', 'status', 'held', 'price', 'completionDate', 'createdAt'],
  // The fields that its queries find by.
  indexes: ['name', 'status'],
  versioned: true,
  queries: {
    'deals-by-name': defineQuery({ field: 'name' }),
    'deals-by-status': defineQuery({ field: 'status' })
  }
})
