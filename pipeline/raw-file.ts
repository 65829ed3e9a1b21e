import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { crc32, inflateRawSync } from 'node:zlib';
import { asUnreadable, BadInput } from './error.ts';

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

/** Fields of a gzip member (RFC 1952). */
const HEADER_BYTES = 10;
const TRAILER_BYTES = 8;
const HAS_CHECK = 2;
const HAS_EXTRA = 4;
const HAS_NAME = 8;
const HAS_COMMENT = 16;

/**
 * Content of the members of a gzip file, or the bytes themselves when they are not gzip. Bytes behind the last member are
 * ignored, as gzip(1) ignores them. Throws BadInput when a member is damaged, cut short, or unfolds beyond `max_bytes`.
 */
export function gunzip(bytes: Uint8Array, subject: string, max_bytes = MAX_UNZIPPED_BYTES): Uint8Array {
  if (!startsMember(bytes, 0)) return bytes;
  const bad = (found: string, cause?: unknown) =>
    badFile(subject, `gzip ${found}, expected a whole stream of at most ${max_bytes} bytes`, cause);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  // One byte more than the end states, so that an honest file fills a single buffer and zlib never asks for a second one.
  const stated_bytes = bytes.length < 4 ? 0 : view.getUint32(bytes.length - 4, true);
  const chunkSize = Math.max(1024, Math.min(stated_bytes, max_bytes) + 1);
  const contents: Uint8Array[] = [];
  let unfolded_bytes = 0;
  for (let start = 0; start === 0 || startsMember(bytes, start); ) {
    const body = bodyStart(bytes, start);
    const { content, packed_bytes } = inflate(bytes.subarray(body), chunkSize, max_bytes - unfolded_bytes, bad);
    const trailer = body + packed_bytes;
    if (trailer + TRAILER_BYTES > bytes.length) throw bad('is cut short');
    if (view.getUint32(trailer, true) !== crc32(content) || view.getUint32(trailer + 4, true) !== content.length)
      throw bad('is damaged');
    contents.push(content);
    unfolded_bytes += content.length;
    start = trailer + TRAILER_BYTES;
  }
  return contents.length === 1 ? (contents[0] as Uint8Array) : Buffer.concat(contents);
}

function startsMember(bytes: Uint8Array, start: number): boolean {
  return bytes[start] === 0x1f && bytes[start + 1] === 0x8b;
}

/** Offset behind the header of the member at `start`; at or beyond the end of the bytes when they end within it. */
function bodyStart(bytes: Uint8Array, start: number): number {
  const flags = bytes[start + 3] ?? 0;
  let at = start + HEADER_BYTES;
  if (flags & HAS_EXTRA) at += 2 + (bytes[at] ?? 0) + 256 * (bytes[at + 1] ?? 0);
  for (const text of [HAS_NAME, HAS_COMMENT])
    if (flags & text) {
      const end = bytes.indexOf(0, at);
      at = end < 0 ? bytes.length : end + 1;
    }
  return flags & HAS_CHECK ? at + 2 : at;
}

function inflate(
  packed: Uint8Array,
  chunkSize: number,
  maxOutputLength: number,
  bad: (found: string, cause?: unknown) => Error,
): { readonly content: Uint8Array; readonly packed_bytes: number } {
  let inflated: unknown;
  try {
    inflated = inflateRawSync(packed, { chunkSize, maxOutputLength, info: true });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE') throw bad('unfolds without end', cause);
    throw bad(code === 'Z_BUF_ERROR' ? 'is cut short' : 'is damaged', cause);
  }
  if (!isInflated(inflated)) throw new TypeError('zlib gives no engine, expected one with the option info');
  return { content: inflated.buffer, packed_bytes: inflated.engine.bytesWritten };
}

/** True for the result of zlib with the option `info`, which the types of Node leave out; `bytesWritten` counts packed bytes. */
function isInflated(
  result: unknown,
): result is { readonly buffer: Uint8Array; readonly engine: { readonly bytesWritten: number } } {
  return typeof result === 'object' && result !== null && 'engine' in result;
}

function badFile(subject: string, reason: string, cause?: unknown): BadInput {
  return new BadInput('read', subject, reason, cause === undefined ? undefined : { cause });
}
