import { timingSafeEqual } from 'node:crypto';
import type { InferResult, Kysely } from 'kysely';
import { LRUCache } from 'lru-cache';
import { param, prepare } from '../records/database.ts';
import type { Database, VariantName } from '../records/schema.ts';
import { type KeyKind, keyDigest, parseKeyText } from './key-text.ts';
import { type Tariff, tariffOf } from './plans.ts';

/** How long a key is served from memory: a revocation is in force everywhere after that. */
const KEY_MEMORY_MS = 1_000;
/** Keys in memory, also past that time: they serve while the records are unavailable. */
const KEYS_REMEMBERED = 10_000;
const NO_DIGEST = Buffer.alloc(32);

/** A valid key and its business. */
export interface Caller {
  readonly business_id: string;
  readonly key_id: string;
  /** Keys of one rotation share this: their requests count in one window. */
  readonly rate_bucket: string;
  readonly kind: KeyKind;
  readonly variant: VariantName;
  readonly scopes: readonly string[];
  readonly suspended: boolean;
  /** Most credits a month with the keys of this rotation; null: none but the business's. */
  readonly key_cap: number | null;
  readonly plan: Tariff;
}

export interface Keyring {
  /** The caller of a key, by the key's text; null when no such key is alive. Remembered for at most a second. Throws RecordsUnavailable. */
  readonly authenticate: (keyText: string, now_ms: number) => Promise<Caller | null>;
  /** The same from memory alone, however old: while the records are unavailable. Null for a key that is not in memory. */
  readonly remembered: (keyText: string, now_ms: number) => Caller | null;
}

interface KnownKey {
  readonly digest: Buffer;
  readonly caller: Caller;
  readonly expires_ms: number;
  readonly revoked: boolean;
  /** Monotonic, milliseconds. */
  readonly looked_up_ms: number;
}

/** Looks keys up by their public id and compares digests in constant time; a key that does not exist costs the same comparison. */
export function createKeyring(reader: Kysely<Database>): Keyring {
  const known = new LRUCache<string, KnownKey>({ max: KEYS_REMEMBERED });
  const query = prepare(keySelect(reader));

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
    authenticate: async (keyText, now_ms) => {
      const parsed = parseKeyText(keyText);
      return parsed && opened(await keyOf(parsed.public_id), keyText, now_ms);
    },
    remembered: (keyText, now_ms) => {
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

function keySelect(reader: Kysely<Database>) {
  return reader
    .selectFrom('keys')
    .innerJoin('businesses', 'businesses.id', 'keys.business_id')
    .innerJoin('plans', 'plans.business_id', 'keys.business_id')
    .leftJoin('keys as rotation', 'rotation.id', 'keys.rate_bucket')
    .selectAll('plans')
    .select([
      'keys.id as key_id',
      'keys.digest',
      'keys.kind',
      'keys.scopes',
      'keys.rate_bucket',
      'keys.expires_at',
      'keys.revoked_at',
      'businesses.status',
      'keys.variant',
      'rotation.monthly_cap as key_cap',
    ])
    .where('keys.public_id', '=', param<string>('public_id'));
}

type KeyRow = InferResult<ReturnType<typeof keySelect>>[number];

function knownKey(row: KeyRow, looked_up_ms: number): KnownKey {
  const caller: Caller = Object.freeze({
    business_id: row.business_id,
    key_id: row.key_id,
    rate_bucket: row.rate_bucket,
    kind: row.kind,
    variant: row.variant,
    scopes: Object.freeze(JSON.parse(row.scopes) as string[]),
    suspended: row.status === 'suspended',
    key_cap: row.key_cap,
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
