import { runFolder } from '../folder.js'

await runFolder('others')
