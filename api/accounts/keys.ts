import type { Kysely, Selectable, Transaction } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { recordAct } from '../records/audit.ts';
import type { Store } from '../records/database.ts';
import type { Database } from '../records/schema.ts';
import { createBusiness } from './businesses.ts';
import { newKeyText } from './keyring.ts';
import { SELF_HOSTED } from './plans.ts';

/** How long a key that was rotated keeps opening. */
export const ROTATION_GRACE_MS = 30 * 24 * 3_600_000;

type KeyRow = Selectable<Database['keys']>;
type Hidden = 'digest' | 'scopes' | 'rate_bucket' | 'revoked_at' | 'replaced_by' | 'monthly_cap';

/** A key as operators and usage see it: nothing of its secret. */
interface KeyInfo extends Readonly<Omit<KeyRow, Hidden>> {
  readonly scopes: readonly string[];
  readonly status: 'active' | 'rotating' | 'expired' | 'revoked';
}

interface NewKey extends Pick<KeyInfo, 'business_id' | 'kind' | 'name' | 'scopes' | 'expires_at'> {
  /** The current one when left out. */
  readonly variant?: KeyInfo['variant'];
}

/** Makes a key. `text` is the only copy of its secret. */
export async function createKey(rows: Transaction<Database>, key: NewKey, now_ms: number) {
  const { business_id, kind, variant = 'current', name, scopes, expires_at } = key;
  const detail = { kind, variant, name, scopes, expires_at };
  const made = await insertKey(rows, { business_id, ...detail }, null, now_ms);
  await recordAct(rows, now_ms, { act: 'key.create', business_id, subject: made.id, detail });
  return made;
}

/** Makes a key that takes over from another: same kind, variant, name, scopes and rate bucket. The old one opens for `grace_ms` more. */
export async function rotateKey(rows: Transaction<Database>, old: KeyRow, grace_ms: number, now_ms: number) {
  const { business_id, expires_at } = old;
  const made = await insertKey(rows, { ...old, scopes: JSON.parse(old.scopes) }, old.rate_bucket, now_ms);
  const until = new Date(now_ms + grace_ms).toISOString();
  const ends = expires_at !== null && expires_at < until ? expires_at : until;
  await rows.updateTable('keys').set({ replaced_by: made.id, expires_at: ends }).where('id', '=', old.id).execute();
  const detail = { replaced_by: made.id, old_key_ends_at: ends };
  await recordAct(rows, now_ms, { act: 'key.rotate', business_id, subject: old.id, detail });
  return made;
}

/** Sets scopes and expiry of a key; false when nothing changes. */
export async function changeKey(
  rows: Transaction<Database>,
  { id, business_id, ...before }: KeyInfo,
  { scopes, expires_at }: Pick<KeyInfo, 'scopes' | 'expires_at'>,
  now_ms: number,
): Promise<boolean> {
  if (before.scopes.join() === scopes.join() && before.expires_at === expires_at) return false;
  const changed = { scopes: JSON.stringify(scopes), expires_at };
  await rows.updateTable('keys').set(changed).where('id', '=', id).execute();
  await recordAct(rows, now_ms, { act: 'key.change', business_id, subject: id, detail: { scopes, expires_at } });
  return true;
}

