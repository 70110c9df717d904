import { defineFamily, Type } from '../../lib/index.js'

const amount = Type.Integer({ minimum: 1 })
/** Names the command in its log entry, so that the oracle finds it again. */
const mark = Type.String({ minLength: 1, maxLength: 50 })

/** Ids are counted; an operation changes two items; a field and a parameter are hidden. */
export const accounts = defineFamily({
  name: 'accounts',
  singular: 'account',
  fields: Type.Object({
    id: Type.Integer(),
    tenant: Type.String({ maxLength: 10 }),
    mark,
    balance: Type.Integer(),
    closed: Type.Boolean(),
    note: Type.Optional(Type.String({ maxLength: 50 })),
    pin: Type.Optional(Type.String({ maxLength: 50, writeOnly: true }))
  }),
  create: ['mark', 'pin'],
  initial: (account, { claims }) =>
    ({ ...account, tenant: String(claims.tenant ?? 'red'), balance: 100, closed: false }),
  edit: ['note', 'pin'],
  revert: true,
  operations: {
    deposit: {
      name: 'deposit',
      verb: 'deposit',
      participle: 'deposited',
      noun: 'deposits',
      action: 'DepositMoney',
      params: Type.Object({ amount, mark, pin: Type.Optional(Type.String({ writeOnly: true })) }),
      allowed: ({ closed }) => !closed || 'The account is closed',
      apply: (account, { amount }) => ({ ...account, balance: account.balance + amount })
    },
    transfer: {
      name: 'transfer',
      verb: 'transfer',
      participle: 'transferred',
      noun: 'transfers',
      action: 'TransferMoney',
      params: Type.Object({ amount, mark, to: Type.Integer() }),
      with: { to: { family: 'accounts', id: (params: { to: number }) => params.to } },
      allowed: ({ closed, balance }, params) =>
        (!closed && balance >= (params?.amount ?? 0)) || 'The account is closed, or has too little',
      apply (account, { amount }, { items: { to } }) {
        const other = to as unknown as typeof account
        return {
          item: { ...account, balance: account.balance - amount },
          others: { to: { ...other, balance: other.balance + amount } }
        }
      }
    },
    close: {
      name: 'close',
      verb: 'close',
      participle: 'closed',
      noun: 'closings',
      action: 'CloseAccount',
      params: Type.Object({ mark }),
      apply: account => ({ ...account, closed: true })
    },
    reopen: {
      name: 'reopen',
      verb: 'reopen',
      participle: 'reopened',
      noun: 'reopenings',
      action: 'ReopenAccount',
      params: Type.Object({ mark }),
      apply: account => ({ ...account, closed: false })
    }
  },
  indexes: ['tenant']
})

/** The next version: one more field, and an operation on it. */
export const accountsNext = accounts.extend({
  fields: Type.Object({ grade: Type.Integer({ default: 1 }) }),
  operations: {
    promote: {
      name: 'promote',
      verb: 'promote',
      participle: 'promoted',
      noun: 'promotions',
      action: 'PromoteAccount',
      params: Type.Object({ mark }),
      apply: account => ({ ...account, grade: account.grade + 1 })
    }
  }
})

/** Ids are made, or chosen by clients; a value is unique; a field refers to an account. */
export const tickets = defineFamily({
  name: 'tickets',
  singular: 'ticket',
  fields: Type.Object({
    id: Type.String({ maxLength: 50 }),
    tenant: Type.String({ maxLength: 10 }),
    mark,
    code: Type.Integer(),
    account: Type.Optional(Type.Integer()),
    done: Type.Boolean()
  }),
  create: ['id', 'mark', 'code', 'account'],
  initial: (ticket, { claims }) => ({ ...ticket, tenant: String(claims.tenant ?? 'red'), done: false }),
  revert: true,
  unique: [['code']],
  references: { account: accounts },
  operations: {
    finish: {
      name: 'finish',
      verb: 'finish',
      participle: 'finished',
      noun: 'finishes',
      action: 'FinishTicket',
      params: Type.Object({ mark }),
      allowed: ({ done }) => !done || 'The ticket is done',
      apply: ticket => ({ ...ticket, done: true })
    }
  }
})

/** What a consumer does for each entry, once. */
export const effects = defineFamily({
  name: 'effects',
  singular: 'effect',
  fields: Type.Object({ id: Type.String({ maxLength: 50 }), entry: Type.String({ maxLength: 100 }) }),
  create: ['entry']
})
