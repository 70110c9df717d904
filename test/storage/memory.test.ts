import t from 'tap'
import { storageConformance } from '../../lib/storage/conformance.js'
import { memoryStorage } from '../../lib/storage/memory.js'

storageConformance(t.test, () => ({ storage: memoryStorage() }))
