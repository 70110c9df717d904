import { invalidQuery } from '../problems.js'
import { dateTimeRule, readDateTime } from '../values/formats.js'
import { type Parameter, splitQuery } from './query-string.js'

/** When an item is wanted: after a change, or at a time, `YYYY-MM-DDTHH:mm:ss.sssZ`. */
export type Moment =
  { readonly revision: number, readonly at?: undefined } | { readonly revision?: undefined, readonly at: string }

type SentMoment = { readonly [K in keyof Moment]?: string | undefined }

const momentNames: readonly (keyof Moment)[] = ['revision', 'at']

interface LoggedFamily {
  readonly name: string
  /** Whether its items have a log. */
  readonly writable: boolean
}

/** Takes the moment out of the query string of an item. There no field is filtered, so that none is meant. */
export function splitMoment (
  search: string, family: LoggedFamily
): { readonly rest: string, readonly when?: Moment | undefined } {
  if (!/(?:^|&)(?:revision|at)=/.test(search)) return { rest: search }
  const parts = splitQuery(search)
  const find = (wanted: string): string | undefined => {
    const [first, second] = parts.filter(({ name }) => name === wanted) as readonly Parameter[]
    if (second === undefined) return first?.value
    throw invalidQuery([{ parameter: wanted, detail: `${wanted} must be given once` }])
  }
  const rest = parts.filter(({ name }) => name === undefined || !(momentNames as readonly string[]).includes(name))
  const when = readMoment({ revision: find('revision'), at: find('at') }, family)
  return { rest: rest.map(({ raw }) => raw).join('&'), when }
}

/** Undefined if neither is given. Throws what is wrong with them. */
export function readMoment ({ revision, at }: SentMoment, family: LoggedFamily): Moment | undefined {
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
