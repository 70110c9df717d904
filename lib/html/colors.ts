// Contrast as in WCAG 2.2, 1.4.3. Few lines, so that no package is needed.

/** The background of pages, light and dark. */
export const papers = ['#ffffff', '#14171a'] as const

const black = '#000000'
const white = '#ffffff'

/** Enough for text. */
const enough = 4.5

export function isColor (text: unknown): text is string {
  return typeof text === 'string' && /^#([\da-f]{3}|[\da-f]{6})$/i.test(text)
}

function readColor (text: string): number[] {
  const digits = text.length === 4 ? text.slice(1).replace(/./g, '$&$&') : text.slice(1)
  return [0, 2, 4].map(start => Number.parseInt(digits.slice(start, start + 2), 16))
}

function measureLight (color: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = color.map(part => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

export function measureContrast (one: string, other: string): number {
  const [low = 0, high = 0] = [one, other].map(color => measureLight(readColor(color))).sort((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

/** The text that can be read on a colour: black or white. */
export function findInk (color: string): string {
  return measureContrast(color, white) >= measureContrast(color, black) ? white : black
}

/** The nearest shade of a colour that can be read on a background. */
export function adjustColor (color: string, paper: string): string {
  const towards = readColor(findInk(paper))
  const parts = readColor(color)
  for (let share = 0; share < 1; share += 0.02) {
    const adjusted = parts.map((part, index) => Math.round(part + ((towards[index] ?? 0) - part) * share))
    const text = `#${adjusted.map(part => part.toString(16).padStart(2, '0')).join('')}`
    if (measureContrast(text, paper) >= enough) return text
  }
  return findInk(paper)
}
