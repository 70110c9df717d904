/** One resource or one problem, or a page of resources, about to be shown. */
export type View = OneView | PageView | ProblemView

/** One resource about to be shown. */
export interface OneView {
  readonly kind: 'one'
  /** The singular of the family, or `command`. */
  readonly name: string
  /** The members to show, links included where the answer has them. */
  readonly document: Readonly<Record<string, unknown>>
}

/** A page of resources about to be shown. */
export interface PageView {
  readonly kind: 'page'
  /** The plural, as in the URL. */
  readonly name: string
  /** The singular, for one item of the page. */
  readonly singular: string
  readonly items: readonly Readonly<Record<string, unknown>>[]
  /** The whole page as JSON shows it, `items` among its members. */
  readonly document: Readonly<Record<string, unknown>>
}

/** A problem about to be shown. */
export interface ProblemView {
  readonly kind: 'problem'
  readonly document: Readonly<Record<string, unknown>>
}

/**
 * A way to show resources. What it has no function for, it cannot show, and the client's other choices are tried.
 *
 * @example
 * const yaml: Representation = {
 *   name: 'yaml', extension: 'yaml', mediaTypes: ['application/yaml'],
 *   one: view => stringify(view.document),
 *   page: view => stringify(view.document)
 * }
 */
export interface Representation {
  /** In `?format=` and in entity tags. */
  readonly name: string
  /** Behind the dot of a path suffix. */
  readonly extension: string
  /** What Accept can ask for; the first is what it is by itself. */
  readonly mediaTypes: readonly [string, ...string[]]
  /** The media type of its problems. */
  readonly problemType?: string
  readonly one?: (view: OneView) => string
  readonly page?: (view: PageView) => string
  readonly problem?: (view: ProblemView) => string
}
