// What the pages export beside `html`: their texts, and the types of what they show.
export { english } from './texts.js'
export type { Texts } from './texts.js'
export type { HtmlOptions } from './options.js'
export type { PageUser } from './layout.js'
export type {
  ActionChoice, ActiveFilter, ChangedItem, ChildItem, ChildList, ChildOperation, Confirmation, Crumb, FormAffordance,
  FormField, Home, HomeFamily, ItemAffordances, Link, Live, Many, ManyAffordance, ManyItem, PageAffordances,
  ReferenceField, Refusal, RelatedList, SampleRequest, Site, SiteFamily, UnavailableOperation
} from '../pages/affordances.js'
export type {
  Feedback, Kinds, LabelTable, LogEntry, LoggedItem, Past, Referred, RowReferences, ShownChange, ShownKind, ShownMember,
  ShownState, TakeBack, WrongState
} from '../pages/shown.js'
export type { ProblemParts, ShownOne, ShownPage, ShownProblem } from '../pages/views.js'
