import { type TObject, Type } from '@sinclair/typebox'
import type { DefinedOperation, OpenOperation } from '../core/family/definition.js'
import { tagByRevision } from '../core/family/fields.js'
import type { Labels } from '../core/family/presentation.js'
import type { ItemOf } from '../core/family/types.js'
import { defineFamily, defineQuery } from '../families.js'
import { germanLabels } from './german.js'

const describedText = (description: string, maxLength: number, ...examples: string[]) =>
  Type.String({ minLength: 1, maxLength, description, ...(examples.length === 0 ? {} : { examples }) })

const money = (description: string, ...examples: number[]) =>
  Type.Number({ minimum: 0, description, ...(examples.length === 0 ? {} : { examples }) })

const dealFields = tagByRevision(Type.Object({
  id: Type.String({ description: 'The id of the deal', examples: ['01890a5d-ac96-774b-bcce-b302099a8057'] }),
  name: describedText('The name of the deal', 1000, 'Supply contract'),
  price: money('The agreed price', 1200),
  held: Type.Boolean({ default: false, description: 'Whether the deal is held' }),
  holdReason: Type.Optional(describedText('Why the deal is held', 4000)),
  status: Type.Union([Type.Literal('open'), Type.Literal('completed'), Type.Literal('cancelled')], {
    default: 'open',
    description: 'The status of the deal'
  }),
  completionDate: Type.Optional(Type.String({
    format: 'date',
    description: 'The day on which the deal is to be completed',
    examples: ['2030-03-31']
  })),
  amercement: Type.Optional(money('The fee for cancelling or for changing the completion date'))
}))

/** A deal as it is stored and shown. */
export type Deal = ItemOf<typeof dealFields.properties>

/**
 * Declares an operation. The item is a deal unless the type parameter, or the type of an argument, says otherwise.
 *
 * @example
 * const approve = defineOperation({
 *   name: 'approve', verb: 'approve', participle: 'approved', noun: 'approvals', action: 'ApproveDeal',
 *   params: Type.Object({ by: Type.String({ minLength: 1 }) }),
 *   allowed: deal => deal.status === 'open' && !deal.held,
 *   apply: (deal, { by }) => ({ ...deal, approvedBy: by })
 * })
 */
export function defineOperation<ParamSchema extends TObject, Item extends object = Deal, With = any, Creates = any> (
  operation: OpenOperation<Item, ParamSchema, With, Creates>
): DefinedOperation<Item, ParamSchema> {
  return operation as unknown as DefinedOperation<Item, ParamSchema>
}

const isOpen = ({ status }: Deal) => status === 'open' || `The deal is ${status}`

const isFree = (deal: Deal) => deal.status === 'open' && deal.held ? 'The deal is held' : isOpen(deal)

const hold = defineOperation({
  name: 'hold',
  verb: 'hold',
  participle: 'holded',
  noun: 'holds',
  action: 'HoldDeal',
  summary: 'Hold a deal for a reason',
  params: Type.Object({ reason: describedText('Why the deal is held', 4000, 'Papers are missing') }),
  changes: ['held', 'holdReason'],
  allowed: isFree,
  apply: (deal, { reason }) => ({ ...deal, held: true, holdReason: reason })
})

const unhold = defineOperation({
  name: 'unhold',
  verb: 'unhold',
  participle: 'unholded',
  noun: 'unholds',
  action: 'UnholdDeal',
  summary: 'Release a held deal',
  params: Type.Object({}),
  changes: ['held', 'holdReason'],
  allowed: deal => deal.status === 'open' && !deal.held ? 'The deal is not held' : isOpen(deal),
  apply: deal => release(deal)
})

const completeDeal = defineOperation({
  name: 'complete',
  verb: 'complete',
  participle: 'completed',
  noun: 'completions',
  action: 'CompleteDeal',
  summary: 'Complete a deal',
  final: true,
  params: Type.Object({ comment: Type.Optional(describedText('A remark for the log', 4000, 'Delivered in full')) }),
  changes: ['status'],
  allowed: isFree,
  apply: deal => ({ ...deal, status: 'completed' })
})

