/** Reads CSV as RFC 4180 says it is written. */
export function parseCsv (text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/gy
  while (cell.lastIndex < text.length) {
    const from = cell.lastIndex
    const parts = cell.exec(text)
    if (parts === null) throw new SyntaxError(`no CSV from ${from}: ${JSON.stringify(text.slice(from, from + 50))}`)
    const [, value, end] = parts as unknown as [string, string, string]
    row.push(value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value)
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}
