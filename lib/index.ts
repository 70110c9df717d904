export * from './exports.js'
export { customers } from './customers.js'
export { dealbook, dealbook as default } from './dealbook.js'
export type { DealbookOptions } from './dealbook.js'
export { deals, defineOperation } from './deals/deals.js'
export type { Deal } from './deals/deals.js'
export { defineFamily, defineQuery, representations } from './families.js'
export type {
  ActionChoice, ActiveFilter, ChangedItem, Confirmation, Crumb, FormAffordance, FormField, Home, HomeFamily,
  ItemAffordances, Link, Live, Many, ManyAffordance, ManyItem, PageAffordances, ReferenceField, Refusal, RelatedList,
  SampleRequest, Site, SiteFamily, UnavailableOperation
} from './pages/affordances.js'
export type {
  Feedback, Kinds, LabelTable, LogEntry, LoggedItem, Referred, ShownChange, ShownKind, ShownMember, ShownState,
  WrongState
} from './pages/shown.js'
export type { ProblemParts, ShownOne, ShownPage, ShownProblem } from './pages/views.js'
export { html } from './html/html.js'
export type { HtmlOptions } from './html/html.js'
export type { PageUser } from './html/layout.js'
export { english } from './html/texts.js'
export type { Texts } from './html/texts.js'
