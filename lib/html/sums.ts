const amount = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/

/** The exact sum of numbers, and of decimals as texts; undefined if one of them is neither. */
export function sumExactly (values: readonly unknown[]): string | undefined {
  const parts = values.map(value => amount.exec(String(value)))
  const terms = parts.flatMap(part => {
    if (part === null) return []
    const [, sign = '', whole = '', fraction = '', exponent = '0'] = part
    return [{ digits: BigInt(`${sign}${whole}${fraction}`), decimals: fraction.length - Number(exponent) }]
  })
  if (terms.length < values.length) return undefined
  const scale = Math.max(0, ...terms.map(({ decimals }) => decimals))
  const sum = terms.reduce((sum, { digits, decimals }) => sum + digits * 10n ** BigInt(scale - decimals), 0n)
  const text = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0')
  const point = text.length - scale
  return `${sum < 0n ? '-' : ''}${text.slice(0, point)}${scale === 0 ? '' : `.${text.slice(point)}`}`
}
