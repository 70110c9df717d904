// The load: connections that each send the next request after a response. Plain sockets, since a client that costs as
// much as the fastest server would measure itself.
import { once } from 'node:events'
import { connect } from 'node:net'
import { requestOf } from './requests.js'

process.on('message', async task => { process.send(await drive(task).catch(error => ({ failed: String(error) }))) })
process.on('disconnect', () => process.exit(0))
process.send('ready')

async function drive ({ server, scenario, connections, seconds, first }) {
  const { name, url } = server
  const { hostname, port } = new URL(url)
  const sockets = await Promise.all(Array.from({ length: connections }, async () => {
    const socket = connect(Number(port), hostname).setNoDelay(true)
    await once(socket, 'connect')
    return socket
  }))
  const makeRequest = requestOf(name, scenario)
  const times = []
  let n = first
  const cpu = process.cpuUsage()
  const began = performance.now()
  const end = began + seconds * 1000
  await Promise.all(sockets.map(socket => new Promise((resolve, reject) => {
    let sent = 0
    const send = () => {
      sent = performance.now()
      socket.write(textOf(makeRequest(n++, server)))
    }
    const read = makeReader(status => {
      const now = performance.now()
      if (status[0] !== '2') return reject(new Error(`${url} answered ${status} to ${scenario}`))
      times.push(now - sent)
      if (now < end) return send()
      socket.end()
      resolve()
    })
    socket.on('data', read).on('error', reject).on('close', () => reject(new Error(`${url} hung up`)))
    send()
  })))
  const { user, system } = process.cpuUsage(cpu)
  const took = performance.now() - began
  times.sort((a, b) => a - b)
  return {
    count: times.length,
    rate: times.length / took * 1000,
    p50: times[Math.floor(times.length * 0.5)],
    p99: times[Math.floor(times.length * 0.99)],
    busy: (user + system) / 1000 / took
  }
}

function textOf ({ method = 'GET', path, body }) {
  const head = `${method} ${path} HTTP/1.1\r\nhost: bench\r\naccept: application/json\r\n`
  if (body === undefined) return `${head}\r\n`
  const text = JSON.stringify(body)
  return `${head}content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`
}

/** Reads one response after the other, and reports the status of each when it is complete. */
function makeReader (onAnswer) {
  let head = ''
  let status = ''
  // Bytes of the body that are still missing; a chunked one ends with its last five.
  let left = 0
  let tail
  return chunk => {
    let text = chunk.latin1Slice()
    if (status === '') {
      head += text
      const end = head.indexOf('\r\n\r\n')
      if (end === -1) return
      text = head.slice(end + 4)
      head = head.slice(0, end)
      status = head.slice(9, 12)
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
      tail = length === undefined && /\r\ntransfer-encoding: *chunked/i.test(head) ? '' : undefined
      left = Number(length ?? 0)
      head = ''
    }
    if (tail === undefined) left -= text.length
    else tail = (tail + text).slice(-5)
    if (tail === undefined ? left > 0 : tail !== '0\r\n\r\n') return
    const answered = status
    status = ''
    onAnswer(answered)
  }
}
