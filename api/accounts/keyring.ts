import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type Kysely, type Selectable, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { param, prepare } from '../records/database.ts';
import type { Database, VariantName } from '../records/schema.ts';
import { tariffOf } from './plans.ts';

/** How long a key is served from memory: a revocation is in force everywhere after that. */
const KEY_MEMORY_MS = 1_000;
/** Keys in memory, also past that time: they serve while the records are unavailable. */
const KEYS_REMEMBERED = 10_000;
const NO_DIGEST = Buffer.alloc(32);

type KnownKey = ReturnType<typeof knownKey>;
/** A valid key and its business. */
export type Caller = KnownKey['caller'];

/** Looks keys up by their public id and compares digests in constant time; a key that does not exist costs the same comparison. */
export function createKeyring(reader: Kysely<Database>) {
  const known = new LRUCache<string, KnownKey>({ max: KEYS_REMEMBERED });
  const query = prepare(KEY_OF_PUBLIC_ID, reader);

  async function keyOf(public_id: string): Promise<KnownKey | null> {
    const remembered = known.get(public_id);
    const looked_up_ms = performance.now();
    if (remembered && looked_up_ms - remembered.looked_up_ms < KEY_MEMORY_MS) return remembered;
    const { rows } = await reader.executeQuery(query({ public_id }));
    const found = rows[0] ? knownKey(rows[0], looked_up_ms) : null;
    if (found) known.set(public_id, found);
    else known.delete(public_id);
    return found;
  }

  return {
    /** The caller of a key, by the key's text; null when no such key is alive. Remembered for at most a second. Throws RecordsUnavailable. */
    authenticate: async (keyText: string, now_ms: number): Promise<Caller | null> => {
      const parsed = parseKeyText(keyText);
      return parsed && opened(await keyOf(parsed.public_id), keyText, now_ms);
    },
    /** The same from memory alone, however old: while the records are unavailable. Null for a key that is not in memory. */
    remembered: (keyText: string, now_ms: number): Caller | null => {
      const parsed = parseKeyText(keyText);
      return parsed && opened(known.get(parsed.public_id) ?? null, keyText, now_ms);
    },
  };
}

/** The caller, when the text is that of the key and the key is alive. */
function opened(key: KnownKey | null, keyText: string, now_ms: number): Caller | null {
  const same = timingSafeEqual(keyDigest(keyText), key?.digest ?? NO_DIGEST);
  return key !== null && same && !key.revoked && now_ms < key.expires_ms ? key.caller : null;
}

type KeyColumn = 'digest' | 'kind' | 'variant' | 'scopes' | 'rate_bucket' | 'expires_at' | 'revoked_at';
interface KeyRow extends Selectable<Database['plans']>, Pick<Selectable<Database['keys']>, KeyColumn> {
  readonly key_id: string;
  readonly status: Selectable<Database['businesses']>['status'];
  readonly key_cap: number | null;
}

const KEY_OF_PUBLIC_ID = sql<KeyRow>`
  select plans.*, keys.id as key_id, keys.digest, keys.kind, keys.variant, keys.scopes, keys.rate_bucket, keys.expires_at,
    keys.revoked_at, businesses.status, rotation.monthly_cap as key_cap
  from keys
    join businesses on businesses.id = keys.business_id
    join plans on plans.business_id = keys.business_id
    left join keys as rotation on rotation.id = keys.rate_bucket
  where keys.public_id = ${param('public_id')}`;

/** `looked_up_ms`: monotonic. */
function knownKey(row: KeyRow, looked_up_ms: number) {
  const { business_id, key_id, rate_bucket, kind, variant, key_cap } = row;
  const caller = Object.freeze({
    ...{ business_id, key_id, kind, variant },
    /** Keys of one rotation share this: their requests count in one window. */
    rate_bucket,
    /** Most credits a month with the keys of this rotation; null: none but the business's. */
    key_cap,
    scopes: Object.freeze(JSON.parse(row.scopes) as string[]),
    suspended: row.status === 'suspended',
    plan: tariffOf(row),
  });
  return {
    digest: Buffer.from(row.digest, 'hex'),
    caller,
    expires_ms: row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at),
    revoked: row.revoked_at !== null,
    looked_up_ms,
  };
}

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

/**
 * Draws a key: `hs_live_`, `hs_test_` or, of the earlier variant, `test_`; public id, secret, checksum. `text` is shown once; `digest`
 * and `public_id` are stored.
 */
export function newKeyText(kind: KeyKind, variant: VariantName = 'current') {
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

function keyDigest(text: string): Buffer {
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
