import { Feed, showFollowed } from '../feed/feed.js'
import { followFeed } from '../feed/follow.js'
import { performance } from '../runtime.js'
import { intendToRead } from '../service/caller.js'
import { authorizeReader, type Reader } from '../service/reader.js'
import { nameRecord } from '../service/record.js'
import type { FollowedCommand, FollowOptions } from '../service/service.js'
import type { BookParts } from './source.js'

// Milliseconds after which a follower's permission is asked for again.
const askAgainAfter = 15_000

/** The method `follow` of a book. */
export async function * followLog (book: BookParts, options: FollowOptions): AsyncGenerator<FollowedCommand> {
  const { family, source } = book
  if (!family.writable) book.refuseOperation('follow')
  const { after, from = 'beginning', signal } = options
  const { signal: _ending, ...caller } = source.open(options, 'follow')
  const ask = async (): Promise<Reader> => await authorizeReader(family, caller, intendToRead(family, undefined))
  let reader = await ask()
  const feed = new Feed(await caller.storage(), [{ family: reader.family, reader }], undefined)
  const start = after === undefined && from === 'beginning' ? undefined : await feed.findStart(after)
  const renew = async (): Promise<void> => {
    reader = await ask()
    feed.replace([{ family: reader.family, reader }], undefined)
  }
  const renewal = caller.isGuarded ? { renew, interval: askAgainAfter } : {}
  for await (const batch of followFeed(feed, start, { signal, ...renewal })) {
    for (const entry of batch.entries) {
      yield showFollowed(reader.family, entry, nameRecord(entry, reader.grant.principal))
      if (performance.now() < batch.dueAt) continue
      // A slow follower gets the rest if it may still see it.
      batch.position = entry.position
      break
    }
  }
}
