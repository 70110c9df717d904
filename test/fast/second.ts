import { runShare } from './run.js'

await runShare(1, 2)
