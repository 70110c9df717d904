/** An operation as the interface describes it, written down apart from the code that is tested. */
export interface ExpectedOperation {
  readonly name: string
  readonly verb: string
  readonly participle: string
  readonly noun: string
  readonly action: string
  readonly params: Readonly<Record<string, unknown>>
  /** The operations that lead from a new deal to one that allows this. */
  readonly before: readonly string[]
  /** What the operation changes; undefined for a member that goes away. */
  readonly effect: Readonly<Record<string, unknown>>
  /** The states that allow it. */
  readonly states: readonly State[]
  /** The attributes that say the same, where attributes can. */
  readonly attributes?: Readonly<Record<string, unknown>>
}

export type State = 'open' | 'held' | 'completed' | 'cancelled'

/** Operations that lead from a new deal to each state. */
export const stepsTo: Readonly<Record<State, readonly string[]>> = {
  open: [],
  held: ['hold'],
  completed: ['complete'],
  cancelled: ['cancel']
}

export const operations: readonly ExpectedOperation[] = [
  {
    name: 'hold',
    verb: 'hold',
    participle: 'holded',
    noun: 'holds',
    action: 'HoldDeal',
    params: { reason: 'Papers are missing' },
    before: [],
    effect: { held: true, holdReason: 'Papers are missing' },
    states: ['open'],
    attributes: { held: true, holdReason: 'Papers are missing' }
  },
  {
    name: 'unhold',
    verb: 'unhold',
    participle: 'unholded',
    noun: 'unholds',
    action: 'UnholdDeal',
    params: {},
    before: ['hold'],
    effect: { held: false, holdReason: undefined },
    states: ['held'],
    attributes: { held: false }
  },
  {
    name: 'complete',
    verb: 'complete',
    participle: 'completed',
    noun: 'completions',
    action: 'CompleteDeal',
    params: { comment: 'Signed' },
    before: [],
    effect: { status: 'completed' },
    states: ['open']
  },
  {
    name: 'cancel',
    verb: 'cancel',
    participle: 'cancelled',
    noun: 'cancellations',
    action: 'CancelDeal',
    params: { amercement: 12.5, reason: 'The ship sank' },
    before: ['hold'],
    effect: { status: 'cancelled', amercement: 12.5, held: false, holdReason: undefined },
    states: ['open', 'held']
  },
  {
    name: 'change-price',
    verb: 'change-price',
    participle: 'price-changed',
    noun: 'price-changes',
    action: 'ChangeDealPrice',
    params: { newPrice: 90.25, reason: 'A rebate' },
    before: [],
    effect: { price: 90.25 },
    states: ['open']
  },
  {
    name: 'change-completion-date',
    verb: 'change-completion-date',
    participle: 'completion-date-changed',
    noun: 'completion-date-changes',
    action: 'ChangeDealCompletionDate',
    params: { newDate: '2028-02-29', amercement: 3, whyChanged: 'Storms' },
    before: [],
    effect: { completionDate: '2028-02-29', amercement: 3 },
    states: ['open']
  },
  {
    name: 'edit',
    verb: 'edit',
    participle: 'edited',
    noun: 'edits',
    action: 'EditDeal',
    params: { name: 'Nine tons of tea' },
    before: [],
    effect: { name: 'Nine tons of tea' },
    states: ['open', 'held', 'completed', 'cancelled'],
    attributes: { name: 'Nine tons of tea' }
  }
]

export function operation (name: string): ExpectedOperation {
  const found = operations.find(each => each.name === name)
  if (found === undefined) throw new Error(`no operation ${name}`)
  return found
}
