import { listChanges } from '../../core/family/changes.js'
import type { Family, Lifecycle } from '../../core/family/family.js'
import { intendToRead } from '../../core/service/caller.js'
import type { Command } from '../../core/service/command.js'
import type { Decision } from '../../core/service/decide.js'
import type { LoadedOther } from '../../core/service/others.js'
import { matcher } from '../../core/storage/match.js'
import type { Stored } from '../../core/storage/storage.js'
import type { ChangedItem, ShownChange } from '../../representations/item-view.js'
import type { ItemAffordances } from '../../representations/representation.js'
import type { FormBody } from '../body.js'
import type { Exchange } from '../mount.js'
import { toProblem } from '../to-problem.js'
import { placeItem, trailToItem } from './item-affordances.js'
import { showChanges, showParams } from './log-entries.js'

/** What a page asks before something is done to an item. */
export interface Question {
  readonly command: Command
  readonly decision: Decision & { readonly outcome: 'done' }
  /** The other items that it needs. */
  readonly others: readonly LoadedOther[]
  readonly sent: FormBody
}

export async function affordConfirmation (
  exchange: Exchange,
  item: Stored,
  { command, decision: { after, others: changed }, others, sent }: Question
): Promise<ItemAffordances> {
  const { mount: { family, urls }, request } = exchange
  const self = urls.item(request, item.id)
  const action = command.action as string
  const { name, noun, summary: title, final } =
    family.operations.get(action)?.operation ?? (family.lifecycle as Lifecycle).deletion.operation
  return {
    ...await placeItem(exchange, item.id),
    trail: trailToItem(exchange, item.id, item),
    operations: [],
    unavailable: [],
    confirm: {
      form: { name, singular: family.singular, title, final, action: `${self}/${noun}` },
      item: self,
      // As the page had them, so that what was sent before it asked is known again.
      entered: [
        ...(sent.formKey === undefined ? [] : [['_key', sent.formKey] as const]),
        ...(sent.revision === undefined ? [] : [['_revision', sent.revision.slice(1, -1)] as const]),
        ...sent.entries
      ],
      params: showParams(family, action, command.params),
      changes: after === undefined ? [] : showDifference(family, item, after),
      others: await showOthers(exchange, others, changed)
    }
  }
}

function showDifference (family: Family, before: Stored, after: Stored): ShownChange[] {
  return showChanges(family, listChanges(family.ownFields, before, after))
}

/** The others that change, as far as the caller may read them before and after it. */
async function showOthers (
  exchange: Exchange,
  others: readonly LoadedOther[],
  changed: ReadonlyMap<string, Stored> = new Map()
): Promise<ChangedItem[]> {
  const { mount, request } = exchange
  const shown = await Promise.all(others.map(async (other): Promise<ChangedItem[]> => {
    const { family, id, current } = other
    const after = changed.get(other.name)
    if (after === undefined || !await mayRead(exchange, other, [current, after])) return []
    const there = family === mount.family ? mount : mount.neighbours.find(family.name, mount)
    return [{
      singular: family.singular,
      title: String(current[family.presentation.title] ?? id),
      href: there?.urls.item(request, id),
      changes: showDifference(family, current, after)
    }]
  }))
  return shown.flat()
}

// Being allowed to change it is not enough.
async function mayRead (
  { request }: Exchange,
  { family, caller, id }: LoadedOther,
  items: readonly Stored[]
): Promise<boolean> {
  try {
    const { where = [] } = await caller.authorize(intendToRead(family, id))
    return items.every(matcher(where))
  } catch (error) {
    const { statusCode, cause } = toProblem(error)
    if (statusCode >= 500) request.log.error({ err: cause ?? error }, 'What else would change cannot be shown')
    return false
  }
}
