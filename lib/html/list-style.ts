/** The look of lists: filters, rows, the pages around them; on a phone, each row is a card. */
export const listStyle = `
.tools { display: flex; flex-wrap: wrap; gap: .5rem; margin: 0 0 1rem }
.tools > details { margin: 0 }
.tools > details[open] { flex-basis: 100% }
.tools > details > summary {
  display: inline-block; list-style: none; min-height: 2.5rem; padding: .4rem 1rem; border-radius: .3rem;
  border: 1px solid var(--faint); color: var(--ink); font-weight: 600
}
.tools > details > summary::-webkit-details-marker { display: none }
.tools > details > summary::after { content: "▾"; margin-left: .5rem; font-weight: 400 }
.tools > details[open] > summary { margin-bottom: .5rem }
.tools > details[open] > summary::after { content: "▴" }
.tools > .create > summary { color: var(--on-accent); background: var(--accent); border-color: var(--accent) }
.inputs { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); gap: 0 1rem }
.filters {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(11rem, 100%), 1fr)); gap: .75rem;
  align-items: start
}
.filters .apply { grid-column: 1 / -1 }
.filters .field { margin-bottom: 0 }
.chips ul { display: flex; flex-wrap: wrap; gap: .5rem; margin: 0 0 1rem; padding: 0; list-style: none }
.chips a {
  display: inline-block; border: 1px solid var(--line); border-radius: 1rem; padding: .15rem .75rem;
  color: var(--ink); background: var(--panel); text-decoration: none; max-width: 100%
}
.chips a:hover { border-color: var(--accent) }
.chips a.clear {
  padding-inline: .25rem; border-color: transparent; background: none; color: var(--accent); text-decoration: underline
}
.chips span { color: var(--faint) }
.home {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr)); gap: 1rem;
  margin: 0; padding: 0; list-style: none
}
.home > li { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem }
.home h2 { margin: 0 }
.home p { margin: .25rem 0 0; color: var(--faint) }
.states { display: flex; flex-wrap: wrap; gap: .35rem 1rem; margin: .75rem 0 0; padding: 0; list-style: none }
.states .badge { background: var(--paper); color: inherit }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
table.few { width: auto; min-width: min(100%, 32rem) }
th, td { text-align: start; vertical-align: top; padding: .5rem 1.5rem .5rem 0; border-bottom: 1px solid var(--line) }
th:last-child, td:last-child { padding-right: 0 }
th { white-space: nowrap; font-size: .875rem }
th a { color: inherit; text-decoration: none }
th a:hover { text-decoration: underline }
th[aria-sort] a { color: var(--accent) }
tbody tr:hover { background: var(--panel) }
td { max-width: 22rem; overflow-wrap: anywhere }
td > div {
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; line-clamp: 2; overflow: hidden
}
td a { text-decoration-thickness: 1px; text-underline-offset: .2em }
td a:focus-visible { outline-offset: -3px }
td.title { min-width: 8rem; font-weight: 600 }
td.long { max-width: 10rem }
td.long > div { display: block; text-overflow: ellipsis; white-space: nowrap }
.number { text-align: right }
td.number, td.moment { font-variant-numeric: tabular-nums }
td.moment { white-space: nowrap }
.empty { padding: 1.5rem 0; color: var(--faint) }
nav.pages {
  display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; margin: 1rem 0; align-items: baseline; font-size: .9375rem
}
nav.pages .size { color: var(--faint) }
nav.pages .size + .size { margin-left: auto }
nav.pages strong { color: var(--ink) }
@media (max-width: 40rem) {
  .wide { overflow-x: visible }
  .wide thead {
    position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap
  }
  .wide table, .wide tbody { display: block }
  .wide tbody tr {
    display: block; border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem; margin-bottom: .75rem
  }
  .wide td {
    display: flex; gap: 1rem; justify-content: space-between; border: 0; padding: .15rem 0; max-width: none;
    text-align: end; white-space: normal
  }
  .wide td::before { content: attr(data-label); color: var(--faint); font-weight: 400; flex: none; max-width: 50% }
  .wide td > div { min-width: 0 }
  .wide td.title { text-align: start; font-size: 1.0625rem }
  .wide td.title::before { content: none }
  nav.pages .size + .size { margin-left: 0 }
}
`