/** Ends a key now; false when it was revoked before. */
export async function revokeKey(
  rows: Transaction<Database>,
  { id, business_id }: Pick<KeyRow, 'id' | 'business_id'>,
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

/** How long a link works that puts a key into a browser. */
export const LINK_MS = 15 * 60_000;
/** Scope of the key of a link. It opens nothing but the exchange and /v1/health, and stands before name and scopes of the key that it is exchanged for. */
const LINK = 'link';
const linked = (text: string) => `${LINK} ${text}`;
const unlinked = (text: string) => text.slice(linked('').length);

/** Makes the key of a link. It opens no data, and is exchanged for a key of that name with those scopes. */
export async function createLink(
  rows: Transaction<Database>,
  { business_id, name, scopes }: Pick<KeyInfo, 'business_id' | 'name' | 'scopes'>,
  now_ms: number,
) {
  const expires_at = new Date(now_ms + LINK_MS).toISOString();
  const asked = { name: linked(name), scopes: [LINK, ...scopes.map(linked)] };
  return { ...(await createKey(rows, { business_id, kind: 'live', ...asked, expires_at }, now_ms)), expires_at };
}

/** Makes the key that a link stands for, and ends the link. Null for any other key, and for a link that was used or ended. */
export async function redeemLink(rows: Transaction<Database>, key_id: string, now_ms: number): Promise<string | null> {
  // A change, not a read: on PostgreSQL, exchanges of one link wait for each other here.
  const last_used_at = new Date(now_ms).toISOString();
  const used = rows.updateTable('keys').set({ last_used_at }).where('id', '=', key_id);
  const link = await used
    .where('revoked_at', 'is', null)
    .where('replaced_by', 'is', null)
    .returningAll()
    .executeTakeFirst();
  if (link === undefined) return null;
  const [purpose, ...asked]: readonly string[] = JSON.parse(link.scopes);
  if (purpose !== LINK) return null;
  const made = { ...link, name: unlinked(link.name), scopes: JSON.stringify(asked.map(unlinked)), expires_at: null };
  return (await rotateKey(rows, made, 0, now_ms)).text;
}

/** The row of a key, by its id or its public id; null when there is none. */
export async function findKey(rows: Kysely<Database>, id: string): Promise<KeyRow | null> {
  const found = rows.selectFrom('keys').selectAll();
  return (await found.where(({ or }) => or({ id, public_id: id })).executeTakeFirst()) ?? null;
}

/** Keys of a business, oldest first. `monthly_cap`: most credits a month of the key's rotation; null: none but the business's. */
export async function listKeys(rows: Kysely<Database>, business_id: string, now_ms: number) {
  const keys = rows.selectFrom('keys').selectAll().where('business_id', '=', business_id);
  const found = await keys.orderBy('id').execute();
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
  const first = rows.selectFrom('keys').select('monthly_cap').where('id', '=', rate_bucket);
  const { monthly_cap: before } = await first.executeTakeFirstOrThrow();
  if (before === monthly_cap) return false;
  await rows.updateTable('keys').set({ monthly_cap }).where('id', '=', rate_bucket).execute();
  await recordAct(rows, now_ms, { act: 'key.limit', business_id, subject: id, detail: { before, after: monthly_cap } });
  return true;
}

export function keyInfo(row: KeyRow, now_ms: number): KeyInfo {
  const { digest, scopes, rate_bucket, revoked_at, replaced_by, monthly_cap, ...shown } = row;
  return { ...shown, scopes: JSON.parse(scopes), status: statusOf(row, now_ms) };
}

function statusOf({ revoked_at, expires_at, replaced_by }: KeyRow, now_ms: number): KeyInfo['status'] {
  if (revoked_at !== null) return 'revoked';
  if (expires_at !== null && Date.parse(expires_at) <= now_ms) return 'expired';
  return replaced_by === null ? 'active' : 'rotating';
}

async function insertKey(
  rows: Transaction<Database>,
  { business_id, kind, name, scopes, expires_at, variant }: Required<NewKey>,
  rate_bucket: string | null,
  now_ms: number,
) {
  const id = newId('key', now_ms);
  const { text, ...stored } = newKeyText(kind, variant);
  await rows
    .insertInto('keys')
    .values({
      ...{ id, business_id, kind, name, expires_at, variant, ...stored },
      scopes: JSON.stringify(scopes),
      rate_bucket: rate_bucket ?? id,
      created_at: new Date(now_ms).toISOString(),
      ...{ revoked_at: null, replaced_by: null, last_used_at: null },
    })
    .execute();
  return { id, text };
}

/** The keys of the first business, to be shown once. */
export type FirstKeys = Readonly<Record<'live' | 'test', string>>;

/**
 * Makes the business `default` with a live and a test key when the records hold no business yet; null when they do.
 * Servers that start together make it once.
 */
export async function ensureFirstBusiness(
  records: Pick<Store, 'transaction'>,
  now_ms: number,
): Promise<FirstKeys | null> {
  return await records.transaction(async (rows) => {
    if (await rows.selectFrom('businesses').select('id').limit(1).executeTakeFirst()) return null;
    const business = await createBusiness(rows, 'default', SELF_HOSTED, now_ms);
    if (business === null) return null;
    const make = async (kind: 'live' | 'test') => {
      const key = { business_id: business.id, kind, name: `first ${kind} key`, scopes: ['*'], expires_at: null };
      return (await createKey(rows, key, now_ms)).text;
    };
    return { live: await make('live'), test: await make('test') };
  });
}

const WRITTEN = ['verify', 'exports', 'alerts', 'portfolio', 'areas', 'webhooks'];
const READ = ['hail', 'storms', 'coverage', 'swaths', 'events', 'tiles', 'outlooks', 'warnings', 'usage', ...WRITTEN];

/** True for `*`, `resource:*` and `resource:action` of this service: anything else opens nothing and is a typing error. */
export function isScope(text: string): boolean {
  const [resource = '', action, ...rest] = text.split(':');
  const resources = action === 'write' ? WRITTEN : action === 'read' || action === '*' ? READ : [];
  return text === '*' || (rest.length === 0 && resources.includes(resource));
}
