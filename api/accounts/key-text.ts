import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { VariantName } from '../records/schema.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PUBLIC_ID_CHARACTERS = 8;
/** 32 characters of 62 are 190 bits. */
const SECRET_CHARACTERS = 32;
const CHECKSUM_CHARACTERS = 6;
const KEY = /^(hs_live|hs_test|test)_([0-9A-Za-z]{8})[0-9A-Za-z]{32}[0-9A-Za-z]{6}$/;
/** Keys inside other text, cut short or with more after them. */
const KEYS_WITHIN = /((?:hs_live|test)_[0-9A-Za-z]{8})[0-9A-Za-z]+/g;
/** Signatures inside other text, of addresses that a client wrote in a wrong way. */
const SIGNATURES_WITHIN = /(\bsig(?:=|%(?:25)*3d))[\w-]+/gi;

export type KeyKind = 'live' | 'test';

/** A new key. `text` is shown once; `digest` and `public_id` are stored. */
interface NewKeyText {
  readonly text: string;
  readonly public_id: string;
  readonly digest: string;
}

/** Draws a key: `hs_live_`, `hs_test_` or, of the earlier variant, `test_`; public id, secret, checksum. */
export function newKeyText(kind: KeyKind, variant: VariantName = 'current'): NewKeyText {
  const public_id = randomText(PUBLIC_ID_CHARACTERS);
  const prefix = kind === 'test' && variant !== 'current' ? 'test' : `hs_${kind}`;
  const body = `${prefix}_${public_id}${randomText(SECRET_CHARACTERS)}`;
  const text = body + checksum(body);
  return { text, public_id, digest: keyDigest(text).toString('hex') };
}

/** Kind and public id of a well-formed key with a right checksum; null for any other text. */
export function parseKeyText(text: string): { readonly kind: KeyKind; readonly public_id: string } | null {
  const [, prefix, public_id] = KEY.exec(text) ?? [];
  if (prefix === undefined || public_id === undefined) return null;
  const body = text.slice(0, -CHECKSUM_CHARACTERS);
  return text === body + checksum(body) ? { kind: prefix === 'hs_live' ? 'live' : 'test', public_id } : null;
}

/** A text that a client chose, secrets of keys and signatures of addresses in it left out: what may be logged or answered. */
export function withoutSecrets(text: string): string {
  return text.replace(KEYS_WITHIN, '$1…').replace(SIGNATURES_WITHIN, '$1…');
}

/** SHA-256 of a key. */
export function keyDigest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** CRC-32 of the text in base 62: distinguishes a mistyped key from a guessed one without reading the records. */
function checksum(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let k = 0; k < CHECKSUM_CHARACTERS; k++) {
    digits = BASE62.charAt(rest % BASE62.length) + digits;
    rest = Math.floor(rest / BASE62.length);
  }
  return digits;
}

function randomText(length: number): string {
  return Array.from({ length }, () => BASE62.charAt(randomInt(BASE62.length))).join('');
}
