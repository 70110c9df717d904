// Bars in panels, as an SVG that needs no library and can be read on light and on dark pages.
const width = 860
const columns = 2
const [labelWidth, barWidth] = [150, 200]
const [rowHeight, headHeight, gap] = [17, 34, 12]

const style = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .note { fill: #656d76 }
  .bar { fill: #afb8c1 }
  .ours { fill: #1f7a4d }
  .line { stroke: #656d76; stroke-dasharray: 2 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .note { fill: #8d96a0 }
    .bar { fill: #57606a }
    .ours { fill: #3fb27f }
    .line { stroke: #8d96a0 }
  }`

/**
 * Each panel has a title and bars: label, value, text, and whether it is ours. A bar that is longer than `limit` is cut
 * and shows that; `mark` draws a line at a value.
 */
export function plotBars ({ title, note, panels, limit, mark }) {
  const rows = []
  for (let start = 0; start < panels.length; start += columns) rows.push(panels.slice(start, start + columns))
  const heightOf = row => headHeight + Math.max(...row.map(({ bars }) => bars.length)) * rowHeight + gap
  let top = headHeight + gap
  const drawn = rows.flatMap(row => {
    const here = top
    top += heightOf(row)
    return row.map((panel, column) => drawPanel(panel, { limit, mark, left: column * width / columns, top: here }))
  })
  const about = `viewBox="0 0 ${width} ${top}" role="img" aria-label="${escape(title)}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${about}>
<style>${style}
</style>
<text class="title" x="8" y="20">${escape(title)}</text>
<text class="note" x="8" y="38">${escape(note)}</text>
${drawn.join('\n')}
</svg>
`
}

function drawPanel ({ title, bars }, { limit, mark, left, top }) {
  const longest = limit ?? Math.max(...bars.map(({ value }) => value))
  const zero = left + labelWidth
  const lengthOf = value => Math.min(value, longest) / longest * barWidth
  const lines = bars.map(({ label, value, text, isOurs }, index) => {
    const y = top + headHeight + index * rowHeight
    const length = lengthOf(value)
    const cut = value > longest ? `<path d="M${zero + length - 14} ${y + 13}l5 -13h4l-5 13z" fill="Canvas"/>` : ''
    const shape = `x="${zero}" y="${y + 1}" width="${length.toFixed(1)}" height="12" rx="2"`
    return `<text x="${zero - 6}" y="${y + 11}" text-anchor="end">${escape(label)}</text>` +
      `<rect class="${isOurs ? 'ours' : 'bar'}" ${shape}/>${cut}` +
      `<text x="${(zero + length + 5).toFixed(1)}" y="${y + 11}">${escape(text)}</text>`
  })
  const at = (zero + lengthOf(mark ?? 0)).toFixed(1)
  const bottom = top + headHeight + bars.length * rowHeight
  const line = mark === undefined ? '' : `<path class="line" d="M${at} ${top + headHeight - 4}V${bottom}"/>`
  return `<text class="title" x="${left + 8}" y="${top + 18}">${escape(title)}</text>${lines.join('\n')}${line}`
}

const escape = text => text.replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`)
