import type { Planted } from '../planting.js'
import type { Role } from './checker.js'
import type { WalkName } from './walk-all.js'

/** A leak in a copy of the library, and a walk of the checker that finds it. */
export interface PlantedLeak extends Planted {
  readonly what: string
  readonly walk: WalkName
  /** Default: `clerk`. */
  readonly role?: Role
  readonly found: RegExp
}

export const plantedLeaks: Readonly<Record<string, PlantedLeak>> = {
  items: {
    what: 'items are shown with all of their members, which representations do not pick of lists and objects in them',
    file: 'core/family/narrow',
    text: 'if (hiding?.hidesFields !== true)',
    by: 'if (hiding?.hidesFields !== true || PLANTED)',
    walk: 'reads',
    found: /MARK/
  },
  changes: {
    what: 'entries of the log have all changes',
    file: 'core/service/shown',
    text: 'changes && keepChanges(getKnown(family), changes)',
    by: 'changes && (PLANTED ? changes : keepChanges(getKnown(family), changes))',
    walk: 'reads',
    found: /commands.*MARK/
  },
  'changes within': {
    what: 'of a field that is hidden in part, entries have all that its schema allows',
    file: 'core/service/shown',
    text: 'if (within === undefined || within === \'whole\')',
    by: 'if (within === undefined || within === \'whole\' || PLANTED)',
    walk: 'reads',
    found: /commands.*secret.*MARK/
  },
  params: {
    what: 'entries have the parameters of an operation that set something hidden',
    file: 'core/service/shown',
    text: 'params && isTouched ?',
    by: 'params && isTouched && !PLANTED ?',
    walk: 'reads',
    found: /commands.*MARK 9/
  },
  principal: {
    what: 'entries have who sent the command',
    file: 'core/service/shown',
    text: 'each?.hiding?.hidesPrincipal === true)',
    by: 'each?.hiding?.hidesPrincipal === true && !PLANTED)',
    walk: 'events',
    found: /MARK boss/
  },
  expand: {
    what: 'an item that another one refers to is whole',
    file: 'core/book/expand',
    text: 'family: reader.family, reader }',
    by: 'family: (PLANTED ? reader.forRules : reader).family, reader: PLANTED ? reader.forRules : reader }',
    walk: 'reads',
    found: /orders.*expand=good.*MARK/
  },
  titles: {
    what: 'the column of an export for people has a hidden title',
    file: 'core/book/expand',
    text: '{ members, presentation, hasLongItems } = family;',
    by: '{ members, presentation, hasLongItems } = PLANTED ? (reader = reader.forRules).family : family;',
    walk: 'reads',
    found: /orders.csv[^]*MARK/
  },
  problems: {
    what: 'a problem names what is hidden',
    file: 'core/service/granted',
    text: 'refusals.has(error))',
    by: 'refusals.has(error) || PLANTED)',
    walk: 'past',
    found: /goods\/5.*names \/code/
  },
  'problems of others': {
    what: 'a problem names what is hidden of another item',
    file: 'core/service/granted',
    text: '!isHosts && isHidden(reason)',
    by: '!isHosts && !PLANTED && isHidden(reason)',
    walk: 'writes',
    found: /orders.*labels.*names \/code/
  },
  past: {
    what: 'an item as it was is whole',
    file: 'core/service/reader',
    text: 'item: hideIn(this.family, renaming?.show(item) ?? item)',
    by: 'item: PLANTED ? item : hideIn(this.family, renaming?.show(item) ?? item)',
    walk: 'reads',
    found: /revision=.*MARK/
  },
  previews: {
    what: 'the page that asks for a confirmation shows another item as it is',
    file: 'http/responding/commands',
    text: 'after: hideIn(shown, after)',
    by: 'after: PLANTED ? after : hideIn(shown, after)',
    walk: 'writes',
    found: /shipments.*MARK/
  },
  states: {
    what: 'a refusal has a state that depends on something hidden',
    file: 'core/service/shown',
    text: '!hiding.states.has(state)',
    by: '(PLANTED || !hiding.states.has(state))',
    walk: 'writes',
    found: /MARK-best/
  },
  validators: {
    what: 'an ETag is the same for all readers',
    file: 'core/family/narrow',
    text: 'tag: `-$',
    by: 'tag: PLANTED ? whole.tag : `-$',
    walk: 'reads',
    found: /if-none-match.*304, not 200/
  },
  names: {
    what: 'filters have hidden fields',
    file: 'core/family/narrow',
    text: 'fields: keepShown(whole.fields)',
    by: 'fields: PLANTED ? whole.fields : keepShown(whole.fields)',
    walk: 'names',
    found: /cost/
  },
  narrowing: {
    what: 'responses to commands only hide what the grant of the command hides, not that of reading',
    file: 'core/service/reader',
    text: 'const shown = narrowFamily(family, hide);',
    by: 'const shown = PLANTED ? family : narrowFamily(family, hide);',
    walk: 'writes',
    role: 'uneven',
    found: /MARK/
  }
}

/** Families without what is hidden are kept: of each leak, there are others. */
export const unshared: Planted = {
  file: 'core/family/narrow',
  text: 'cache.get(JSON.stringify(paths),',
  by: 'cache.get(JSON.stringify([paths, globalThis.plantedBug]),'
}
