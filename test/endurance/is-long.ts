/** Whether tests are to run at their full size, which takes minutes: `npm run test:long`. */
export const isLong = process.env['TEST_LONG'] === 'true'
