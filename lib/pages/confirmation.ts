import { listChanges } from '../family/changes.js'
import type { FormBody } from '../http/body.js'
import type { Exchange } from '../mount/mount.js'
import type { ItemAffordances } from '../representations/representation.js'
import type { Command } from '../service/command.js'
import type { Stored } from '../storage/storage.js'
import { makeOperationForm, placeItem } from './item-affordances.js'
import { showChanges, showParams } from './log-entries.js'

/** What is asked before something is done to an item, in the place of everything else. */
export interface Question {
  readonly command: Command
  /** The item after it; undefined where it will be gone. */
  readonly after: Stored | undefined
  readonly sent: FormBody
}

export async function affordConfirmation (
  exchange: Exchange,
  item: Stored,
  { command, after, sent }: Question
): Promise<ItemAffordances> {
  const { mount: { family, urls }, request } = exchange
  const self = urls.item(request, item.id)
  const { lifecycle, operations } = family
  const action = command.action as string
  const { operation, params } = operations.get(action) ?? (lifecycle as NonNullable<typeof lifecycle>).deletion
  const { revision, ...form } = makeOperationForm(exchange, item, operation, params, {
    action: `${self}/${operation.noun}`,
    entered: sent.entries
  })
  const entered = [
    // As the page had them, so that what was sent before it asked is known again.
    ...(sent.formKey === undefined ? [] : [['_key', sent.formKey] as const]),
    ...(sent.revision === undefined ? [] : [['_revision', sent.revision.slice(1, -1)] as const]),
    ...sent.entries
  ]
  return {
    ...await placeItem(exchange, item.id),
    operations: [],
    unavailable: [],
    confirm: {
      form,
      item: self,
      entered,
      params: showParams(family, action, command.params),
      changes: after === undefined ? [] : showChanges(family, listChanges(family.ownFields, item, after))
    }
  }
}
