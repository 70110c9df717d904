export interface ReadEvent {
  readonly id: string
  readonly event: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface EventReader {
  readonly contentType: string | null
  /** The next events, without those that have only an id. */
  take (count: number): Promise<ReadEvent[]>
  /** The events that were not taken yet. */
  rest (): readonly ReadEvent[]
  /** The comments so far. */
  readonly comments: readonly string[]
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>
  close (): void
}

/** Opens a stream of server-sent events; resolves once the server has begun it. */
export async function readEvents (url: string, headers: Record<string, string> = {}): Promise<EventReader> {
  const controller = new AbortController()
  const response = await fetch(url, { headers: { accept: 'text/event-stream', ...headers }, signal: controller.signal })
  const events: ReadEvent[] = []
  const comments: string[] = []
  let wake = (): void => {}
  let begun = (): void => {}
  const beginning = new Promise<void>(resolve => { begun = resolve })
  const ended = (async () => {
    const decoder = new TextDecoder()
    let text = ''
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        text += decoder.decode(chunk, { stream: true })
        for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
          const lines = text.slice(0, end).split('\n')
          text = text.slice(end + 2)
          const read = (name: string): string | undefined =>
            lines.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2)
          const data = read('data')
          comments.push(...lines.filter(line => line.startsWith(':')))
          begun()
          if (data === undefined) continue
          events.push({
            id: read('id') ?? '', event: read('event') ?? '', data: JSON.parse(data) as ReadEvent['data']
          })
        }
        wake()
      }
    } catch (error) {
      if (!controller.signal.aborted) throw error
    } finally {
      begun()
      wake()
    }
  })()
  await beginning
  return {
    contentType: response.headers.get('content-type'),
    async take (count) {
      while (events.length < count) await new Promise<void>(resolve => { wake = resolve })
      return events.splice(0, count)
    },
    rest: () => events,
    comments,
    ended,
    close () { controller.abort() }
  }
}
