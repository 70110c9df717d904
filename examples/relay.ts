// Passes every command on to a message broker, at least once and in order: what it needs is this interface only.
import { type AnyFamily, describe, type FollowedCommand, type Storage } from 'fastify-dealbook'
import { consume } from 'fastify-dealbook/tools'

/** A broker, such as Kafka, NATS or RabbitMQ. It rejects if it did not take the message. */
export interface Broker {
  publish (message: Message, signal: AbortSignal): Promise<void>
}

export interface Message {
  readonly topic: string
  /** Of the item: messages with the same key stay in order. */
  readonly key: string
  /** The same if the message is sent again, so that a broker, or who reads from it, can leave out the second. */
  readonly id: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Runs until the signal is aborted; in several processes, one at a time works. */
export async function relay (
  storage: Storage, families: readonly AnyFamily[], broker: Broker, signal: AbortSignal
): Promise<void> {
  const singulars = new Map(families.map(describe).map(({ name, singular }) => [name, singular]))
  await consume(storage, {
    name: 'relay',
    families,
    signal,
    // A message that is set aside would be overtaken by the next one of its item.
    maxAttempts: Number.MAX_SAFE_INTEGER,
    async handler (entry, { signal }) {
      if (entry.outcome === 'done') await broker.publish(toMessage(entry, singulars), signal)
    }
  })
}

function toMessage ({ cursor, ...entry }: FollowedCommand, singulars: ReadonlyMap<string, string>): Message {
  const { family, id, action, createdAt } = entry
  const key = `${family}/${String(entry[singulars.get(family) as string])}`
  return { topic: family, key, id: `${key}/${id}`, headers: { action, createdAt }, body: JSON.stringify(entry) }
}
