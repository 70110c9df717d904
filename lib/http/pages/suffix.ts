import type { Exchange } from '../mount.js'

/** The address with the suffix that the page was asked for with, so that who began with `….html` stays with it. */
export function keepSuffix ({ suffix }: Pick<Exchange, 'suffix'>, href: string): string {
  return suffix === undefined ? href : `${href}.${suffix}`
}

/** The path in which Accept, or a format, chooses the representation. */
export function removeSuffix (path: string, suffix: string | undefined): string {
  return suffix === undefined ? path : path.slice(0, -suffix.length - 1)
}
