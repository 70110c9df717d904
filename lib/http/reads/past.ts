import type { FastifyRequest } from 'fastify'
import { makeExpand } from '../../core/book/expand.js'
import type { Moment } from '../../core/query/moment.js'
import { lacksValues } from '../../core/service/history.js'
import type { PastItem } from '../../core/service/reader.js'
import type { Id } from '../../core/storage/storage.js'
import { makePicker } from '../../core/values/json.js'
import { markItem } from '../conditional.js'
import { linkItem, type Mount, showItem } from '../mount.js'
import { sendOne } from '../reply.js'
import type { Answer, Loading, OneQuery } from './read.js'

/** An item as it was; undefined if it did not exist then, or not for the caller. */
export async function loadPast (
  mount: Mount, { request, caller, reader, intent }: Loading<unknown>, { fields, expand }: OneQuery, when: Moment
): Promise<Answer | undefined> {
  const { family } = mount
  const past = await reader.getPast(intent.id as Id, when)
  if (past === undefined) return undefined
  const { item, missing } = past
  const lacking = missing.filter(name => fields === undefined || fields.includes(name))
  if (lacking.length > 0) throw lacksValues(lacking)
  // The items that it refers to are shown as they are now.
  const expandOne = expand && await makeExpand(family, caller, expand, { one: item })
  const expanded = expandOne && (await expandOne([item]))[0]
  const document = fields === undefined
    ? { ...showItem(mount, request, item, expanded), links: linkPast(mount, request, past) }
    : makePicker(fields)(expanded ?? item)
  const view = { kind: 'one', name: family.singular, document, mount: mount.shown } as const
  // Its content may change after all: with the fields of the family, and with what the log has of it.
  return exchange => sendOne(exchange, item, view, true, family.tag + markItem(family, item))
}

function linkPast (
  mount: Mount, request: FastifyRequest, { item, isDeleted, prev, next }: PastItem
): Readonly<Record<string, string>> {
  const { self: current, operations, ...links } = linkItem(mount, request, item)
  const at = (revision: number): string => `${current}?revision=${revision}`
  return {
    ...links,
    self: at(item.revision),
    ...!isDeleted && { current },
    ...prev !== undefined && { prev: at(prev) },
    ...next !== undefined && { next: at(next) }
  }
}
