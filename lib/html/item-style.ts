/** The look of items, their operations and logs. */
export const itemStyle = `
.badge {
  display: inline-block; font-size: .875rem; font-weight: 500; line-height: 1.4; vertical-align: middle;
  white-space: nowrap; padding: .1rem .6rem;
  background: var(--panel); border: 1px solid var(--line); border-radius: 1rem
}
.message {
  background: var(--panel); border: 1px solid var(--accent); border-left-width: .4rem; border-radius: .5rem;
  padding: .75rem 1rem; margin: 1rem 0; font-weight: 600
}
.message p { margin: 0 }
.message:focus, .refused:focus { outline: none }
.operation { border: 1px solid var(--line); border-radius: .5rem; margin: 0 0 .5rem; max-width: 46rem }
.operation > summary { padding: .6rem 1rem; font-weight: 600 }
.operation.danger > summary { color: var(--bad) }
.operation > form { border: 0; border-top: 1px solid var(--line); border-radius: 0 0 .5rem .5rem }
.operation > form > .hint { margin: 0 0 .75rem }
.requests { margin: 1rem 0 0 }
.requests > summary { font-size: .875rem; padding: 0 }
.requests dl { display: block; margin-top: .5rem }
.requests dt { font-size: .875rem }
.curl {
  display: block; font-size: .8125rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .15rem 0 .75rem;
  padding: .5rem .75rem; background: var(--paper); border: 1px solid var(--line); border-radius: .3rem
}
button.plain, .confirm a { margin-left: .75rem }
button.plain { color: var(--ink); background: transparent; border-color: var(--faint) }
.confirm { margin-top: 1.5rem }
dialog {
  max-width: min(36rem, calc(100vw - 2rem)); color: var(--ink); background: var(--paper); border: 1px solid var(--line);
  border-radius: .5rem; padding: 1.25rem
}
dialog::backdrop { background: rgb(0 0 0 / .5) }
dialog dl { grid-template-columns: minmax(5rem, 9rem) 1fr; margin: 0 0 1rem; max-height: 50vh; overflow-y: auto }
dialog button { margin-bottom: .25rem }
.timeline { list-style: none; margin: 0; padding: 0 0 0 1.25rem; border-left: 2px solid var(--line) }
.timeline + h2 { margin-top: 1.25rem }
.timeline li { position: relative; padding-bottom: 1rem }
.timeline li::before {
  content: ""; position: absolute; left: -1.62rem; top: .45rem; width: .65rem; height: .65rem; border-radius: 50%;
  background: var(--accent); border: 2px solid var(--paper)
}
.timeline .refused { color: inherit; background: none; border: 0; padding: 0 0 1rem; margin: 0 }
.timeline .refused p { margin: 0 }
.timeline .refused strong { color: var(--bad) }
.timeline .refused a { color: var(--accent) }
.timeline .refused::before { background: var(--bad) }
.timeline .unchanged::before { background: var(--faint) }
.timeline p { margin: 0 }
.timeline dl { margin-top: .25rem; gap: 0 1rem; grid-template-columns: minmax(5rem, min(10rem, 35%)) 1fr }
.timeline dl + dl { margin-top: 0 }
.timeline dd { max-height: 6rem; overflow-y: auto }
.changes .before { color: var(--faint); text-decoration: line-through }
@media (max-width: 34rem) {
  button.plain, .confirm a { display: block; margin: .5rem 0 0 }
}
@media print {
  form, .operations, .message, dialog, nav, footer { display: none }
  body { max-width: none; padding: 0; color: #000; background: #fff }
  .timeline dd { max-height: none }
}
`
