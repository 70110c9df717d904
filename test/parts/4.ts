import { runPart } from '../part.js'

await runPart()
