/** What a value must be to be kept in a column of this type as it is; undefined where it is that. */
export function findFlaw (type: string, value: unknown): string | undefined {
  if (typeof value === 'string') return findFlawInText(type, value)
  return typeof value === 'number' ? findFlawInNumber(type, value) : undefined
}

function findFlawInText (type: string, value: string): string | undefined {
  const length = Number(/^character(?: varying)?\((\d+)\)$/.exec(type)?.[1] ?? Infinity)
  // PostgreSQL counts code points.
  return [...value].length > length ? `must have at most ${length} characters` : undefined
}

const ranges: Readonly<Record<string, readonly [number, number]>> = {
  smallint: [-(2 ** 15), 2 ** 15 - 1],
  integer: [-(2 ** 31), 2 ** 31 - 1],
  // Beyond, what is next to it is infinite.
  real: [-3.4028235e38, 3.4028235e38]
}

function findFlawInNumber (type: string, value: number): string | undefined {
  const range = Object.hasOwn(ranges, type) ? ranges[type] : undefined
  if (range !== undefined && (value < range[0] || value > range[1])) return `must be from ${range[0]} to ${range[1]}`
  const [, precision, scale] = /^numeric\((\d+),(-?\d+)\)$/.exec(type) ?? []
  if (precision === undefined) return undefined
  const before = Number(precision) - Number(scale)
  if (Math.abs(value) >= 10 ** before) return `must have at most ${before} digits before the point`
  return countDecimals(value) > Number(scale) ? `must have at most ${scale} digits after the point` : undefined
}

function countDecimals (value: number): number {
  const [digits = '', exponent = '0'] = String(value).split('e')
  return Math.max(0, (digits.split('.')[1] ?? '').length - Number(exponent))
}
