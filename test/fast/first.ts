import { runShare } from './run.js'

await runShare(0, 2)
