import { createHash } from 'node:crypto';
import { type Kysely, sql, type Transaction } from 'kysely';
import { believedTime } from '../../schemas/deletion-clock.ts';
import { instant } from '../../schemas/time.ts';
import { readClock } from '../records/deletions.ts';
import type { Database } from '../records/schema.ts';

/** An answer as it is stored for an idempotency key. */
export type StoredAnswer = Readonly<Pick<Database['idempotency'], 'status' | 'type' | 'body'>>;

/** A call under an idempotency key. */
export interface KeyedCall {
  readonly business_id: string;
  /** Method and route. */
  readonly route: string;
  readonly key: string;
  /** SHA-256 of the canonical body and query. */
  readonly fingerprint: string;
}

/** Thrown inside a transaction by a call whose key got an answer meanwhile: the transaction is rolled back. */
export class AnsweredBefore extends Error {
  constructor({ route }: KeyedCall) {
    super(`an idempotency key of ${route} has an answer, expected none`);
  }
}

/** How long an answer is replayed. */
export const REPLAY_WINDOW_MS = 24 * 3_600_000;

/** The answer that the key of a call has; null: none. `other_request`: the key has the success of another request. */
export async function findAnswer(
  rows: Kysely<Database>,
  { fingerprint, ...call }: KeyedCall,
  now_ms: number,
): Promise<StoredAnswer | 'other_request' | null> {
  const found = await rows
    .selectFrom('idempotency')
    .selectAll()
    .where(({ and }) => and(nameOf(call)))
    .executeTakeFirst();
  if (found === undefined || (await isOver(rows, found.created_at, now_ms))) return null;
  const { status, type, body } = found;
  if (found.fingerprint === fingerprint) return { status, type, body };
  // Nothing happened at a refusal: a typo must not burn the key.
  return status >= 400 ? null : 'other_request';
}

/** Keeps the answer of a call in place of one that no longer counts. */
export async function keepAnswer(
  rows: Transaction<Database>,
  { fingerprint, ...call }: KeyedCall,
  { status, type, body }: StoredAnswer,
  now_ms: number,
): Promise<void> {
  const kept = { fingerprint, status, type, body, created_at: instant(now_ms) };
  await rows
    .insertInto('idempotency')
    .values({ ...nameOf(call), ...kept })
    .onConflict((conflict) => conflict.columns(['business_id', 'route', 'key']).doUpdateSet(kept))
    .execute();
}

/** Removes answers whose window was over at an instant, at most `most` of them; returns their count. */
export async function sweepAnswers(rows: Transaction<Database>, until_ms: number, most: number): Promise<number> {
  const until = instant(until_ms - REPLAY_WINDOW_MS);
  const { numAffectedRows } = await sql`
    delete from idempotency where (business_id, route, "key") in
      (select business_id, route, "key" from idempotency where created_at <= ${until} limit ${most})`.execute(rows);
  return Number(numAffectedRows);
}

/** True for an answer whose window is over. A clock that was set wrong ends none: the request would be run and charged twice. */
async function isOver(rows: Kysely<Database>, created_at: string, now_ms: number): Promise<boolean> {
  const over_ms = Date.parse(created_at) + REPLAY_WINDOW_MS;
  if (over_ms > now_ms) return false;
  const clock = await readClock(rows);
  return clock === null || over_ms <= believedTime(clock, now_ms);
}

/** Primary key of a row. A digest stands for the key: clients may send secrets as keys, their API key among them. */
function nameOf({ business_id, route, key }: Omit<KeyedCall, 'fingerprint'>) {
  return { business_id, route, key: createHash('sha256').update(key).digest('hex') };
}
