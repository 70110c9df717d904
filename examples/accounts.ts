// Accounts, and transfers between them that change both in one step: node build/examples/accounts.js
import Fastify from 'fastify'
import type { Storage } from 'fastify-dealbook'
import { defineFamily, memoryStorage, Type } from 'fastify-dealbook'
import { openStorage } from './storage-from-url.js'

export const accounts = defineFamily({
  name: 'accounts',
  singular: 'account',
  fields: Type.Object({
    id: Type.String(),
    owner: Type.String({ minLength: 1 }),
    balance: Type.Integer({ minimum: 0, description: 'In cents' })
  }),
  // The balance of a new account.
  create: ['owner', 'balance'],
  title: 'owner',
  operations: {
    'transfer-money': {
      name: 'transfer-money',
      verb: 'transfer',
      participle: 'transferred',
      noun: 'transfers',
      action: 'TransferMoney',
      summary: 'Transfer money to another account',
      // Pages ask for confirmation, and show both accounts after the change.
      danger: true,
      params: Type.Object({ to: Type.String(), amount: Type.Integer({ minimum: 1 }) }),
      changes: ['balance'],
      with: { to: { family: 'accounts', id: params => params.to } },
      // A page calls it without parameters, to decide whether to offer it.
      allowed: ({ balance }, params) => balance >= (params?.amount ?? 1) || `There are only ${balance} cents`,
      apply: (account, { amount }, { items: { to } }) => ({
        item: { ...account, balance: account.balance - amount },
        others: { to: { ...to, balance: to.balance + amount } }
      })
    }
  }
})

/** An application with these accounts. */
export function buildApp (storage: Storage = memoryStorage()) {
  const app = Fastify()
  app.register(accounts, { storage })
  return app
}

if (import.meta.filename === process.argv[1]) {
  const { PORT = '3000', STORAGE = 'memory:' } = process.env
  const app = buildApp(await openStorage(STORAGE))
  console.log(`${await app.listen({ port: Number(PORT) })}/accounts`)
}
