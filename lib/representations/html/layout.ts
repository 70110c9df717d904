import { Markup, markup } from './markup.js'
import type { Content } from './markup.js'

/** What a host can say of its pages. */
export interface HtmlOptions {
  /** What the application is called. Default: Dealbook. */
  readonly title?: string
  /** Where the title leads, if anywhere. */
  readonly home?: string
  /** CSS after ours. */
  readonly css?: string
}

/** A whole page around its content. */
export function layout (options: HtmlOptions, css: string, heading: string, links: Content, content: Content): string {
  const { title = 'Dealbook', home } = options
  return `<!DOCTYPE html>\n${markup`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${shorten(heading)} - ${title}</title>
<style>${new Markup(css)}</style>
</head>
<body>
<header><strong>${home === undefined ? title : markup`<a href="${home}">${title}</a>`}</strong>${links}</header>
<main>
<h1>${heading}</h1>
${content}
</main>
</body>
</html>`.text}\n`
}

function shorten (text: string): string {
  return text.length > 60 ? `${[...text].slice(0, 57).join('')}…` : text
}

/** createdAt -> Created at, min-age -> Min age */
export function label (name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`).replace(/[-_.]/g, ' ')
  return words[0]?.toUpperCase() + words.slice(1)
}

/** A value as people read it. */
export function valueText (value: unknown): Content {
  if (value === undefined || value === null) return markup`<span class="absent">none</span>`
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
