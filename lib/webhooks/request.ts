import { lookup, type LookupAddress } from 'node:dns'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** A request that is sent to a URL of a client. */
export interface Posting {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly allowPrivate: boolean
  /** Milliseconds until the status must have arrived. */
  readonly timeout: number
  readonly signal: AbortSignal
}

// Of a response, no more is read.
const maxBody = 65_536

// Networks that are not the public internet, and those that lead into one of them (IPv4 inside IPv6).
const privateNetworks = {
  ipv4: [
    '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24',
    '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24',
    '224.0.0.0/4', '240.0.0.0/4'
  ],
  ipv6: [
    '::/96', '::ffff:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001::/32', '2001:db8::/32', '2002::/16',
    'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'
  ]
} as const

// One list for each: in a common one, every IPv4 address is in the network of the mapped ones.
const blocked = { ipv4: makeBlockList('ipv4'), ipv6: makeBlockList('ipv6') }

function makeBlockList (family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const network of privateNetworks[family]) {
    const [address = '', prefix] = network.split('/')
    list.addSubnet(address, Number(prefix), family)
  }
  return list
}

export function isPrivate (address: string): boolean {
  const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
  return blocked[family].check(address, family)
}

/** What is wrong with a URL, as far as the URL itself says it. */
export function findUrlFlaw (text: string, allowPrivate: boolean): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return 'must be an http or https URL'
  if (url.username !== '' || url.password !== '') return 'must not have a user name or a password'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isLocal = isIP(host) === 0 ? /(^|\.)localhost\.?$/.test(host) : isPrivate(host)
  return isLocal && !allowPrivate ? 'must not be an address of a private network' : undefined
}

/** Looks up a name for a connection, which then goes to the address that was checked. */
export function makeLookup (resolve: typeof lookup = lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error: Error | null, addresses: LookupAddress[] = []) => {
      const open = addresses.filter(({ address }) => !isPrivate(address))
      const [first] = open
      if (error !== null) callback(error, '')
      else if (first === undefined) callback(new Error(`${hostname} is an address of a private network`), '')
      else if (options.all === true) callback(null, open)
      else callback(null, first.address, first.family)
    })
  }
}

const lookUpPublic = makeLookup()

/** Returns the status. Follows no redirect. Throws where there is no response in time. */
async function post ({ url, headers, body, allowPrivate, timeout, signal }: Posting): Promise<number> {
  const flaw = findUrlFlaw(url, allowPrivate)
  if (flaw !== undefined) throw new Error(`The URL ${flaw}`)
  const request = new URL(url).protocol === 'https:' ? requestHttps : requestHttp
  return await new Promise<number>((resolve, reject) => {
    // A connection of its own: one of the common agent may lead to an address that was not checked.
    const options = { method: 'POST', headers, agent: false, signal } as const
    const sent = request(url, allowPrivate ? options : { ...options, lookup: lookUpPublic }, response => {
      // Whatever becomes of the body, which is read so that the receiver sees no error.
      resolve(response.statusCode as number)
      let length = 0
      response.on('data', (chunk: Buffer) => { if ((length += chunk.length) > maxBody) sent.destroy() })
      response.on('error', () => {})
    })
    const timer = setTimeout(() => { sent.destroy(new Error(`No response within ${timeout} ms`)) }, timeout)
    sent.on('error', reject).on('close', () => {
      clearTimeout(timer)
      // A response that switches protocols ends in this event alone.
      reject(new Error('The connection was closed without a response'))
    }).end(body)
  })
}

/** How requests are sent. Tests replace `post`. */
export const transport = { post }
