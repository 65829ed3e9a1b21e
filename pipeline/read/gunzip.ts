import { gunzipSync } from 'node:zlib';
import { BadInput } from '../error.ts';

/** Largest content a compressed file may unfold to: a full CONUS grid of plain 16-bit numbers and its headers fit. */
export const MAX_UNZIPPED_BYTES = 64 * 1024 * 1024;

/**
 * Content of a gzip file, or the bytes themselves when they are not gzip.
 * Throws BadInput when the stream is damaged, cut short, or unfolds beyond `max_bytes`.
 */
export function gunzip(bytes: Uint8Array, subject: string, max_bytes = MAX_UNZIPPED_BYTES): Uint8Array {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stated = statedLength(bytes);
  if (stated > max_bytes)
    throw new BadInput(
      'read',
      subject,
      `gzip is cut short, or unfolds to the ${stated} bytes that its end states; expected at most ${max_bytes}`,
    );
  try {
    // One byte more than stated, so that an honest file fills a single buffer and zlib never asks for a second one.
    return gunzipSync(bytes, { chunkSize: Math.max(1024, stated + 1), maxOutputLength: max_bytes });
  } catch (cause) {
    const found =
      (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'unfolds without end' : 'is damaged';
    throw new BadInput('read', subject, `gzip ${found}, expected a whole stream of at most ${max_bytes} bytes`, {
      cause,
    });
  }
}

/** Uncompressed length that the last four bytes of a gzip file state; 0 when there are too few bytes. */
function statedLength(bytes: Uint8Array): number {
  if (bytes.length < 18) return 0;
  return new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4, 4).getUint32(0, true);
}
