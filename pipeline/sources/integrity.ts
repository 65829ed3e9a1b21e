import { BadInput } from '../error.ts';
import { hashOf, sha256 } from '../files.ts';
import { END_BYTES, findMessage, INDICATOR_BYTES, isEndSection, statedLength } from '../grib2/index.ts';
import { scanJson } from '../json.ts';
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
  if (!/\.(gz|grib2|json)$/.test(name)) return `'${name}' ends in no known format, expected .grib2, .grib2.gz or .json`;
  try {
    const bytes = await readBounded(path, name.endsWith('.json') ? MAX_JSON_BYTES : MAX_UNPACKED_BYTES);
    if (name.endsWith('.grib2')) return gribFault(bytes);
    if (name.endsWith('.json'))
      return scanJson(bytes).is_whole ? null : 'JSON does not begin and end as one object or list';
    const content = gunzip(bytes, path, MAX_UNPACKED_BYTES);
    if (content === bytes) return 'does not begin as gzip';
    return content.length === 0 ? 'gzip file holds nothing' : null;
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
  if (!name.endsWith('.gz')) return hashOf(path);
  try {
    return sha256(gunzip(await readBounded(path, MAX_UNPACKED_BYTES), path, MAX_UNPACKED_BYTES));
  } catch (error) {
    if (error instanceof BadInput) return hashOf(path);
    throw error;
  }
}

function gribFault(bytes: Uint8Array): string | null {
  if (bytes.length === 0) return 'file is empty';
  for (let offset = 0; offset < bytes.length; ) {
    const begin = findMessage(bytes.subarray(offset, offset + SEARCH_BYTES));
    if (begin < 0) return offset === 0 ? `no message begins at byte ${offset}` : null;
    const message = bytes.subarray(offset + begin);
    const at = `message at byte ${offset + begin}`;
    if (message.length < INDICATOR_BYTES) return `${at} ends within its section 0`;
    const length = statedLength(message);
    if (length <= INDICATOR_BYTES || length > message.length)
      return `${at} states ${length} bytes, ${message.length} are there`;
    if (!isEndSection(message.subarray(length - END_BYTES, length))) return `${at} is not closed by 7777`;
    offset += begin + length;
  }
  return null;
}
