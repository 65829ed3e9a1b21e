import { createReadStream } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { BadInput } from '../error.ts';
import { hashOf, sha256 } from '../files.ts';
import { END_BYTES, findMessage, INDICATOR_BYTES, isEndSection, statedLength } from '../grib2/index.ts';
import { scanJson, startJsonScan } from '../json.ts';
import { gunzip, readBounded } from '../raw-file.ts';

/** No MRMS grid unpacks to more (24.5 million pixels of 24 bits, not even compressed, are 74 MB). */
export const MAX_UNPACKED_BYTES = 256 * 2 ** 20;
const MAX_JSON_BYTES = 64 * 2 ** 20;
/** A byte-range download one byte too long leaves a stray byte after a message: a real HRRR subset has them. */
const SEARCH_BYTES = 64;

/**
 * Why the file at `path` is not whole, or null when it is. `name` states the format:
 * `.gz` unpacks with the CRC and length that its members state; `.grib2` holds messages of the length
 * they state, each closed by `7777` (a few stray bytes between or after them are no fault); `.json` closes the bracket it
 * begins with, at its end. Says nothing about the meaning of the content.
 */
export async function faultOf(path: string, name: string): Promise<string | null> {
  if (name.endsWith('.gz')) return gzipFault(path);
  if (name.endsWith('.grib2')) return gribFault(path);
  if (name.endsWith('.json')) return jsonFault(path);
  return `'${name}' ends in no known format, expected .grib2, .grib2.gz or .json`;
}

async function gzipFault(path: string): Promise<string | null> {
  const content = await unzipped(path);
  if (typeof content === 'string') return content;
  return content.length === 0 ? 'gzip file holds nothing' : null;
}

/** Content of a packed file, or why it has none. */
async function unzipped(path: string): Promise<Uint8Array | string> {
  try {
    const packed = await readBounded(path, MAX_UNPACKED_BYTES);
    const content = gunzip(packed, path, MAX_UNPACKED_BYTES);
    return content === packed ? 'does not begin as gzip' : content;
  } catch (error) {
    if (error instanceof BadInput) return error.reason;
    throw error;
  }
}

/**
 * SHA-256 of a file's content, hex; of a `.gz` file its unpacked content, which does not depend on the compression. A file that
 * does not unpack is hashed packed. Throws Unreadable when it cannot be read.
 */
export async function contentHash(path: string, name: string): Promise<string> {
  const content = name.endsWith('.gz') ? await unzipped(path) : null;
  return content instanceof Uint8Array ? sha256(content) : hashOf(path);
}

async function gribFault(path: string): Promise<string | null> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    if (size === 0) return 'file is empty';
    const head = Buffer.alloc(SEARCH_BYTES);
    let offset = 0;
    while (offset < size) {
      const { bytesRead } = await handle.read(head, 0, SEARCH_BYTES, offset);
      const begin = findMessage(head.subarray(0, bytesRead));
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
  const head = Buffer.alloc(INDICATOR_BYTES);
  const { bytesRead } = await handle.read(head, 0, INDICATOR_BYTES, offset);
  if (bytesRead < INDICATOR_BYTES) return `message at byte ${offset} ends within its section 0`;
  const length = statedLength(head);
  if (length <= INDICATOR_BYTES || offset + length > size)
    return `message at byte ${offset} states ${length} bytes, ${size - offset} are there`;
  await handle.read(head, 0, END_BYTES, offset + length - END_BYTES);
  if (!isEndSection(head.subarray(0, END_BYTES))) return `message at byte ${offset} is not closed by 7777`;
  return offset + length;
}

async function jsonFault(path: string): Promise<string | null> {
  const { size } = await stat(path);
  if (size > MAX_JSON_BYTES) return `JSON file has ${size} bytes, expected at most ${MAX_JSON_BYTES}`;
  let scan = startJsonScan();
  for await (const chunk of createReadStream(path)) scan = scanJson(scan, chunk);
  return scan.state === 'after' ? null : 'JSON does not begin and end as one object or list';
}
