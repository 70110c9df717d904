import { Deletions } from '../../core/feed/deletions.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import { intendToRead } from '../../core/service/caller.js'
import { type CommandRecord, nameRecord, showEntry } from '../../core/service/record.js'
import { makePicker } from '../../core/values/json.js'
import type { Mount } from '../mount.js'
import { listMembers } from '../reads/log.js'
import { findDownload, type Listing, loadPage } from '../reads/page.js'
import { type Loading, parseQuery, type Read, readEndpoints } from '../reads/read.js'
import type { Endpoint } from '../routes.js'

/** `GET …/commands/deleted`: what is deleted now. */
export function deletedEndpoints (mount: Mount): Endpoint[] {
  if (mount.family.lifecycle?.deletion === undefined) return []
  return readEndpoints(deletedRead(mount), `${mount.home}/commands/deleted`, { kind: 'deleted' })
}

function deletedRead (mount: Mount): Read<ParsedQuery> {
  return {
    mount,
    kind: 'page',
    noun: mount.family.singular,
    intend: () => intendToRead(mount.family, undefined),
    aim: () => ({ kind: 'deleted' }),
    parse: (search, { deletedGrammar }) => parseQuery(deletedGrammar, search),
    load: async loading => await loadPage(listDeleted(loading, loading.query).listing, loading.representation)
  }
}

interface ListedDeletions {
  readonly listing: Listing
  readonly deletions: Deletions
}

/** A page of the deletions that hold. */
export function listDeleted (
  { mount, request, reader, representation }: Loading<unknown>, parsed: ParsedQuery
): ListedDeletions {
  const { family } = mount
  const deletions = new Deletions(reader)
  const members = parsed.fields ?? listMembers([mount])
  const pick = makePicker(members)
  const listing: Listing = {
    mount,
    parsed,
    name: 'commands',
    singular: 'command',
    members,
    isBare: false,
    download: findDownload(request, representation),
    hasLongItems: true,
    reader,
    find: deletions.makeFind(),
    findPage: parsed => deletions.findPage(parsed),
    show: entry => pick(showEntry(family, entry as CommandRecord,
      nameRecord(entry as CommandRecord, reader.grant.principal)))
  }
  return { listing, deletions }
}
