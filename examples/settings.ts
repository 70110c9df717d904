import { defaultStorage } from './storage-from-url.js'

/** Settings of the server, from the environment. */
export interface Settings {
  readonly port: number
  readonly host: string
  /** The URL of the storage. */
  readonly storage: string
  /** The path before all routes, without a trailing slash. */
  readonly prefix: string
  readonly version: string
  readonly logLevel: string
  /** A file. */
  readonly customers: string | undefined
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/** Reads the environment; an invalid value is an error that names it and the allowed values. */
export function readSettings (env: Readonly<Record<string, string | undefined>>): Settings {
  // An empty value, such as in a file of settings, is not set.
  const read = (name: string, otherwise: string): string => env[name] || otherwise
  return {
    port: readPort(read('PORT', '3000')),
    host: read('HOST', '127.0.0.1'),
    storage: read('STORAGE', defaultStorage),
    prefix: readPath(read('BASE_URL', '')),
    version: read('VERSION', 'v1'),
    logLevel: readLogLevel(read('LOG_LEVEL', 'warn')),
    customers: env.CUSTOMERS || undefined
  }
}

function readPort (text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65535) return port
  throw new Error(`PORT is "${text}", but must be an integer from 0 to 65535`)
}

function readPath (text: string): string {
  if (/^(\/[A-Za-z0-9._~-]+)*\/?$/.test(text)) return text.replace(/\/$/, '')
  throw new Error(`BASE_URL is "${text}", but must be a path that begins with a slash, such as /crm`)
}

function readLogLevel (text: string): string {
  if (logLevels.includes(text)) return text
  throw new Error(`LOG_LEVEL is "${text}", but must be one of ${logLevels.join(', ')}`)
}
