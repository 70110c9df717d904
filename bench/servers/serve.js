// Every server is a process of its own: it says where it listens, and what it has cost when asked.
export async function serve (app, ids = []) {
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  process.on('message', () => process.send({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() }))
  process.on('disconnect', () => process.exit(0))
  process.send({ url, ids })
}
