import { crc32, deflateSync, inflateSync } from 'node:zlib'

/** A picture of an animation, and for how many milliseconds it is shown. */
export interface Frame {
  readonly png: Buffer
  readonly duration: number
}

const signature = Buffer.from('89504e470d0a1a0a', 'hex')

/**
 * Pictures of one size and colour type as one animated PNG that begins anew for ever. Where animations are not known,
 * it shows the first.
 */
export function animate (frames: readonly [Frame, ...Frame[]]): Buffer {
  const header = findChunk(frames[0].png, 'IHDR')
  let number = 0
  const chunks = [makeChunk('IHDR', header), makeChunk('acTL', uint32(frames.length, 0))]
  for (const [index, { png, duration }] of frames.entries()) {
    if (!findChunk(png, 'IHDR').equals(header)) throw new Error('All pictures must be of one size and colour type')
    const control = Buffer.concat([
      // Width and height, at the upper left corner.
      uint32(number++), header.subarray(0, 8), uint32(0, 0),
      // Milliseconds as a fraction; nothing is kept or mixed of the picture before.
      Buffer.from([duration >> 8, duration & 255, 1000 >> 8, 1000 & 255, 0, 0])
    ])
    chunks.push(makeChunk('fcTL', control))
    const data = deflateSync(inflateSync(findChunk(png, 'IDAT')), { level: 9 })
    chunks.push(index === 0 ? makeChunk('IDAT', data) : makeChunk('fdAT', Buffer.concat([uint32(number++), data])))
  }
  return Buffer.concat([signature, ...chunks, makeChunk('IEND', Buffer.alloc(0))])
}

/** The data of all chunks of that type, one after the other. */
export function findChunk (png: Buffer, type: string): Buffer {
  const found: Buffer[] = []
  for (let at = signature.length; at < png.length;) {
    const length = png.readUInt32BE(at)
    if (png.toString('latin1', at + 4, at + 8) === type) found.push(png.subarray(at + 8, at + 8 + length))
    at += 12 + length
  }
  return Buffer.concat(found)
}

function makeChunk (type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  return Buffer.concat([uint32(data.length), body, uint32(crc32(body))])
}

function uint32 (...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(4 * values.length)
  values.forEach((value, index) => buffer.writeUInt32BE(value, 4 * index))
  return buffer
}
