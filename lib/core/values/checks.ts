/** Says what is wrong with the value of an option; undefined where nothing is. */
export type Check = (value: unknown) => string | undefined

export const checkSize: Check = value =>
  Number.isSafeInteger(value) && (value as number) >= 1 ? undefined : 'must be an integer from 1'

export const checkCount: Check = value =>
  value === 0 || checkSize(value) === undefined ? undefined : 'must be an integer from 0'

// Longer than that, a timer of Node ends at once.
const maxTime = 2 ** 31 - 1
export const checkTime: Check = value => checkSize(value) === undefined && (value as number) <= maxTime
  ? undefined
  : `must be milliseconds from 1 to ${maxTime}`

export const checkDate: Check = value =>
  (value instanceof Date || typeof value === 'string') && !Number.isNaN(new Date(value).getTime())
    ? undefined
    : 'must be a date, such as "2027-01-31"'

export const checkText: Check = value =>
  typeof value === 'string' && value !== '' ? undefined : 'must be a text that is not empty'

export const checkObject: Check = value =>
  typeof value === 'object' && value !== null ? undefined : 'must be an object'

export const checkBoolean: Check = value => typeof value === 'boolean' ? undefined : 'must be true or false'

export const checkFunction: Check = value => typeof value === 'function' ? undefined : 'must be a function'
