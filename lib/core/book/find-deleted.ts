import { Deletions } from '../feed/deletions.js'
import { compileGrammar, type ItemPage } from '../query/grammar.js'
import { parseCallQuery, programLimits, toItemPage } from '../service/arguments.js'
import { findBounded } from '../service/bounded.js'
import { intendToRead } from '../service/caller.js'
import { authorizeReader } from '../service/reader.js'
import { type CommandRecord, deletionList, nameRecord, showEntry } from '../service/record.js'
import type { FindDeletedOptions, LoggedCommand } from '../service/service.js'
import type { BookParts } from './source.js'

const deletedGrammar = compileGrammar({ ...deletionList, key: 'position' }, programLimits)

/** The method `findDeleted` of a book. */
export async function findDeletedOf (
  book: BookParts, options: FindDeletedOptions
): Promise<ItemPage<LoggedCommand>> {
  const { family, source } = book
  if (family.lifecycle?.deletion === undefined) book.refuseOperation('findDeleted')
  const reader = await authorizeReader(family, source.open(options, 'find'), intendToRead(family, undefined))
  const { called: { family: seen }, grant: { principal } } = reader
  const grammars = source.grammarsOf?.(reader.family)
  const parsed = parseCallQuery(grammars?.deletedGrammar ?? deletedGrammar, '', options)
  const deletions = new Deletions(reader)
  const page = await findBounded(each => deletions.findPage(each), parsed, grammars !== undefined)
  return toItemPage(page, parsed, entry =>
    showEntry(seen, entry as CommandRecord, nameRecord(entry as CommandRecord, principal)))
}
