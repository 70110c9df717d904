import { logFields } from '../family/command-schema.js'
import type { Family } from '../family/family.js'
import type { NounOperation } from '../family/operation.js'
import type { Params } from '../family/params.js'
import type { Exchange } from '../mount/mount.js'
import type { FormAffordance, ItemAffordances, Link, Representation } from '../representations/representation.js'
import { listKinds } from '../representations/representation.js'
import type { CommandRecord } from '../service/command.js'
import type { Reader } from '../service/reader.js'
import { nameRecord, showCommand } from '../service/record.js'
import type { Id, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { Submission } from './form-fields.js'
import { explainRefusal, isText, makeForm } from './form-fields.js'
import { keepGranted, listOffers } from './offers.js'

/** What people can do with an item now. */
export async function affordItem (
  exchange: Exchange,
  item: Stored,
  reader: Reader,
  submission?: Submission
): Promise<ItemAffordances> {
  const { mount, request } = exchange
  const { family, urls, preconditions, representations } = mount
  const self = urls.item(request, item.id)
  // The same form of the same revision has the same key, so that what is sent twice is done once.
  const key = `${self} ${item.revision}`
  const makeNounForm = ({ name, noun, summary }: NounOperation, { schema, isPartial }: Params): FormAffordance => {
    const title = summary === undefined ? {} : { title: summary }
    // What is filled in shows what somebody else may be changing just now.
    const revision = isPartial || preconditions === 'required' ? { revision: item.revision } : {}
    const form = { name, ...title, action: `${self}/${noun}`, key, ...revision, schema }
    return makeForm(form, submission, isPartial ? item : undefined)
  }

  const offered = await listOffered(exchange, item)
  const operations = [...family.operations.values()]
    .filter(({ operation }) => offered.has(operation.action))
    .filter(({ params }) => !params.isPartial || params.fields.some(isText))
    .map(({ operation, params }) => makeNounForm(operation, params))
  const { deletion } = family.lifecycle ?? {}
  const remove = deletion !== undefined && offered.has(deletion.operation.action)
    ? makeNounForm(deletion.operation, deletion.params)
    : undefined
  return {
    kinds: listKinds(family.fields),
    trail: [{ kind: 'list', href: urls.collection(request), name: family.name }],
    others: linkOthers(representations, self),
    operations,
    ...(remove && { remove }),
    ...(family.writable && {
      log: {
        href: `${self}/commands`,
        entries: await findLastChanges(family, reader, item),
        kinds: listKinds(logFields)
      }
    }),
    ...explainRefusal(mount, submission, remove === undefined ? operations : [...operations, remove])
  }
}

// What its state allows, and the caller may do.
async function listOffered (exchange: Exchange, item: Stored): Promise<ReadonlySet<string>> {
  // The forms of a page are sent to the nouns.
  if (!exchange.mount.forms.has('noun')) return new Set()
  const allowed = listOffers(exchange, item).filter(({ reason }) => reason === undefined)
  const granted = await keepGranted(exchange, item, allowed)
  return new Set(granted.map(({ operation }) => operation.action))
}

/** What there is to do with an entry of the log: to go on from it. */
export function affordEntry ({ mount, request }: Exchange, target: Id, self: string): ItemAffordances {
  const { family, urls, representations } = mount
  const item = urls.item(request, target)
  return {
    kinds: listKinds(logFields),
    trail: [
      { kind: 'list', href: urls.collection(request), name: family.name },
      { kind: 'item', href: item, name: String(target) },
      { kind: 'log', href: `${item}/commands`, name: 'commands' }
    ],
    others: linkOthers(representations, self),
    operations: []
  }
}

function linkOthers (representations: readonly Representation[], self: string): Link[] {
  return representations
    .filter(each => each.interactive !== true && each.one !== undefined)
    .map(({ name }) => ({ href: `${self}?format=${name}`, title: name }))
}

const shownChanges = 10

// What changed nothing is in the whole log; here the page stays the same as long as the revision does. Each revision is
// one change, which is found by it among any number of other entries.
async function findLastChanges (family: Family, reader: Reader, { id, revision }: Stored): Promise<Members[]> {
  const revisions = Array.from({ length: shownChanges }, (_, index) => revision - index)
  const { items } = await reader.findLog(id, {
    where: [{ field: 'revision', op: 'eq', values: revisions }, { field: 'outcome', op: 'eq', values: ['done'] }],
    order: [{ field: 'revision', descending: true }, { field: 'id', descending: false }],
    offset: 0,
    limit: shownChanges,
    count: false
  })
  return (items as CommandRecord[]).map(entry => showCommand(family, entry, nameRecord(entry, reader.principal)))
}
