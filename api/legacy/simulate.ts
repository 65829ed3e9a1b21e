import { hash } from 'node:crypto';
import { ID_PREFIXES, type IdKind } from '../../schemas/ids.ts';
import { utcDate } from '../../schemas/time.ts';
import { ApiError } from '../errors.ts';
import { rounded } from '../rules/rounded.ts';
import { parseReceiverUrl } from '../webhooks/public-address.ts';

/** Characters of a ULID. */
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ULID_LENGTH = 26;
const DRAWS_PER_DIGEST = 8;
const TWO_TO_32 = 2 ** 32;

/** Returns the next number of a series, 0 ≤ x < 1. */
export type Draw = () => number;

/**
 * A series of numbers that depends on some words alone: from their SHA-256, with one exact division each, so that it is the same
 * on any machine.
 */
export function drawsFrom(...words: readonly (string | number)[]): Draw {
  const seed = JSON.stringify(words);
  let drawn = 0;
  let digest = Buffer.alloc(0);
  return () => {
    const at = drawn % DRAWS_PER_DIGEST;
    if (at === 0) digest = hash('sha256', `${seed} ${drawn}`, 'buffer');
    drawn += 1;
    return digest.readUInt32BE(at * 4) / TWO_TO_32;
  };
}

/** Numbers that follow from a place, rounded to five decimals, and a day. `what` names the series. */
export function drawsAt({ lat, lng }: { readonly lat: number; readonly lng: number }, day: string, what: string): Draw {
  return drawsFrom(what, rounded(lat, 5), rounded(lng, 5), day);
}

/** The day that answers are simulated for, by the data clock. */
export function simulatedDay(now_ms: number): string {
  return utcDate(now_ms);
}

/** An id of the usual form that follows from some words. */
export function simulatedId(kind: IdKind, ...words: readonly (string | number)[]): string {
  const draw = drawsFrom('id', kind, ...words);
  const characters = Array.from({ length: ULID_LENGTH }, (_, k) => CROCKFORD.charAt(whole(draw, 0, k === 0 ? 7 : 31)));
  return `${ID_PREFIXES[kind]}_${characters.join('')}`;
}

/** A secret of the usual form that follows from some words; it signs nothing. */
export function simulatedSecret(...words: readonly (string | number)[]): string {
  return `whsec_${hash('sha256', JSON.stringify(['secret', ...words]), 'base64')}`;
}

/** Throws `bad_request` for a receiver's address that is refused on any machine; does not resolve its name. */
export function checkAddress(pointer: string, url: string): void {
  const receiver = parseReceiverUrl(url);
  if (typeof receiver === 'string') throw new ApiError('bad_request', `${pointer}: ${receiver}`);
}

/** A whole number between two, both included. */
export function whole(draw: Draw, least: number, most: number): number {
  return least + Math.floor(draw() * (most - least + 1));
}

/** A number between two, rounded to `decimals`. */
export function between(draw: Draw, least: number, most: number, decimals: number): number {
  return rounded(least + draw() * (most - least), decimals);
}