const cancel = defineOperation({
  name: 'cancel',
  verb: 'cancel',
  participle: 'cancelled',
  noun: 'cancellations',
  action: 'CancelDeal',
  summary: 'Cancel a deal for an amercement',
  danger: true,
  final: true,
  params: Type.Object({
    amercement: money('The fee for cancelling', 60),
    reason: describedText('Why the deal is cancelled', 4000, 'The customer withdrew')
  }),
  changes: ['status', 'amercement'],
  allowed: isOpen,
  apply: (deal, { amercement }) => ({ ...release(deal), status: 'cancelled', amercement })
})

const changePrice = defineOperation({
  name: 'change-price',
  verb: 'change-price',
  participle: 'price-changed',
  noun: 'price-changes',
  action: 'ChangeDealPrice',
  summary: 'Agree on a different price',
  params: Type.Object({
    newPrice: money('The new price', 1100),
    reason: describedText('Why the price is changed', 4000, 'A discount was agreed on')
  }),
  changes: ['price'],
  allowed: isFree,
  apply: (deal, { newPrice }) => ({ ...deal, price: newPrice })
})

const changeCompletionDate = defineOperation({
  name: 'change-completion-date',
  verb: 'change-completion-date',
  participle: 'completion-date-changed',
  noun: 'completion-date-changes',
  action: 'ChangeDealCompletionDate',
  summary: 'Agree on a different completion date',
  params: Type.Object({
    newDate: Type.String({ format: 'date', description: 'The new completion date', examples: ['2030-04-30'] }),
    amercement: money('The fee for the change', 25),
    whyChanged: describedText('Why the date is changed', 4000, 'The carrier is late')
  }),
  changes: ['completionDate', 'amercement'],
  allowed: isFree,
  apply: (deal, { newDate, amercement }) => ({ ...deal, completionDate: newDate, amercement })
})

const en: Labels = {
  fields: { amercement: 'Fee' },
  operations: {
    hold: { label: 'Hold', done: 'Held' },
    unhold: { label: 'Release', done: 'Released' },
    complete: { label: 'Complete', done: 'Completed' },
    cancel: { label: 'Cancel the deal', done: 'Cancelled' },
    'change-price': { label: 'Change the price', done: 'Price changed' },
    'change-completion-date': { label: 'Change the completion date', done: 'Completion date changed' },
    edit: { label: 'Rename', done: 'Renamed' }
  }
}

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
    complete: completeDeal,
    cancel,
    'change-price': changePrice,
    'change-completion-date': changeCompletionDate
  },
  edit: ['name'],
  attributes: {
    fields: ['held', 'holdReason'],
    read (wanted, current) {
      if (wanted.held) {
        if (wanted.holdReason === undefined) return { field: 'holdReason', detail: 'is required if held is true' }
        return { operation: 'hold', params: { reason: wanted.holdReason } }
      }
      // A client that only turns held off may leave the reason as it was.
      if (wanted.holdReason !== undefined && wanted.holdReason !== current.holdReason) {
        return { field: 'holdReason', detail: 'is only allowed with held: true' }
      }
      return { operation: 'unhold', params: {} }
    }
  },
  states: {
    open: { filter: 'status=open&held=false' },
    held: { tone: 'warning', filter: 'status=open&held=true' },
    completed: 'done',
    cancelled: 'bad'
  },
  labels: { en, de: germanLabels },
  title: 'name',
  list: ['name', 'price', 'completionDate', 'createdAt'],
  indexes: ['name', 'status'],
  versioned: true,
  queries: {
    'deals-by-name': defineQuery({ field: 'name' }),
    'deals-by-status': defineQuery({ field: 'status' })
  }
})

function release ({ holdReason, ...deal }: Deal): Deal {
  return { ...deal, held: false }
}
