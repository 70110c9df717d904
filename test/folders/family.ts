import { runFolder } from '../folder.js'

await runFolder('family')
