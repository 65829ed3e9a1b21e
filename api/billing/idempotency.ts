import { createHash } from 'node:crypto';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { believedTime } from '../../schemas/deletion-clock.ts';
import { instant } from '../../schemas/time.ts';
import { leaseClock } from '../records/clock.ts';
import type { Store } from '../records/database.ts';
import { readClock } from '../records/deletions.ts';
import { CommitFailed } from '../records/errors.ts';
import { isDead, OWNER } from '../records/owner.ts';
import type { Database } from '../records/schema.ts';

/** An answer as it is stored for an idempotency key. */
export interface StoredAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Outcome of a claim of an idempotency key. */
export type Claim =
  | { readonly kind: 'claimed'; readonly token: string }
  | { readonly kind: 'in_progress' }
  | { readonly kind: 'replay'; readonly answer: StoredAnswer }
  | { readonly kind: 'other_request' };

export interface ClaimRequest {
  readonly business_id: string;
  /** Method and route. */
  readonly route: string;
  readonly key: string;
  /** SHA-256 of the canonical body and query. */
  readonly fingerprint: string;
}

/** How long an answer is replayed. */
export const REPLAY_WINDOW_MS = 24 * 3_600_000;
/** How long a claim is left alone whose owner gives no sign of life. */
export const LEASE_MS = 120_000;

/**
 * Claims an idempotency key for one request. The claim of a dead process, one whose lease is over, a stored refusal of
 * another request, and whatever is older than the window are taken over. `token` names the claim. The data clock `now` decides
 * the window, the clock of leases the lease: HAIL_NOW stops only the first.
 */
export async function claimKey(
  rows: Transaction<Database>,
  store: Pick<Store, 'kind'>,
  { business_id, route, key, fingerprint }: ClaimRequest,
  token: string,
  now: () => number,
): Promise<Claim> {
  const clock = leaseClock(store);
  const name = { business_id, route, key: storedKey(key) };
  const claim = {
    ...{ fingerprint, token, owner: OWNER, lease_until_ms: sql<number>`${clock} + ${sql.lit(LEASE_MS)}` },
    ...{ state: 'pending' as const, status: null, type: null, body: null, created_at: instant(now()) },
  };
  const inserted = await rows
    .insertInto('idempotency')
    .values({ ...name, ...claim })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (inserted.numInsertedOrUpdatedRows === 1n) return { kind: 'claimed', token };

  const held = await rows
    .selectFrom('idempotency')
    .selectAll()
    .select(clock.as('lease_now_ms'))
    .where(({ and }) => and(name))
    .executeTakeFirst();
  if (held === undefined) return { kind: 'in_progress' };
  // Claimed before, and the answer to that COMMIT was lost.
  if (held.token === token) return { kind: 'claimed', token };
  const assessed = (await isOver(rows, held, now())) ? 'free' : assessClaim(held, fingerprint);
  if (assessed !== 'free') return assessed;
  const taken = await rows
    .updateTable('idempotency')
    .set(claim)
    .where(({ and }) => and({ ...name, token: held.token }))
    .executeTakeFirst();
  return taken.numUpdatedRows === 1n ? { kind: 'claimed', token } : { kind: 'in_progress' };
}

/** Keeps an answer under its claim. Throws CommitFailed when the claim was taken over meanwhile. */
export async function finishClaim(rows: Kysely<Database>, token: string, answer: StoredAnswer): Promise<void> {
  const { numUpdatedRows } = await rows
    .updateTable('idempotency')
    .set({ state: 'done', status: answer.status, type: answer.type, body: answer.body })
    .where('token', '=', token)
    .where('state', '=', 'pending')
    .executeTakeFirst();
  if (numUpdatedRows !== 1n)
    throw new CommitFailed('the claim of an idempotency key was lost, expected to hold it until the answer');
}

/** Forgets a claim that led to nothing. */
export async function dropClaim(rows: Kysely<Database>, token: string): Promise<void> {
  await rows.deleteFrom('idempotency').where('token', '=', token).where('state', '=', 'pending').execute();
}

/** Removes answers whose window was over at an instant, at most `most` of them; returns their count. */
export async function sweepClaims(
  rows: Kysely<Database>,
  { skipLocked }: Pick<Store, 'skipLocked'>,
  until_ms: number,
  most: number,
): Promise<number> {
  const over = rows
    .selectFrom('idempotency')
    .select('token')
    .where('created_at', '<=', instant(until_ms - REPLAY_WINDOW_MS))
    .limit(most)
    .modifyEnd(skipLocked);
  const { numDeletedRows } = await rows.deleteFrom('idempotency').where('token', 'in', over).executeTakeFirst();
  return Number(numDeletedRows);
}

/** A claim, and the clock of leases when it was read. */
type HeldClaim = Selectable<Database['idempotency']> & { readonly lease_now_ms: number };

/** True for a claim whose window is over. A clock that was set wrong ends none: the request would be run and charged twice. */
async function isOver(
  rows: Kysely<Database>,
  { created_at }: Pick<Selectable<Database['idempotency']>, 'created_at'>,
  now_ms: number,
): Promise<boolean> {
  const over_ms = Date.parse(created_at) + REPLAY_WINDOW_MS;
  if (over_ms > now_ms) return false;
  const clock = await readClock(rows);
  return clock === null || over_ms <= believedTime(clock, now_ms);
}

function assessClaim(held: HeldClaim, fingerprint: string): Claim | 'free' {
  const { status, type, body, lease_until_ms, lease_now_ms } = held;
  if (held.state === 'pending') {
    // A lease far ahead was given by a clock that was set back since: it would block its key for years.
    const isOver = lease_until_ms <= lease_now_ms || lease_until_ms > lease_now_ms + 2 * LEASE_MS;
    return isOver || isDead(held.owner) ? 'free' : { kind: 'in_progress' };
  }
  if (status === null || type === null || body === null) throw new TypeError('a finished claim has no answer');
  if (held.fingerprint === fingerprint) return { kind: 'replay', answer: { status, type, body } };
  // Nothing happened at a refusal: a typo must not burn the key.
  return status >= 400 ? 'free' : { kind: 'other_request' };
}

/** Digest that is stored for an idempotency key: clients may send secrets as keys, their API key among them. */
function storedKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
