import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../problems.js'
import type { Endpoint } from '../../http/routes.js'
import type { ParsedQuery } from '../../query/grammar.js'
import type { Condition, Found, Id, Query, Storage, Stored } from '../../storage/storage.js'
import { visible } from '../mount/access.js'
import { wishOf } from './send.js'
import { CommandMembers } from '../model/command.js'
import type { CommandRecord } from '../model/command.js'
import type { Family } from '../model/family.js'
import { describeEntry, describeLog } from '../openapi/writes.js'
import type { Mount } from '../mount/mount.js'
import type { Spoken } from '../model/operation.js'
import type { Grant } from '../mount/options.js'
import { withoutSuffix } from './links.js'
import { offerOfEntry, offerOfRows } from './offers.js'
import { sendPage } from './pages.js'
import { commandDocument, targetOf } from '../model/record.js'
import { sendOne } from './items.js'
import { readSuffixed, understand, understandOne } from './understand.js'
import { fieldsOf } from '../model/shape.js'
import { targetOfPath } from '../mount/paths.js'
import { splitUrl } from '../mount/urls.js'

/** The log of an item (`…/{id}/commands`) or, for an operation, the part of it that its noun names: pages and entries. */
export function logEndpoints (mount: Mount, operation?: Spoken): Endpoint[] {
  const path = `${mount.home}/:id/${operation?.noun ?? 'commands'}`
  return [
    { method: 'GET', path, schema: describeLog(mount, operation), handler: async (request, reply) => await readLog(mount, request, reply, operation) },
    {
      method: 'GET',
      path: `${path}.:extension`,
      schema: { hide: true },
      handler: async (request, reply) => await readLog(mount, request, reply, operation, (request.params as { extension: string }).extension)
    },
    { method: 'GET', path: `${path}/:command`, schema: describeEntry(mount, operation), handler: async (request, reply) => await readEntry(mount, request, reply, operation) }
  ]
}

async function readLog (mount: Mount, request: FastifyRequest, reply: FastifyReply, operation?: Spoken, suffix?: string): Promise<FastifyReply> {
  const { family, logGrammar, urls } = mount
  const choice = mount.chooser.choose('page', wishOf(request, suffix))
  const reading = understand(logGrammar, splitUrl(request).search, choice.representation)
  const id = targetOfPath(mount, request)
  const grant = await mount.authorize(request, { family: family.name, action: 'read', id, params: {} })
  const storage = await mount.storage(request)
  await refuseUnknown(mount, storage, id, grant)
  const path = urls.self(request)
  return await sendPage(request, reply, choice, reading, {
    name: operation?.noun ?? 'commands',
    singular: 'command',
    path,
    members: reading.fields ?? commandMembers(family),
    emptyList: mount.emptyList,
    find: async query => await entries(mount, storage, id, query, partOf(operation)),
    show: entry => only(reading, commandDocument(family, entry as CommandRecord)),
    offer: (items, hasNext) => offerOfRows({
      fields: logFields,
      path: withoutSuffix(path, suffix),
      reading,
      hasNext,
      representations: mount.representations,
      up: { href: urls.item(request, id), title: `The ${family.singular}` },
      address: index => urls.command(request, id, (items[index] as CommandRecord).id, operation?.noun)
    })
  })
}

async function readEntry (mount: Mount, request: FastifyRequest, reply: FastifyReply, operation?: Spoken): Promise<FastifyReply> {
  const { family } = mount
  const id = targetOfPath(mount, request)
  const grant = await mount.authorize(request, { family: family.name, action: 'read', id, params: {} })
  const storage = await mount.storage(request)
  await refuseUnknown(mount, storage, id, grant)
  const text = (request.params as { command: string }).command
  const isHere = (record: CommandRecord) => record.family === family.name && record.target === String(id) &&
    (operation === undefined || (record.action === operation.action && record.outcome !== 'refused'))
  const { item, suffix } = await readSuffixed(text, async commandId => {
    const record = await storage.get('commands', commandId) as CommandRecord | undefined
    return record !== undefined && isHere(record) ? record : undefined
  }) ?? {}
  if (item === undefined) throw new Problem('not-found', `There is no command "${text}" here`)
  return await sendEntry(mount, request, reply, item, suffix, operation?.noun)
}

/** Answers with one command. */
export async function sendEntry (mount: Mount, request: FastifyRequest, reply: FastifyReply, record: CommandRecord, suffix: string | undefined, noun?: string): Promise<FastifyReply> {
  const { family, urls } = mount
  const choice = mount.chooser.choose('one', wishOf(request, suffix))
  const reading = understandOne(mount.logGrammar, splitUrl(request).search, choice.representation)
  const target = targetOf(family, record)
  const links = { self: urls.command(request, target, record.id, noun), [family.singular]: urls.item(request, target) }
  return await sendOne(request, reply, choice, record, {
    kind: 'one',
    name: 'command',
    document: only(reading, { ...commandDocument(family, record), links }),
    affordances: async () => offerOfEntry(mount, request, record, links.self as string)
  })
}

// Of a noun's view, what was refused is no part: a refused hold is no hold.
function partOf (operation: Spoken | undefined): Condition[] {
  if (operation === undefined) return []
  return [{ field: 'action', op: 'eq', values: [operation.action] }, { field: 'outcome', op: 'ne', values: ['refused'] }]
}

async function entries (mount: Mount, storage: Storage, id: Id, query: Query, conditions: readonly Condition[]): Promise<Found> {
  const where: Condition[] = [
    { field: 'family', op: 'eq', values: [mount.family.name] },
    { field: 'target', op: 'eq', values: [String(id)] },
    ...conditions
  ]
  return await storage.find('commands', { ...query, where: [...query.where, ...where] })
}

// The log outlives its item; but whether a request may see what is gone, no condition can tell.
async function refuseUnknown (mount: Mount, storage: Storage, id: Id, grant: Grant): Promise<void> {
  const item: Stored | undefined = await visible(storage, mount.family.name, id, grant)
  if (item !== undefined) return
  const gone = (grant.where ?? []).length === 0 &&
    (await entries(mount, storage, id, { where: [], order: [{ field: 'id', descending: false }], offset: 0, limit: 1, count: false }, [])).items.length > 0
  if (!gone) throw new Problem('not-found', `There is no ${mount.family.singular} "${id}"`)
}

function only ({ fields }: ParsedQuery, document: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (fields === undefined) return document
  return Object.fromEntries(Object.entries(document).filter(([name]) => fields.includes(name)))
}

const logFields = fieldsOf(CommandMembers)

function commandMembers ({ singular }: Family): string[] {
  const [id, ...others] = Object.keys(CommandMembers.properties)
  return [id as string, singular, ...others]
}
