import { type ExpressionBuilder, type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from 'kysely';
import { believedTime } from '../../schemas/deletion-clock.ts';
import { leaseClock } from '../records/clock.ts';
import type { Store } from '../records/database.ts';
import { readClock } from '../records/deletions.ts';
import { CommitFailed } from '../records/errors.ts';
import { storedKey } from '../records/migrate.ts';
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
/** Clocks of an earlier version, which were those of the machines, differed by no more. */
const CLOCKS_DIFFER_MS = 3_600_000;

/**
 * Claims an idempotency key for one request. The claim of a dead process, one whose lease is over, a stored refusal of
 * another request, and whatever is older than the window are taken over. `token` names the claim. The data clock `now` decides
 * the window, the clock of leases the lease: HAIL_NOW stops only the first.
 */
export async function claimKey(
  rows: Transaction<Database>,
  store: Pick<Store, 'kind'>,
  request: ClaimRequest,
  token: string,
  now: () => number,
): Promise<Claim> {
  const clock = leaseClock(store);
  const row = newClaim(request, token, {
    created_ms: now(),
    lease_until_ms: sql<number>`${clock} + ${sql.lit(LEASE_MS)}`,
  });
  const inserted = await rows
    .insertInto('idempotency')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (inserted.numInsertedOrUpdatedRows === 1n) return { kind: 'claimed', token: row.token };

  const held = await rows
    .selectFrom('idempotency')
    .selectAll()
    .select(clock.as('lease_now_ms'))
    .where(sameKey(request))
    .executeTakeFirst();
  if (held === undefined) return { kind: 'in_progress' };
  const assessed = (await isOver(rows, held, now())) ? 'free' : assessClaim(held, request);
  if (assessed !== 'free') return assessed;
  const taken = await rows
    .updateTable('idempotency')
    .set(row)
    .where(sameKey(request))
    .where('token', '=', held.token)
    .executeTakeFirst();
  return taken.numUpdatedRows === 1n ? { kind: 'claimed', token: row.token } : { kind: 'in_progress' };
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
    .where('created_at', '<=', new Date(until_ms - REPLAY_WINDOW_MS).toISOString())
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

function assessClaim(held: HeldClaim, request: ClaimRequest): Claim | 'free' {
  if (held.state === 'pending') return isAbandoned(held) ? 'free' : { kind: 'in_progress' };
  const { status, type, body } = held;
  if (status === null || type === null || body === null) throw new TypeError('a finished claim has no answer');
  if (held.fingerprint === request.fingerprint) return { kind: 'replay', answer: { status, type, body } };
  // Nothing happened at a refusal: a typo must not burn the key.
  return status >= 400 ? 'free' : { kind: 'other_request' };
}

function isAbandoned({ owner, lease_until_ms, lease_now_ms }: HeldClaim): boolean {
  // A lease far ahead was given by a clock that was set back since: it would block its key for years.
  const isOver = lease_until_ms <= lease_now_ms || lease_until_ms > lease_now_ms + LEASE_MS + CLOCKS_DIFFER_MS;
  return isOver || isDead(owner);
}

function newClaim(
  { business_id, route, key, fingerprint }: ClaimRequest,
  token: string,
  { created_ms, lease_until_ms }: { readonly created_ms: number; readonly lease_until_ms: RawBuilder<number> },
) {
  return {
    business_id,
    route,
    key: storedKey(key),
    fingerprint,
    token,
    owner: OWNER,
    lease_until_ms,
    state: 'pending' as const,
    status: null,
    type: null,
    body: null,
    created_at: new Date(created_ms).toISOString(),
  };
}

function sameKey({ business_id, route, key }: ClaimRequest) {
  return ({ and }: ExpressionBuilder<Database, 'idempotency'>) => and({ business_id, route, key: storedKey(key) });
}
