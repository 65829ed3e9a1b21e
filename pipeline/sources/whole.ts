import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';

/** No MRMS grid unpacks to more (24.5 million pixels of 24 bits, not even compressed, are 74 MB). */
const MAX_UNPACKED_BYTES = 256 * 2 ** 20;
const MAX_JSON_BYTES = 64 * 2 ** 20;
const GRIB_HEADER_BYTES = 16;
/** A byte-range download one byte too long leaves a stray byte after a message: a real HRRR subset has them. */
const SEARCH_BYTES = 64;

/**
 * Why the file at `path` is not whole, or null when it is. `name` tells the format:
 * `.gz` unpacks to its end with the CRC and length its trailer states; `.grib2` holds messages of the length
 * they state, each closed by `7777` (a few stray bytes between or after them are no fault); `.json` parses. Says nothing about the meaning of the content.
 */
export async function faultOf(path: string, name: string): Promise<string | null> {
  if (name.endsWith('.gz')) return gzipFault(path);
  if (name.endsWith('.grib2')) return gribFault(path);
  if (name.endsWith('.json')) return jsonFault(path);
  return `'${name}' ends in no known format, expected .grib2, .grib2.gz or .json`;
}

async function gzipFault(path: string): Promise<string | null> {
  let unpacked_bytes = 0;
  const count = new Writable({
    write(chunk: Buffer, _encoding, done) {
      unpacked_bytes += chunk.length;
      done(unpacked_bytes > MAX_UNPACKED_BYTES ? new TooLarge() : null);
    },
  });
  try {
    await pipeline(createReadStream(path), createGunzip(), count);
    return unpacked_bytes === 0 ? 'gzip file holds nothing' : null;
  } catch (error) {
    if (error instanceof TooLarge) return `gzip content is over ${MAX_UNPACKED_BYTES} bytes`;
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))
      return `gzip ${error.message}`;
    throw error;
  }
}

class TooLarge extends Error {}

async function gribFault(path: string): Promise<string | null> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    if (size === 0) return 'file is empty';
    const head = Buffer.alloc(SEARCH_BYTES);
    let offset = 0;
    while (offset < size) {
      const { bytesRead } = await handle.read(head, 0, SEARCH_BYTES, offset);
      const begin = head.subarray(0, bytesRead).indexOf('GRIB', 0, 'latin1');
      if (begin < 0) return offset === 0 ? `no message begins at byte ${offset}` : null;
      const end = await messageEnd(handle, offset + begin, size);
      if (typeof end === 'string') return end;
      offset = end;
    }
    return null;
  } finally {
    await handle.close();
  }
}

/** Offset after the message that begins at `offset`, or why it is not whole. */
async function messageEnd(handle: FileHandle, offset: number, size: number): Promise<number | string> {
  const head = Buffer.alloc(GRIB_HEADER_BYTES);
  const { bytesRead } = await handle.read(head, 0, GRIB_HEADER_BYTES, offset);
  if (bytesRead < GRIB_HEADER_BYTES) return `message at byte ${offset} ends within its section 0`;
  const length = Number(head.readBigUInt64BE(8));
  if (length <= GRIB_HEADER_BYTES || offset + length > size)
    return `message at byte ${offset} states ${length} bytes, ${size - offset} are there`;
  await handle.read(head, 0, 4, offset + length - 4);
  if (head.toString('latin1', 0, 4) !== '7777') return `message at byte ${offset} is not closed by 7777`;
  return offset + length;
}

async function jsonFault(path: string): Promise<string | null> {
  const handle = await open(path, 'r');
  const { size } = await handle.stat().finally(() => handle.close());
  if (size > MAX_JSON_BYTES) return `JSON file has ${size} bytes, expected at most ${MAX_JSON_BYTES}`;
  try {
    JSON.parse(await readFile(path, 'utf8'));
    return null;
  } catch (error) {
    if (error instanceof SyntaxError) return 'JSON does not parse';
    throw error;
  }
}
