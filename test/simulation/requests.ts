import { type Id, type Members, Problem } from '../../lib/index.js'
import type { Host, Result } from './host.js'
import type { Intention, Told } from './judge.js'

/** What became of a call: it has no answer if the process is gone, or failed. */
export type Answer<T> = { readonly value: T } | { readonly code: string, readonly detail?: string } | undefined

export async function runCommand (host: Host, intention: Intention): Promise<Result> {
  const { family, operation, target, params, principal, identity, revision } = intention
  const service = host.service(family, principal)
  const options = { principal, ...identity, ...(revision !== undefined && { revision }) }
  if (operation === 'create') return await service.create(params, { principal, ...identity })
  if (operation === 'remove') return { item: undefined, ...await service.remove(target as never, options) } as Result
  return await service.run(operation, target as Id, params, options)
}

export function toTold (answer: NonNullable<Answer<Result | Told>>): Told {
  if (!('value' in answer)) return answer
  return 'command' in answer.value ? { result: answer.value } : answer.value as Told
}

export async function runAll (
  host: Host, intentions: readonly Intention[], principal: string, atomic: boolean
): Promise<(Told | undefined)[]> {
  const commands = intentions.map(({ operation, target, params, identity, revision }) => ({
    operation,
    params,
    ...identity,
    ...(target !== undefined && { id: target }),
    ...(revision !== undefined && { revision })
  }))
  const service = host.service('accounts', principal)
  const results = await service.runAll(commands as never, { principal, atomic } as never) as unknown[]
  if (atomic) return (results as Result[]).map(result => ({ result }))
  return (results as PromiseSettledResult<Result>[]).map(each => {
    if (each.status === 'fulfilled') return { result: each.value }
    const { code, statusCode, message: detail } = each.reason as Problem
    return statusCode >= 500 ? undefined : { code, detail }
  })
}

/** The same command over HTTP. The response does not say whether anything was changed. */
export async function sendRequest (host: Host, intention: Intention): Promise<Told> {
  const { family, operation, action, target, params, principal, identity: { key, command }, revision } = intention
  const headers = {
    ...(key !== undefined && { 'idempotency-key': key }),
    ...(revision !== undefined && { 'if-match': `"${revision}"` })
  }
  const url = `/${family}/${target ?? ''}`
  const { status, body, headers: answered } = operation === 'create'
    ? await host.request('POST', url, principal, params, headers)
    : command !== undefined
      ? await host.request('PUT', `${url}/commands/${command}`, principal, { action, params }, headers)
      : operation === 'remove'
        ? await host.request('DELETE', url, principal, undefined, headers)
        : await host.request('PUT', `${url}/${operation}`, principal, params, headers)
  const content = body === '' ? undefined : JSON.parse(body) as Members
  if (status < 400) {
    const item = content?.balance === undefined && content?.code === undefined ? undefined : content
    const seen = answered['dealbook-seen'] as string | undefined
    return { result: { item, replayed: answered['idempotent-replayed'] === 'true', seen } }
  }
  throw toProblem(status, content)
}

function toProblem (status: number, content: Members | undefined): Problem {
  const code = String(content?.type).replace('urn:dealbook:problem:', '')
  return new Problem(code as 'other', String(content?.detail), { status })
}

/** @param seen `Dealbook-Seen` of an earlier response */
export async function getItem (
  host: Host, family: string, id: Id, principal: string, seen: string | undefined
): Promise<Members> {
  const { status, body } = await host.request('GET', `/${family}/${id}`, principal, undefined, sendSeen(seen))
  const content = JSON.parse(body) as Members
  if (status >= 400) throw toProblem(status, content)
  return content
}

function sendSeen (seen: string | undefined): Record<string, string> {
  return seen === undefined ? {} : { 'dealbook-seen': seen }
}

/** A list in pages, over HTTP and without. */
export async function list (
  host: Host, family: string, principal: string, isOpen: boolean, limit: number, seen: string | undefined
): Promise<Members[]> {
  const items: Members[] = []
  let url: string | undefined = `/${family}?maxpagesize=${limit}${isOpen ? '&closed=false' : ''}`
  while (url !== undefined) {
    const { status, body } = await host.request('GET', url, principal, undefined, sendSeen(seen))
    const content = JSON.parse(body) as { items: Members[], links?: { next?: string } }
    if (status >= 400) throw toProblem(status, content as never)
    items.push(...content.items)
    url = content.links?.next
  }
  return items
}

export async function walk (
  host: Host, family: 'accounts' | 'tickets', principal: string, isOpen: boolean, limit: number
): Promise<Members[]> {
  const items: Members[] = []
  const service = host.service(family, principal)
  for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const options = { principal, limit, ...(after !== undefined && { after }) }
    const page = await service.find(isOpen ? 'closed=false' : '', options) as never as Page
    items.push(...page.items)
    after = page.next
  }
  return items
}

interface Page {
  readonly items: Members[]
  readonly next?: string
}
