/** Whether this is `npm run test:fast`: the memory storage, in process, no browser. */
export const isFast = process.env['TEST_FAST'] === 'true'
