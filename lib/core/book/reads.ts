import { type Family, findReferred, listExpandable } from '../family/family.js'
import { invalidQuery, notFound } from '../problems.js'
import { compileGrammar, type Grammar, type ItemPage, type PageOptions } from '../query/grammar.js'
import { type Moment, readMoment } from '../query/moment.js'
import { findItems, parseCallQuery, parseFind, pickReadable, programLimits, toItemPage } from '../service/arguments.js'
import { findBounded } from '../service/bounded.js'
import { intendToList, intendToRead } from '../service/caller.js'
import { type Find, findPage } from '../service/find-page.js'
import { lacksValues, notThen } from '../service/history.js'
import { authorizeReader, type Reader } from '../service/reader.js'
import { type CommandRecord, logList, nameRecord, omitPrincipal, showEntry } from '../service/record.js'
import type {
  CallOptions, FindOptions, GetOptions, LoggedCommand
} from '../service/service.js'
import type { Condition, Id, Stored } from '../storage/storage.js'
import { makePicker } from '../values/json.js'
import { makeExpand } from './expand.js'
import type { BookParts } from './source.js'

// The methods of a book that read.

const logGrammar = compileGrammar(logList, programLimits)
const logGrammarWithoutPrincipal = compileGrammar(omitPrincipal(logList), programLimits)

function chooseLogGrammar ({ hiding }: Family): Grammar {
  return hiding?.hidesPrincipal === true ? logGrammarWithoutPrincipal : logGrammar
}

/** An item as the caller may see it, and by what it was read. */
export async function findItem (
  book: BookParts, id: Id, options: CallOptions, rule: 'call' | 'get' = 'call'
): Promise<{ readonly item: Stored, readonly reader: Reader }> {
  const { family, source } = book
  const target = book.checkId(id)
  const reader = await authorizeReader(family, source.open(options, rule), intendToRead(family, target))
  const item = await reader.get(target)
  if (item === undefined) throw notFound(family.singular, id)
  return { item, reader }
}

export async function readOne (book: BookParts, id: Id, options: GetOptions) {
  const { expand = [], revision, at } = options
  const { item, reader } = revision === undefined && at === undefined
    ? await findItem(book, id, options, 'get')
    : await findPastItem(book, id, options)
  const { family } = reader
  const expandable = listExpandable(family)
  const flaw = expand.find(name => !expandable.includes(name))
  if (flaw !== undefined) throw invalidQuery([{ parameter: 'expand', detail: `${flaw} refers to no item` }])
  if (expand.length === 0) return pickReadable(family, item)
  const [shown = item] = await (await makeExpand(family, reader.called.caller, expand, { one: item }))([item])
  return pickReadable(family, shown)
}

/** An item as it was. */
async function findPastItem (book: BookParts, id: Id, { revision, at, ...options }: GetOptions) {
  const { family, source } = book
  const target = book.checkId(id)
  const reader = await authorizeReader(family, source.open(options, 'get'), intendToRead(family, target))
  const moment = readMoment({
    revision: revision === undefined ? undefined : String(revision),
    at: at instanceof Date ? writeDate(at) : at && String(at)
  }, family) as Moment
  const past = await reader.getPast(target, moment)
  if (past === undefined) throw notThen(family, target, moment)
  if (past.missing.length > 0) throw lacksValues(past.missing)
  return { item: past.item, reader }
}

function writeDate (date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

export async function readPage (
  book: BookParts, query: string | readonly Condition[], options: FindOptions
): Promise<ItemPage<never>> {
  const { family, source } = book
  const caller = source.open(options, 'find')
  const reader = await authorizeReader(family, caller, intendToList(family))
  const grammars = source.grammarsOf?.(reader.family)
  if (grammars === undefined) return await findItems(reader, query, options)
  return await findLimited(reader, grammars.grammar, query, options)
}

/** As the list of a mount: its pages have a limit, also of their length, and `fields` and `expand`. */
async function findLimited (
  reader: Reader, grammar: Grammar, query: string | readonly Condition[], options: PageOptions
): Promise<ItemPage<never>> {
  const { family, caller } = reader.called
  const parsed = parseFind(family, grammar, query, options, /^format$/)
  const { expand = [], fields = family.members } = parsed
  const hasLongItems = family.hasLongItems || expand.some(name => findReferred(family, name)?.hasLongItems)
  const page = await findBounded(each => findPage(query => reader.find(query), each), parsed, hasLongItems)
  if (expand.length === 0) return toItemPage(page, parsed, makePicker(fields)) as never
  const items = await (await makeExpand(family, caller, expand, {}))(page.items)
  return toItemPage({ ...page, items }, parsed, makePicker(fields)) as never
}

export async function readLog (book: BookParts, id: Id, options: FindOptions): Promise<ItemPage<LoggedCommand>> {
  const { family, source } = book
  if (!family.writable) book.refuseOperation('log')
  const target = book.checkId(id)
  const reader = await authorizeReader(family, source.open(options, 'find'), intendToRead(family, target))
  const grammars = source.grammarsOf?.(reader.family)
  const parsed = parseCallQuery(grammars?.logGrammar ?? chooseLogGrammar(reader.family), '', options)
  await reader.checkLog(target)
  const find: Find = query => reader.findLog(target, query)
  const isBounded = grammars !== undefined && family.hasLongCommands
  const page = await findBounded(each => findPage(find, each), parsed, isBounded)
  return toItemPage(page, parsed, entry => showLogged(reader, entry as CommandRecord))
}

export async function findLogged (
  book: BookParts, id: Id, command: string, options: CallOptions
): Promise<LoggedCommand> {
  const { family, source } = book
  if (!family.writable) book.refuseOperation('entry')
  const target = book.checkId(id)
  const reader = await authorizeReader(family, source.open(options, 'call'), intendToRead(family, target))
  await reader.checkLog(target)
  const entry = await reader.getFromLog(target, String(command))
  if (entry === undefined) throw notFound('command', String(command))
  return showLogged(reader, entry)
}

function showLogged ({ called: { family }, grant: { principal } }: Reader, entry: CommandRecord): LoggedCommand {
  return showEntry(family, entry, nameRecord(entry, principal)) as LoggedCommand
}
