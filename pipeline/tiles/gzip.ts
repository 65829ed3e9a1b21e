import { gzipSync } from 'node:zlib';

/** Where a gzip header names the operating system, and the value for "unknown". */
const OS_BYTE = 9;
const OS_UNKNOWN = 255;

/** Gzips bytes; the header names neither time nor system, so that equal input gives equal bytes. */
export function gzip(bytes: Uint8Array): Uint8Array {
  const zipped = gzipSync(bytes);
  zipped[OS_BYTE] = OS_UNKNOWN;
  return zipped;
}
