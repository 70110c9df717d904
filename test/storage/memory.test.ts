import t from 'tap'
import { storageConformance } from '../../lib/storage/conformance/storage-conformance.js'
import { memoryStorage } from '../../lib/storage/memory/memory-storage.js'

storageConformance(t.test, () => ({ storage: memoryStorage() }))
