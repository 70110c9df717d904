import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Stored } from '../../core/storage/storage.js'
import type { OneView, PageView, Representation } from '../../representations/representation.js'
import type { FamilyMount, SentForm } from '../../representations/target.js'
import { FormBody } from '../body.js'
import { markItem } from '../conditional.js'
import { type Exchange, mountOf } from '../mount.js'
import { checkConditions, sendText } from '../reply.js'

/** A request that a representation answers by itself: what its `respond` and `submit` get. */
export interface Responding {
  readonly mount: FamilyMount
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** The representation that was chosen, and its media type. */
  readonly representation: Representation
  readonly mediaType: string
  /** The path suffix that chose it. */
  readonly suffix?: string | undefined
}

export function toExchange (responding: Responding): Exchange {
  const { mount, request, reply, representation, mediaType, suffix } = responding
  return { mount: mountOf(mount), request, reply, choice: { representation, mediaType }, suffix }
}

/** Sends a text as the representation that was chosen, with its headers. A client that does not read it is cut off. */
export function sendPage (responding: Responding, text: string): void {
  sendText(toExchange(responding), text)
}

/**
 * Throws the problem `precondition-failed` if the client asks for another revision. For what has no tag of its own,
 * such as a page that also depends on its reader, their language, other items and the clock.
 *
 * @param content of a tag; undefined if it only depends on the item
 */
export function checkRevision (
  responding: Responding,
  item: Pick<Stored, 'revision' | 'updatedAt'> & Partial<Pick<Stored, 'createdAt'>>,
  view: OneView | PageView,
  content?: unknown
): void {
  const exchange = toExchange(responding)
  const { family } = exchange.mount
  // Entries of a log, and tables, do not change with the family.
  const isItem = content === undefined && view.name === family.singular
  const ofShape = isItem ? family.tag + markItem(family, item) : undefined
  checkConditions(exchange, item, view, content, ofShape)
}

/** The form that a request sent, also where it was refused. */
export function findForm ({ body }: FastifyRequest): SentForm | undefined {
  return body instanceof FormBody ? body : undefined
}
