import type { Home, Live, LogEntry } from '../representations/affordances.js'
import { type Content, type Markup, markup } from './markup.js'
import { renderTimeline } from './timeline.js'
import { findDay, findDayOf, formatDate, type Words } from './words.js'

/** Entries under their days, in the zone of the page; the script moves them where it is that of the reader. */
export async function renderDays (words: Words, entries: readonly LogEntry[], level: 2 | 3 = 2): Promise<Markup> {
  const { texts } = words
  const days: { readonly day: string, readonly entries: LogEntry[] }[] = []
  for (const entry of entries) {
    const day = findDayOf(words, entry.at)
    const last = days.at(-1)
    if (last?.day === day) last.entries.push(entry)
    else days.push({ day, entries: [entry] })
  }
  const sections = await Promise.all(days.map(async ({ day, entries }) => markup`<section>
<h${level}>${nameDay(words, day)}</h${level}>
${await renderTimeline(words, entries)}
</section>
`))
  return markup`<div class="days" data-today="${texts.today}" data-yesterday="${texts.yesterday}">
${sections}</div>`
}

function nameDay (words: Words, day: string): string {
  if (day === findDay(words, 0)) return words.texts.today
  return day === findDay(words, 1) ? words.texts.yesterday : formatDate(words, day)
}

/** Empty until the script knows of something new. */
export function renderLive ({ texts }: Words, { href, actions, show, revision }: Live): Markup {
  const text = revision === undefined ? texts.newEntries('{}') : texts.changedNow('{}')
  const item = revision !== undefined && markup` data-revision="${revision}" data-someone="${texts.someone}"`
  return markup`<div class="live" aria-live="polite" data-follow="${href}"
data-actions="${actions.join(' ')}" data-text="${text}"${item}>
<p hidden><span></span> <a href="${show}">${revision === undefined ? texts.showNew : texts.showChange}</a></p>
</div>`
}

export async function renderRecent (words: Words, activity: Home['activity']): Promise<Content> {
  if (activity === undefined || activity.entries.length === 0) return undefined
  const { href, entries } = activity
  const { texts } = words
  return markup`<section class="recently" aria-labelledby="activity">
<h2 id="activity">${texts.activity}</h2>
${await renderDays(words, entries, 3)}
${href !== undefined && markup`<p><a href="${href}">${texts.allActivity}</a></p>`}
</section>`
}
