import { createHash, randomFillSync } from 'node:crypto';
import { encodeTime, monotonicFactory, TIME_LEN } from 'ulid';

/** Prefix of the ids of each kind of record. */
const ID_PREFIXES = {
  business: 'biz',
  key: 'key',
  location: 'loc',
  area: 'area',
  subscription: 'sub',
  webhook: 'wh',
  delivery: 'whd',
  event: 'evt',
  alert: 'alt',
  report: 'rpt',
  export: 'exp',
  request: 'req',
  root: 'root',
} as const;
type IdKind = keyof typeof ID_PREFIXES;

/** Random bytes are drawn in bulk: one call for each of the 16 random characters of an id costs more than the rest of a request id. */
const pool = new Uint8Array(4096);
let drawn = pool.length;

/** A random number from 0 up to 1 with the 8 bits that ulid takes 5 of. */
function randomFraction(): number {
  if (drawn === pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  return pool[drawn++] / 256;
}

const nextUlid = monotonicFactory(randomFraction);

/**
 * A new id: prefix, underscore, ULID. Ids of one process ascend as text, also within a millisecond.
 * `time_ms`: time of creation, epoch milliseconds.
 */
export function newId(kind: IdKind, time_ms: number): string {
  return `${ID_PREFIXES[kind]}_${nextUlid(time_ms)}`;
}

/** Digits of a ULID. */
const BASE32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const RANDOM_LEN = 16;

/**
 * The id of something that always has the same one, however often it is written: it follows from what identifies it.
 * `time_ms`: when it happened, epoch milliseconds. `parts` must hold an id that `newId` made, so that no other can guess it.
 */
export function derivedId(kind: IdKind, time_ms: number, ...parts: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, RANDOM_LEN);
  const rest = Array.from(digest, (byte) => BASE32[byte % BASE32.length]).join('');
  return `${ID_PREFIXES[kind]}_${encodeTime(time_ms, TIME_LEN)}${rest}`;
}

/** Pattern of a path segment that may be an id; any other text cannot name an existing record. */
export const PATH_ID = '[A-Za-z0-9_-]{1,64}';
