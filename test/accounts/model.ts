/** A transfer, or a deletion where it has no amount. */
export interface BankRequest {
  readonly from: number
  readonly to: number
  readonly amount: number | undefined
  /** The id of the command, where the client chose one. */
  readonly name: string | undefined
  /** The revision in If-Match, relative to the current one. */
  readonly match: number | undefined
}

export interface BankEntry {
  readonly action: string
  readonly outcome: 'done' | 'refused'
  readonly revision: number
}

export interface BankAccount {
  gone: boolean
  balance: number
  revision: number
  readonly log: BankEntry[]
}

/** Accounts in plain JavaScript, written from the documentation and not from the code. */
export class Bank {
  readonly accounts: BankAccount[] = []
  readonly #past = new Map<string, { readonly request: string, readonly status: number }>()

  open (balance: number): void {
    const log: BankEntry[] = [{ action: 'CreateAccount', outcome: 'done', revision: 1 }]
    this.accounts.push({ gone: false, balance, revision: 1, log })
  }

  /** Answers the status: 200 for what was done, whichever form says it. */
  take ({ from, to, amount, name, match }: BankRequest): { readonly status: number, readonly replayed: boolean } {
    const request = JSON.stringify([from, to, amount])
    if (amount !== undefined && from === to) return { status: 400, replayed: false }
    const past = name === undefined ? undefined : this.#past.get(name)
    if (past !== undefined) {
      return past.request === request ? { status: past.status, replayed: true } : { status: 422, replayed: false }
    }
    const status = this.#settle(from, to, amount, match, name !== undefined)
    if (name !== undefined && (status === 200 || status === 409)) this.#past.set(name, { request, status })
    return { status, replayed: false }
  }

  #settle (from: number, to: number, amount: number | undefined, match: number | undefined, kept: boolean): number {
    const [giver, taker] = [this.accounts[from] as BankAccount, this.accounts[to]]
    if (giver.gone) return 404
    if (match !== undefined && match !== 0) return 412
    if (amount === undefined) {
      giver.gone = true
      giver.log.push({ action: 'DeleteAccount', outcome: 'done', revision: ++giver.revision })
      return 200
    }
    if (taker === undefined || taker.gone) return 400
    if (giver.balance < amount) {
      if (kept) giver.log.push({ action: 'TransferMoney', outcome: 'refused', revision: giver.revision })
      return 409
    }
    for (const [account, change] of [[giver, -amount], [taker, amount]] as const) {
      account.balance += change
      account.log.push({ action: 'TransferMoney', outcome: 'done', revision: ++account.revision })
    }
    return 200
  }
}
