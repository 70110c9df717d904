import { createHmac } from 'node:crypto'
import type { Family } from '../core/family/family.js'
import { randomBytes } from '../core/runtime.js'
import { type CommandRecord, readTarget } from '../core/service/record.js'
import { toShown } from '../core/service/shown.js'

/** The families that events are about, and the URLs of their collections, by their names. */
export type Sources = ReadonlyMap<string, { readonly family: Family, readonly url: string }>

/** An event of CloudEvents 1.0; undefined if it is about another family. */
export function makeEvent (sources: Sources, stored: CommandRecord) {
  const source = sources.get(stored.family)
  if (source === undefined) return undefined
  const { family, url } = source
  // The command may have been for an item of another family.
  const owner = sources.get(stored.about?.family ?? family.name)?.family
  const record = toShown(family, stored, owner)
  const { action, about, revision, params = {}, changes = {}, principal } = record
  const item = encodeURIComponent(readTarget(family, record))
  const { createAction, deletion } = family.lifecycle ?? {}
  const change = (about === undefined ? action === createAction : revision === 1)
    ? 'created'
    : about === undefined && action === deletion?.operation.action
      ? 'deleted'
      : owner?.operations.get(action)?.operation.participle ?? 'changed'
  return {
    specversion: '1.0',
    id: `${family.name}/${item}/${revision}`,
    source: url,
    type: `${family.singular}.${change}`,
    subject: record.target,
    time: record.createdAt,
    datacontenttype: 'application/json',
    // Padded, since sequences are compared as texts.
    sequence: String(record.position).padStart(16, '0'),
    data: {
      params,
      changes,
      revision,
      ...(principal === undefined ? {} : { principal }),
      command: record.id,
      links: { item: `${url}/${item}` }
    }
  }
}

const secretStart = 'whsec_'

/** The prefix and the base64 of 24 to 64 bytes. */
export const secretPattern = `^${secretStart}(?:[A-Za-z0-9+/]{4}){8,21}(?:[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/]=))?$`

export function makeSecret (): string {
  return secretStart + randomBytes(32).toString('base64')
}

/** The headers of Standard Webhooks. */
export function signEvent (secret: string, id: string, body: string, now: number): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000))
  const key = Buffer.from(secret.slice(secretStart.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
