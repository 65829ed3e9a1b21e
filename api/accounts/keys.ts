import type { Kysely, Selectable, Transaction } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { recordAct } from '../records/audit.ts';
import type { Database } from '../records/schema.ts';
import { type KeyKind, type KeyVariant, newKeyText } from './key-text.ts';

/** How long a key that was rotated keeps opening. */
export const ROTATION_GRACE_MS = 30 * 24 * 3_600_000;

type KeyRow = Selectable<Database['keys']>;

type KeyStatus = 'active' | 'rotating' | 'expired' | 'revoked';

/** A key as operators and usage see it: nothing of its secret. */
export interface KeyInfo {
  readonly id: string;
  readonly business_id: string;
  readonly public_id: string;
  readonly kind: KeyKind;
  readonly variant: KeyVariant;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly status: KeyStatus;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
}

/** A key with the most credits a month of its rotation; null: none but the business's. */
export interface ListedKey extends KeyInfo {
  readonly monthly_cap: number | null;
}

interface NewKey {
  readonly business_id: string;
  readonly kind: KeyKind;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expires_at: string | null;
  /** The current one when left out. */
  readonly variant?: KeyVariant;
}

/** A key that was just made. `text` is the only copy of the secret. */
interface MadeKey {
  readonly id: string;
  readonly text: string;
}

/** Makes a key. */
export async function createKey(rows: Transaction<Database>, key: NewKey, now_ms: number): Promise<MadeKey> {
  const { variant = 'current' } = key;
  const made = await insertKey(rows, { ...key, variant }, null, now_ms);
  await recordAct(rows, now_ms, {
    act: 'key.create',
    business_id: key.business_id,
    subject: made.id,
    detail: { kind: key.kind, variant, name: key.name, scopes: key.scopes, expires_at: key.expires_at },
  });
  return made;
}

/** Makes a key that takes over from another: same kind, variant, name, scopes and rate bucket. The old one opens for `grace_ms` more. */
export async function rotateKey(
  rows: Transaction<Database>,
  old: KeyRow,
  grace_ms: number,
  now_ms: number,
): Promise<MadeKey> {
  const { business_id, kind, name, expires_at, variant } = old;
  const scopes = JSON.parse(old.scopes) as string[];
  const made = await insertKey(rows, { business_id, kind, name, scopes, expires_at, variant }, old.rate_bucket, now_ms);
  const until = new Date(now_ms + grace_ms).toISOString();
  const ends = expires_at !== null && expires_at < until ? expires_at : until;
  await rows.updateTable('keys').set({ replaced_by: made.id, expires_at: ends }).where('id', '=', old.id).execute();
  await recordAct(rows, now_ms, {
    act: 'key.rotate',
    business_id,
    subject: old.id,
    detail: { replaced_by: made.id, old_key_ends_at: ends },
  });
  return made;
}

/** Sets scopes and expiry of a key; false when nothing changes. */
export async function changeKey(
  rows: Transaction<Database>,
  before: KeyInfo,
  { scopes, expires_at }: Pick<KeyInfo, 'scopes' | 'expires_at'>,
  now_ms: number,
): Promise<boolean> {
  if (before.scopes.join() === scopes.join() && before.expires_at === expires_at) return false;
  await rows
    .updateTable('keys')
    .set({ scopes: JSON.stringify(scopes), expires_at })
    .where('id', '=', before.id)
    .execute();
  await recordAct(rows, now_ms, {
    act: 'key.change',
    business_id: before.business_id,
    subject: before.id,
    detail: { scopes, expires_at },
  });
  return true;
}

/** Ends a key now; false when it was revoked before. */
export async function revokeKey(
  rows: Transaction<Database>,
  { id, business_id }: Pick<KeyInfo, 'id' | 'business_id'>,
  now_ms: number,
): Promise<boolean> {
  const { numUpdatedRows } = await rows
    .updateTable('keys')
    .set({ revoked_at: new Date(now_ms).toISOString() })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await recordAct(rows, now_ms, { act: 'key.revoke', business_id, subject: id });
  return true;
}

/** The row of a key, by its id or its public id; null when there is none. */
export async function findKey(rows: Kysely<Database>, id: string): Promise<KeyRow | null> {
  const found = await rows
    .selectFrom('keys')
    .selectAll()
    .where(({ or }) => or({ id, public_id: id }))
    .executeTakeFirst();
  return found ?? null;
}

/** Keys of a business, oldest first. */
export async function listKeys(
  rows: Kysely<Database>,
  business_id: string,
  now_ms: number,
): Promise<readonly ListedKey[]> {
  const found = await rows
    .selectFrom('keys')
    .selectAll()
    .where('business_id', '=', business_id)
    .orderBy('id')
    .execute();
  const caps = new Map(found.map(({ id, monthly_cap }) => [id, monthly_cap]));
  return found.map((row) => ({ ...keyInfo(row, now_ms), monthly_cap: caps.get(row.rate_bucket) ?? null }));
}

/**
 * Sets the cap of a key and of the others of its rotation, null for none; false when it was so. In force for every charge that begins
 * after the commit.
 */
export async function setKeyCap(
  rows: Transaction<Database>,
  { id, business_id, rate_bucket }: Pick<KeyRow, 'id' | 'business_id' | 'rate_bucket'>,
  monthly_cap: number | null,
  now_ms: number,
): Promise<boolean> {
  const { monthly_cap: before } = await rows
    .selectFrom('keys')
    .select('monthly_cap')
    .where('id', '=', rate_bucket)
    .executeTakeFirstOrThrow();
  if (before === monthly_cap) return false;
  await rows.updateTable('keys').set({ monthly_cap }).where('id', '=', rate_bucket).execute();
  await recordAct(rows, now_ms, { act: 'key.limit', business_id, subject: id, detail: { before, after: monthly_cap } });
  return true;
}

/** What may be shown of a key. */
export function keyInfo(row: KeyRow, now_ms: number): KeyInfo {
  const { id, business_id, public_id, kind, name, created_at, expires_at, last_used_at } = row;
  const scopes = JSON.parse(row.scopes) as string[];
  return {
    id,
    business_id,
    public_id,
    kind,
    variant: row.variant,
    name,
    scopes,
    status: statusOf(row, now_ms),
    created_at,
    expires_at,
    last_used_at,
  };
}

function statusOf({ revoked_at, expires_at, replaced_by }: KeyRow, now_ms: number): KeyStatus {
  if (revoked_at !== null) return 'revoked';
  if (expires_at !== null && Date.parse(expires_at) <= now_ms) return 'expired';
  return replaced_by === null ? 'active' : 'rotating';
}

async function insertKey(
  rows: Transaction<Database>,
  { business_id, kind, name, scopes, expires_at, variant }: Required<NewKey>,
  rate_bucket: string | null,
  now_ms: number,
): Promise<MadeKey> {
  const id = newId('key', now_ms);
  const { text, public_id, digest } = newKeyText(kind, variant);
  await rows
    .insertInto('keys')
    .values({
      id,
      business_id,
      public_id,
      digest,
      kind,
      name,
      scopes: JSON.stringify(scopes),
      rate_bucket: rate_bucket ?? id,
      created_at: new Date(now_ms).toISOString(),
      expires_at,
      revoked_at: null,
      replaced_by: null,
      last_used_at: null,
      variant,
    })
    .execute();
  return { id, text };
}
