import type { TObject, TProperties } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { Book } from '../../core/book/book.js'
import { makeBook } from '../../core/book/make-book.js'
import { callRules, checkCallOptions } from '../../core/service/arguments.js'
import { logOutcome, type Mount } from '../mount.js'
import { explainEnd, hasEnded } from '../routes.js'

// Who calls, and until when, is known from the request; a follower outlives its deadline, and needs an end.
const bookRules = new Map(Object.entries(callRules).map(([name, rule]) => {
  const { principal, signal, ...own } = rule.properties as TProperties
  if (name !== 'follow') return [name, { ...rule, properties: own } as TObject]
  return [name, { ...rule, properties: { ...own, signal }, required: ['signal'] } as TObject]
}))

/** The caller is that of the request, which has a deadline of its own. */
export function openBook (mount: Mount, request: FastifyRequest): Book {
  const { family, preconditions, retirement, caller } = mount
  return makeBook(family, {
    grammarsOf: mount.as,
    needsRevision: preconditions === 'required',
    maxCommands: mount.maxCommands ?? 100,
    note (outcome) { logOutcome({ mount, request }, outcome) },
    open (options, rule) {
      checkCallOptions(family, options, bookRules.get(rule) as TObject)
      if (hasEnded(retirement)) throw explainEnd(retirement)
      return caller(request)
    }
  })
}
