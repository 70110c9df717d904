/** The words of items: what can be done with them, what was done, what is asked before. Names come as labels. */
export interface ItemTexts {
  /** What a button does: Cancel, Deal -> Cancel the deal. */
  readonly submit: (operation: string, singular: string) => string
  /** The heading of the operations that are allowed now. */
  readonly operations: string
  /** The heading of those that are not. */
  readonly unavailable: string
  /** The heading of the members that the service gives. */
  readonly technical: string

  // What was done: the message on the page that follows, and in the log.

  readonly created: string
  readonly deleted: string
  /** What any other operation did, by its participle. */
  readonly done: (participle: string) => string
  readonly revision: (revision: number) => string
  readonly unchanged: string
  /** @param operation what its button says */
  readonly refused: (operation: string) => string
  /** Why the state of an item does not allow an operation. */
  readonly wrongState: (singular: string, state: string | undefined) => string
  /** @param operations what the buttons of those say that it allows */
  readonly possible: (operations: readonly string[]) => string
  /** Where somebody else has changed the item since. */
  readonly changedSince: (revision: number) => string
  /** In the title of a page whose form was refused. */
  readonly notDone: string

  // What is asked before.

  /** @param question what the button says */
  readonly ask: (question: string) => string
  readonly final: string
  /** What is not done. */
  readonly leave: string
  /** Before what was entered, and before what will change. */
  readonly yourEntries: string
  readonly whatChanges: string
  /** Before another item that changes with it. */
  readonly changesToo: string
  readonly willBeGone: (singular: string) => string

  // The log.

  readonly log: string
  /** A log, or a part of it such as its holds, and the item that it is of. */
  readonly partOf: (part: string, item: string) => string
  readonly wholeLog: string
  readonly wasDeleted: string
  readonly logOfDeleted: string
  readonly by: (principal: string) => string
  /** The item that it was done to, in the log of another that changed with it. */
  readonly togetherWith: (item: string) => string
  /** Of a member whose values were too long to be kept. */
  readonly changed: string

  // A form as a request.

  readonly asRequest: string
  readonly asRequestHint: string
  /** The name of a form in which it is said. */
  readonly form: (form: string) => string
}

// Participles that are others in addresses than people say.
const irregular: Readonly<Record<string, string>> = { Holded: 'Held', Unholded: 'Released' }

/** What they are where a host says nothing. */
export const itemEnglish: ItemTexts = {
  submit: (operation, singular) => operation.includes(' ') ? operation : `${operation} the ${lowerFirst(singular)}`,
  operations: 'What can be done now',
  unavailable: 'What cannot be done now',
  technical: 'For the record',
  created: 'Created.',
  deleted: 'Deleted.',
  done: participle => `${irregular[participle] ?? participle}.`,
  revision: revision => `Revision ${revision}.`,
  unchanged: 'Nothing changed.',
  refused: operation => `Refused: ${lowerFirst(operation)}.`,
  wrongState: (singular, state) => state === undefined
    ? `Not possible for this ${lowerFirst(singular)} now.`
    : `Not possible while the ${lowerFirst(singular)} is ${state}.`,
  possible: operations => operations.length === 0
    ? 'Nothing is possible now.'
    : `Possible now: ${operations.map(lowerFirst).join(', ')}.`,
  changedSince: revision => `It has been changed since, and is at revision ${revision}.`,
  notDone: 'Not done.',
  ask: question => `${question}?`,
  final: 'This cannot be undone.',
  leave: 'No, leave it as it is',
  yourEntries: 'What you entered',
  whatChanges: 'What will change',
  changesToo: 'What will change with it',
  willBeGone: singular => `The ${lowerFirst(singular)} will be gone. Its log stays.`,
  log: 'Log',
  partOf: (part, item) => `${part} of ${item}`,
  wholeLog: 'The whole log',
  wasDeleted: 'It was there once.',
  logOfDeleted: 'Its log',
  by: principal => `by ${principal}`,
  togetherWith: item => `together with ${lowerFirst(item)}`,
  changed: 'changed',
  asRequest: 'As a request',
  asRequestHint: 'Each of these does the same as the button. Where nothing is entered, the values are examples.',
  form: form => formNames[form] ?? form
}

const formNames: Readonly<Record<string, string>> = {
  noun: 'As the button does it',
  lifecycle: 'On the resource itself',
  verb: 'By its verb',
  participle: 'By its participle',
  update: 'As an update with an action',
  attributes: 'As attributes',
  command: 'As a command of the item',
  commands: 'As a command',
  action: 'By its action'
}

/** Deal -> deal */
export function lowerFirst (text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
