/**
 * A deal book in plain JavaScript, written from the interface and not from the code: what each request must be answered
 * with, and what deals and logs must be after it.
 */
export interface ModelRequest {
  readonly deal: number
  readonly operation: string
  readonly params: Readonly<Record<string, unknown>>
  readonly valid: boolean
  /** The id of the command, or the key of the POST, with what sort of name it is. */
  readonly name: { readonly sort: 'command' | 'key', readonly text: string } | undefined
  /** The revision in If-Match, relative to the current one. */
  readonly match: number | undefined
}

export interface ModelEntry {
  readonly action: string
  /** Of what changed something. */
  readonly params?: Readonly<Record<string, unknown>>
  readonly outcome: 'done' | 'unchanged' | 'refused'
  readonly revision: number
}

export interface ModelDeal {
  gone: boolean
  revision: number
  members: Record<string, unknown>
  readonly log: ModelEntry[]
}

interface Recorded {
  readonly deal: number
  readonly operation: string
  readonly params: string
  readonly outcome: ModelEntry['outcome']
}

type Outcome = {
  readonly status: 'done' | 'unchanged' | 'refused' | 'invalid' | 'missing' | 'stale' | 'reused'
  readonly replayed: boolean
}

const actions: Readonly<Record<string, string>> = {
  hold: 'HoldDeal',
  unhold: 'UnholdDeal',
  complete: 'CompleteDeal',
  cancel: 'CancelDeal',
  'change-price': 'ChangeDealPrice',
  'change-completion-date': 'ChangeDealCompletionDate',
  edit: 'EditDeal',
  delete: 'DeleteDeal'
}

export class Model {
  readonly deals: ModelDeal[] = []
  readonly #past = new Map<string, Recorded>()

  create (name: string, price: number): void {
    const members = { name, price, held: false, status: 'open' }
    this.deals.push({
      gone: false,
      revision: 1,
      members,
      log: [{ action: 'CreateDeal', params: { name, price }, outcome: 'done', revision: 1 }]
    })
  }

  take ({ deal: index, operation, params, valid, name, match }: ModelRequest): Outcome {
    if (!valid) return { status: 'invalid', replayed: false }
    const deal = this.deals[index] as ModelDeal
    const key = name === undefined ? undefined : `${name.sort} ${name.text}`
    const past = key === undefined ? undefined : this.#past.get(key)
    if (past !== undefined) {
      const same = past.deal === index && past.operation === operation && past.params === JSON.stringify(params)
      return same ? { status: past.outcome, replayed: true } : { status: 'reused', replayed: false }
    }
    if (deal.gone) return { status: 'missing', replayed: false }
    if (match !== undefined && match !== 0) return { status: 'stale', replayed: false }

    const outcome = this.#change(deal, operation, params)
    if (key !== undefined) this.#past.set(key, { deal: index, operation, params: JSON.stringify(params), outcome })
    if (outcome === 'done' || key !== undefined) {
      const kept = outcome === 'done' ? { params } : {}
      deal.log.push({ action: actions[operation] as string, ...kept, outcome, revision: deal.revision })
    }
    return { status: outcome, replayed: false }
  }

  #change (deal: ModelDeal, operation: string, params: ModelRequest['params']): ModelEntry['outcome'] {
    const was = deal.members
    const isOpen = was['status'] === 'open'
    const isFree = isOpen && was['held'] === false
    if (operation === 'delete') {
      deal.gone = true
      deal.revision++
      return 'done'
    }
    const becomes = (allowed: boolean, members: Record<string, unknown>): ModelEntry['outcome'] => {
      const text = (value: object): string => JSON.stringify(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1))
      if (text(members) === text(was)) return 'unchanged'
      if (!allowed) return 'refused'
      deal.members = members
      deal.revision++
      return 'done'
    }
    const { holdReason, ...unheld } = was
    switch (operation) {
      case 'hold':
        return becomes(isFree, { ...was, held: true, holdReason: params['reason'] })
      case 'unhold':
        return becomes(isOpen && was['held'] === true, { ...unheld, held: false })
      case 'complete':
        return becomes(isFree, { ...was, status: 'completed' })
      case 'cancel':
        return becomes(isOpen, { ...unheld, held: false, status: 'cancelled', amercement: params['amercement'] })
      case 'edit':
        return becomes(true, { ...was, ...params })
      case 'change-price':
        return becomes(isFree, { ...was, price: params['newPrice'] })
      default:
        return becomes(isFree, { ...was, completionDate: params['newDate'], amercement: params['amercement'] })
    }
  }
}
