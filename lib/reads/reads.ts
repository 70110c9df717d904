import type { Endpoint } from '../http/routes.js'
import type { Mount } from '../mount/mount.js'
import type { SharedPaths } from '../mount/shared-paths.js'
import { collectionEndpoints } from './collection.js'
import { itemEndpoints } from './item.js'
import { logEndpoints } from './log.js'
import { queryEndpoints } from './queries.js'

/** Everything that can be read of a mount, but for what its forms have to show. */
export function readEndpoints (mount: Mount, shared: SharedPaths | undefined): Endpoint[] {
  return [
    ...collectionEndpoints(mount),
    ...itemEndpoints(mount),
    ...(mount.family.writable ? logEndpoints(mount) : []),
    ...(shared === undefined ? [] : queryEndpoints(mount, shared))
  ]
}
