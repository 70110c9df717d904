import type { FastifyRequest } from 'fastify'
import type { NounOperation, Operation } from '../core/family/operation.js'
import type { Stored } from '../core/storage/storage.js'
import type { Members } from '../core/values/json.js'
import type { SampleRequest } from '../representations/item-view.js'

/** What a request is to say. */
export interface Saying {
  /** Undefined where an item is to be created. */
  readonly operation: NounOperation | Operation<Members> | undefined
  /** Undefined where it is to be created. */
  readonly item: Stored | undefined
  readonly params: Members
  /** An id for the command, in forms in which the client chooses one. */
  readonly command: string
}

/** Writes it as a request in one form; undefined where the form cannot say it. */
export type RequestWriter = (
  request: FastifyRequest,
  saying: Saying
) => Pick<SampleRequest, 'method' | 'url' | 'body'> & { readonly type?: string } | undefined

/** The forms of a mount in which something can be said, each by its name. */
export type RequestWriters = Map<string, RequestWriter>

/** Whether it is an operation with words for every form: a deletion has only its noun. */
export function hasAllWords (operation: Saying['operation']): operation is Operation<Members> {
  return operation !== undefined && 'verb' in operation
}
