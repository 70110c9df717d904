import type { FastifyInstance, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import { accounts } from '../../examples/accounts.js'
import type { FamilyOptions, Storage } from '../../lib/index.js'

/** An application with accounts. */
export async function accountsApp (storage: Storage, options: Partial<FamilyOptions> = {}): Promise<FastifyInstance> {
  const app = Fastify()
  app.register(accounts, { storage, ...options } as never)
  await app.ready()
  return app
}

/** Opens an account, and answers its id. */
export async function openAccount (app: FastifyInstance, owner: string, balance: number): Promise<string> {
  const answer = await app.inject({ method: 'POST', url: '/accounts', payload: { owner, balance } })
  if (answer.statusCode !== 201) throw new Error(answer.body)
  return answer.json<{ id: string }>().id
}

export interface Account {
  readonly id: string
  readonly balance: number
  readonly revision: number
}

export async function readAccount (app: FastifyInstance, id: string): Promise<Account> {
  return (await app.inject(`/accounts/${id}`)).json<Account>()
}

export async function readAccountLog (app: FastifyInstance, id: string): Promise<Record<string, unknown>[]> {
  return (await app.inject(`/accounts/${id}/commands`)).json<{ items: Record<string, unknown>[] }>().items
}

type Say = (from: string, params: object, command: string) => InjectOptions

/** How each form says a transfer, and the status where it was done. */
export const transferForms: Readonly<Record<string, [done: number, say: Say]>> = {
  verb: [200, (from, payload) => ({ method: 'PUT', url: `/accounts/${from}/transfer`, payload })],
  participle: [200, (from, payload) => ({ method: 'PUT', url: `/accounts/${from}/transferred`, payload })],
  update: [200, (from, params) =>
    ({ method: 'PUT', url: `/accounts/${from}`, payload: { action: 'TransferMoney', params } })],
  noun: [201, (from, payload) => ({ method: 'POST', url: `/accounts/${from}/transfers`, payload })],
  command: [201, (from, params, command) =>
    ({ method: 'PUT', url: `/accounts/${from}/commands/${command}`, payload: { action: 'TransferMoney', params } })],
  commands: [201, (account, params, command) =>
    ({ method: 'PUT', url: `/rest/commands/${command}`, payload: { account, action: 'TransferMoney', params } })],
  action: [200, (id, params) => ({ method: 'POST', url: '/command/TransferMoney/', payload: { id, ...params } })],
  page: [303, (from, params) => ({
    method: 'POST',
    url: `/accounts/${from}/transfers`,
    payload: Object.entries(params).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&'),
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
  })]
}
