import { type Family, listExpandable } from '../../core/family/family.js'
import type { OrderedList } from '../../core/query/cursor.js'
import { compileGrammar } from '../../core/query/grammar.js'
import type { QueryLimits } from '../../core/query/values.js'
import { deletionList, feedList, logList, omitPrincipal } from '../../core/service/record.js'
import type { FamilyMount } from '../../representations/target.js'
import { keepMount, type Mount } from '../mount.js'
import { showMount } from './mounts.js'

export function compileGrammars (
  family: Family, limits: QueryLimits
): Pick<Mount, 'grammar' | 'logGrammar' | 'feedGrammar' | 'deletedGrammar'> {
  const lists = [logList, feedList, deletionList]
  const [log, feed, deleted] = (family.hiding?.hidesPrincipal === true
    ? lists.map(omitPrincipal)
    : lists) as [OrderedList, OrderedList, OrderedList]
  return {
    grammar: compileGrammar({ ...family, references: listExpandable(family) }, limits),
    logGrammar: compileGrammar(log, limits),
    feedGrammar: compileGrammar({ ...feed, key: 'position' }, limits),
    deletedGrammar: compileGrammar({ ...deleted, key: 'position' }, limits)
  }
}

/** The mount for callers from whom a part of the family is hidden. Made once for each such part. */
export function makeNarrowing (mount: Mount): Mount['as'] {
  const narrowed = new WeakMap<Family, Mount>()
  return family => {
    if (family === mount.family) return mount
    const known = narrowed.get(family)
    if (known !== undefined) return known
    let shown: FamilyMount | undefined
    const own = { family, ...compileGrammars(family, mount.grammar.limits) }
    const view: Mount = Object.create(mount, {
      ...Object.getOwnPropertyDescriptors(own),
      shown: {
        get () {
          shown ??= keepMount(showMount(view), view)
          return shown
        }
      }
    }) as Mount
    narrowed.set(family, view)
    return view
  }
}
