// tap follows every promise and timer through the hooks of Node, so as to know the test in which nothing caught an
// error. Here one test runs after the other: whose it is is known without them, and everything is faster.
import hooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const { createHook } = hooks
const idle = { enable: () => idle, disable: () => idle }

hooks.createHook = callbacks =>
  Object.keys(callbacks).join() === 'init,destroy' && callbacks.init?.length === 3 ? idle : createHook(callbacks)
syncBuiltinESMExports()
