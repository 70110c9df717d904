import type { CommandRecord } from '../../lib/core/service/record.js'
import type { Id, Members, Stored } from '../../lib/index.js'

export type Entry = CommandRecord & { readonly params?: Members }

/** Set by the library. */
export const serviceMembers: ReadonlySet<string> = new Set(['revision', 'createdAt', 'updatedAt'])

export function nameItem (family: string, id: Id): string {
  return `${family}/${id}`
}

/** Of the callers, by the first part of their names; undefined if they see everything. */
export function tenantOf (principal: string | undefined): string | undefined {
  const tenant = principal?.split('-')[0]
  return tenant === 'admin' ? undefined : tenant
}

/** In notes, which are hidden from some. */
export const noteMark = 'NOTE-'

export function nameNote (mark: string): string {
  return `${noteMark}${mark}`
}

/** From whom notes and codes are hidden. */
export function isHiding (principal: string | undefined): boolean {
  return principal?.endsWith('-kim') === true
}

/** Of an item of a family, what a caller does not see. */
export function listHidden (family: string, principal: string | undefined): readonly string[] {
  return isHiding(principal) ? family === 'accounts' ? ['note'] : family === 'tickets' ? ['code'] : [] : []
}

export function isVisible (item: Members | undefined, tenant: string | undefined): boolean {
  return item !== undefined && (tenant === undefined || item.tenant === tenant)
}

type Rule = (item: Members, params: Members, entry: Entry) => Members | undefined

const add = (item: Members, amount: unknown): Members =>
  ({ ...item, balance: Number(item.balance) + Number(amount) })

/** The operations in plain JavaScript. */
const rules: Readonly<Record<string, Rule>> = {
  CreateAccount: (_item, { mark }, { target, principal }) =>
    ({ id: Number(target), tenant: tenantOf(principal) ?? 'red', mark, balance: 100, closed: false }),
  DepositMoney: (item, { amount }) => add(item, amount),
  TransferMoney: (item, { amount }, { about }) => add(item, about === undefined ? -Number(amount) : amount),
  CloseAccount: item => ({ ...item, closed: true }),
  ReopenAccount: item => ({ ...item, closed: false }),
  PromoteAccount: item => ({ ...item, grade: Number(item.grade ?? 1) + 1 }),
  EditAccount: (item, { note = item.note }) => {
    const { note: _before, ...others } = item
    return note === null || note === undefined ? others : { ...others, note }
  },
  DeleteAccount: () => undefined,
  CreateTicket: (_item, { mark, code, account }, { target, principal }) =>
    ({ id: target, tenant: tenantOf(principal) ?? 'red', mark, code, account, done: false }),
  FinishTicket: item => ({ ...item, done: true }),
  DeleteTicket: () => undefined,
  // What they bring back, the journal says.
  RestoreAccount: item => item,
  RestoreTicket: item => item,
  RevertAccount: item => item,
  RevertTicket: item => item,
  CreateEffect: (_item, { entry }, { target }) => ({ id: target, entry })
}

/** The item after an entry. */
export function applyEntry (item: Members | undefined, entry: Entry): Members | undefined {
  return rules[entry.action]?.(item ?? {}, entry.params ?? {}, entry)
}

export function isModelled (action: string): boolean {
  return Object.hasOwn(rules, action)
}

/** Whether a rule refuses an action. What changes nothing is never refused. */
export function isRefused (item: Stored, action: string, params: Members): boolean {
  if (action === 'DepositMoney') return item.closed === true
  return action === 'TransferMoney' && (item.closed === true || Number(item.balance) < Number(params.amount))
}
