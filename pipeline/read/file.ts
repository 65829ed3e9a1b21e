import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { asUnreadable } from '../error.ts';
import { badFile } from './rejected-item.ts';

/**
 * Bytes of a regular file of at most `max_bytes`. Anything else is a BadInput and is not read.
 * Throws Unreadable when the file is absent or not permitted: the content is not at fault.
 */
export async function readBounded(path: string, max_bytes: number): Promise<Uint8Array> {
  // Without O_NONBLOCK, opening a pipe waits for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw asUnreadable(path, error);
  });
  try {
    const stats = await file.stat();
    // A device or a pipe has no size to check, and may never end.
    if (!stats.isFile()) throw badFile(path, 'not a regular file, expected one');
    const { size } = stats;
    if (size > max_bytes) throw badFile(path, `${size} bytes, expected at most ${max_bytes}`);
    return await file.readFile();
  } catch (error) {
    throw asUnreadable(path, error);
  } finally {
    await file.close();
  }
}

/** Largest content of a compressed file: a full CONUS grid of plain 16-bit numbers and its headers fit. */
export const MAX_UNZIPPED_BYTES = 64 * 1024 * 1024;

/**
 * Content of a gzip file, or the bytes themselves when they are not gzip.
 * Throws BadInput when the stream is damaged, cut short, or unfolds beyond `max_bytes`.
 */
export function gunzip(bytes: Uint8Array, subject: string, max_bytes = MAX_UNZIPPED_BYTES): Uint8Array {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stated = statedLength(bytes);
  if (stated > max_bytes)
    throw badFile(
      subject,
      `gzip is cut short, or unfolds to the ${stated} bytes that its end states; expected at most ${max_bytes}`,
    );
  try {
    // One byte more than stated, so that an honest file fills a single buffer and zlib never asks for a second one.
    return gunzipSync(bytes, { chunkSize: Math.max(1024, stated + 1), maxOutputLength: max_bytes });
  } catch (cause) {
    const is_endless = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    const found = is_endless ? 'unfolds without end' : 'is damaged';
    throw badFile(subject, `gzip ${found}, expected a whole stream of at most ${max_bytes} bytes`, cause);
  }
}

/** Uncompressed length that the last four bytes of a gzip file state; 0 when there are too few bytes. */
function statedLength(bytes: Uint8Array): number {
  if (bytes.length < 18) return 0;
  return new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4, 4).getUint32(0, true);
}
