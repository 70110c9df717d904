import { invalidQuery } from '../problems.js'
import { dateTimeRule, readDateTime } from '../values/formats.js'

/** When an item is wanted: after a change, or at a time, `YYYY-MM-DDTHH:mm:ss.sssZ`. */
export type Moment =
  { readonly revision: number, readonly at?: undefined } | { readonly revision?: undefined, readonly at: string }

type Given = { readonly [K in keyof Moment]?: string | undefined }

export const momentNames: readonly (keyof Moment)[] = ['revision', 'at']

/** Undefined if neither is given. Throws what is wrong with them. */
export function readMoment (
  { revision, at }: Given, family: { readonly name: string, readonly writable: boolean }
): Moment | undefined {
  const [parameter] = momentNames.filter(name => ({ revision, at })[name] !== undefined)
  if (parameter === undefined) return undefined
  const refuse = (detail: string): never => { throw invalidQuery([{ parameter, detail }]) }
  if (!family.writable) return refuse(`${parameter} cannot be used: ${family.name} have no log`)
  if (revision !== undefined && at !== undefined) return refuse('Give revision or at, not both')
  if (revision !== undefined) {
    const isRevision = /^[1-9]\d*$/.test(revision) && Number.isSafeInteger(Number(revision))
    return isRevision ? { revision: Number(revision) } : refuse('revision must be a positive integer')
  }
  return { at: readDateTime(at ?? '') ?? refuse(`at ${dateTimeRule}`) }
}
