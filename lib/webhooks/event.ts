import { createHmac } from 'node:crypto'
import type { FamilyModel, FamilyMount, FollowedCommand } from '../index.js'
import { system } from './system.js'

/** A family that events are about. */
export interface EventSource {
  readonly family: FamilyMount['family']
  readonly model: FamilyModel
  /** Of its collection. */
  readonly url: string
}

/** By the names of the families. */
export type Sources = ReadonlyMap<string, EventSource>

/** An event of CloudEvents 1.0. */
export function makeEvent (sources: Sources, { model, url }: EventSource, entry: FollowedCommand) {
  const { about, revision, params, changes = {}, principal } = entry
  const id = String(entry[model.singular])
  const item = encodeURIComponent(id)
  return {
    specversion: '1.0',
    id: `${model.name}/${item}/${revision}`,
    source: url,
    type: `${model.singular}.${nameChange(sources, model, entry)}`,
    subject: id,
    time: entry.createdAt,
    datacontenttype: 'application/json',
    // Padded, since sequences are compared as texts.
    sequence: String(entry.position).padStart(16, '0'),
    data: {
      // Those of a command for an item of a family that is not reported on are not sent.
      params: about === undefined || sources.has(about.family) ? params ?? {} : {},
      changes,
      revision,
      ...(principal === undefined ? {} : { principal }),
      command: entry.id,
      links: { item: `${url}/${item}` }
    }
  }
}

function nameChange (sources: Sources, model: FamilyModel, { about, action, revision }: FollowedCommand): string {
  if (about !== undefined && revision === 1) return 'created'
  if (action === model.eraseAction) return 'erased'
  // The command may have been for an item of another family.
  const owner = about === undefined ? model : sources.get(about.family)?.model
  const done = owner?.actions.find(each => each.action === action)
  if (about === undefined && done?.kind === 'create') return 'created'
  if (about === undefined && done?.kind === 'remove') return 'deleted'
  return done?.words.participle ?? 'changed'
}

const secretStart = 'whsec_'

/** The prefix and the base64 of 24 to 64 bytes. */
export const secretPattern = `^${secretStart}(?:[A-Za-z0-9+/]{4}){8,21}(?:[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/]=))?$`

export function makeSecret (): string {
  return secretStart + system.randomBytes(32).toString('base64')
}

/** The headers of Standard Webhooks. */
export function signEvent (secret: string, id: string, body: string, now: number): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000))
  const key = Buffer.from(secret.slice(secretStart.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
