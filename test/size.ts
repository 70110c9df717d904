/** Whether this is `npm run test:fast`: the memory storage, in process, no browser. */
export const isFast = process.env['TEST_FAST'] === 'true'

/** Whether tests run at their full size, which takes minutes: `npm run test:long`. */
export const isLong = process.env['TEST_LONG'] === 'true'

/** How many random cases a property is tested with: all of them in `npm run test:long`, otherwise a fifth. */
export function runs (all: number): number {
  return isLong ? all : Math.ceil(all / 5)
}
