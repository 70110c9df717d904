import type { FieldCondition } from '../core/storage/storage.js'
import type { ItemTexts } from './item-texts.js'

/**
 * Every word that the pages say by themselves. A host replaces those it likes, all of them for another language:
 * `html({ texts: { lang: 'de', yes: 'ja', label: name => names[name] ?? name } })`. What is said of a request that was
 * refused is the problem's, as every representation has it.
 */
export interface Texts extends ItemTexts {
  /** The language of the pages, as in `<html lang>`. */
  readonly lang: string

  // Names and values.

  /** A field, an operation or a family as people read it: createdAt -> Created at. Other texts are given labels. */
  readonly label: (name: string) => string
  /** `2026-03-31` */
  readonly date: (text: string) => string
  /** `2026-03-31T12:00:00.000Z` */
  readonly moment: (text: string) => string
  readonly number: (value: number) => string
  /** One of the few words that a field, or the state of an item, can have. */
  readonly choice: (value: string) => string
  readonly yes: string
  readonly no: string
  /** In the place of a value that is not there. */
  readonly absent: string

  // Around every page.

  /** The title of a page in the browser. */
  readonly pageTitle: (heading: string, application: string) => string
  /** The name of the application where the host gives none, and of the page of all its families. */
  readonly application: string
  readonly home: string
  /** What the links to the families are called, and one of them. */
  readonly families: string
  readonly family: (label: string, version: string | undefined) => string
  readonly documentation: string
  /** How many items a family has, where that is known. */
  readonly items: (count: string) => string
  readonly atLeast: (count: string) => string
  /** What the way from the outside to a page is called. */
  readonly trail: string
  /** Before the links to other representations. */
  readonly otherFormats: string

  // Lists.

  readonly filter: string
  readonly applyFilter: string
  /** What the filters in use are called together, one of them, and one that need not hold where another does. */
  readonly activeFilters: string
  readonly condition: (label: string, op: FieldCondition['op'], value: string) => string
  readonly alternative: (condition: string) => string
  readonly removeFilter: (condition: string) => string
  readonly clearFilter: string
  /** The label of a field for the least value, for the greatest, and for a part of a text. */
  readonly from: (label: string) => string
  readonly to: (label: string) => string
  readonly has: (label: string) => string
  /** The choice of a filter that lets everything through. */
  readonly any: string
  readonly emptyList: string
  readonly emptyPage: string
  readonly noMatches: string
  /** Links to what there is, where a list is empty. */
  readonly firstPage: string
  readonly showAll: string
  readonly pages: string
  readonly pageNumber: (page: number) => string
  readonly total: (total: string) => string
  /** A link to the page that says how many there are in all. */
  readonly count: string
  /** Before the sizes that a page can have. */
  readonly perPage: string
  readonly previous: string
  readonly next: string
  /** Above the form for a new item. */
  readonly create: (singular: string) => string

  // Forms.

  /** The empty choice of what must be chosen, and of what need not. */
  readonly choose: string
  readonly chooseNone: string
  // Items.

  readonly item: (singular: string, title: string | undefined) => string

  // What was refused.

  readonly status: (status: number) => string
  readonly invalid: string
  readonly entered: string
  readonly more: (count: number) => string
  /** The subject where nothing smaller than the whole is wrong. */
  readonly it: string
  /** What is wrong with a field, as a problem says it. */
  readonly flaw: (detail: string) => string
  readonly sentence: (subject: string, detail: string) => string
  /** The title of a problem and its detail. */
  readonly changedMeanwhile: string
  readonly changedMeanwhileDetail: string
}
