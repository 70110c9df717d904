import { statSync } from 'node:fs'

// Of SQLite's write-ahead log; it begins anew after 4 MB by itself.
const maxLogBytes = 2 ** 24

/** Whether the log of the database in this file has become long. @param allowed bytes that it may have in any case */
export function isLogLong (file: string, allowed = 0): boolean {
  return measureLog(file) > Math.max(maxLogBytes, allowed)
}

/** The length of the log, in bytes. */
export function measureLog (file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
}
