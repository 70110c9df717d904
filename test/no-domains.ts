// Loaded first by each part of `test/run.ts`. tap follows every promise, to know in which test an error is thrown that
// nothing catches: a seventh of the time of all tests. Without that, such an error ends the part, which fails as well.
import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const { createHook } = asyncHooks

/** The first one is that of tap. */
asyncHooks.createHook = () => {
  asyncHooks.createHook = createHook
  syncBuiltinESMExports()
  return createHook({})
}
syncBuiltinESMExports()
