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
.request { margin: 1rem 0 0 }
.request > summary { font-size: .875rem; padding: 0 }
.curl {
  display: block; font-size: .8125rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .15rem 0 .75rem;
  padding: .5rem .75rem; background: var(--paper); border: 1px solid var(--line); border-radius: .3rem
}
.confirm { margin-top: 1.5rem }
.confirm a { margin-left: .75rem }
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
  .confirm a { display: block; margin: .5rem 0 0 }
}
@media print {
  form, .operations, .message, nav, footer { display: none }
  body { max-width: none; padding: 0; color: #000; background: #fff }
  .timeline dd { max-height: none }
}
`
